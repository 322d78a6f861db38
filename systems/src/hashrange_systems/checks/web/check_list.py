"""The list of checks: search, filters, order and groups. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from hashrange_systems.checks.registry import CHECK_TYPES, name_check
from hashrange_systems.checks.schema import AnyCheck
from hashrange_systems.checks.web.check_view import Row, StateLabel, describe_state, read_last, tally_states
from hashrange_systems.shared.epoch import to_ms

MAX_WORDS = 10
TONES = ("down", "pending", "degraded", "up", "idle")
SORTS = {"state": "State", "name": "Name", "time": "Response time", "new": "Newest first"}
NO_TIME = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """What a reader wants to see: words, a state, a group, a tag, a type, and the order."""

    words: str = ""
    show: str = ""
    group: str | None = None
    tag: str = ""
    check_type: str = ""
    sort: str = "state"

    @property
    def narrows(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.words or self.show or self.group is not None or self.tag or self.check_type)

    def link(self, **changes: object) -> str:
        """Return the query string of this list with changes; None leaves a field out."""
        fields = {"q": self.words, "show": self.show, "group": self.group, "tag": self.tag, "type": self.check_type}
        fields |= {"sort": self.sort if self.sort != "state" else ""}
        given = {name: value for name, value in (fields | changes).items() if value not in ("", None)}
        return f"?{urlencode(given)}" if given else "?"


@dataclass(frozen=True, slots=True)
class ListedCheck:
    """A check with what the list is filtered and ordered by."""

    check: AnyCheck
    name: str
    state: StateLabel


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The rows of a group; its tone is that of the worst."""

    title: str
    tone: str
    rows: Sequence[Row]


def read_query(given: Mapping[str, str]) -> ListQuery:
    """Return the query of a request; unknown values are ignored."""
    return ListQuery(
        words=given.get("q", "").strip()[:200],
        show=given.get("show", "")[:20],
        group=given["group"][:100] if given.get("group") else None,
        tag=given.get("tag", "").casefold()[:40],
        check_type=given.get("type", "") if given.get("type") in CHECK_TYPES else "",
        sort=given.get("sort", "") if given.get("sort") in SORTS else "state",
    )


def list_checks(checks: Iterable[AnyCheck], now: int) -> list[ListedCheck]:
    """Return all checks with their names and states."""
    return [ListedCheck(check, name_check(check), describe_state(check, now)) for check in checks]


def select_checks(listed: Iterable[ListedCheck], query: ListQuery) -> list[ListedCheck]:
    """Return the checks that a query wants, in its order."""
    return sorted((each for each in listed if matches(each, query)), key=ORDERS[query.sort])


def matches(listed: ListedCheck, query: ListQuery) -> bool:
    """Return whether a query wants a check: every word is in its name, target, group, tags or type."""
    check = listed.check
    if query.show and listed.state.word.lower() != query.show:
        return False
    if query.group is not None and (check.group or "") != query.group:
        return False
    if (query.tag and query.tag not in (check.tags or ())) or (
        query.check_type and check.check_type != query.check_type
    ):
        return False
    text = "\n".join([listed.name, check.url, check.group or "", *(check.tags or ()), check.check_type]).casefold()
    return all(word in text for word in query.words.casefold().split()[:MAX_WORDS])


def order_by_name(listed: ListedCheck) -> tuple[Any, ...]:
    """Return the sort key of a check by its name."""
    return listed.name.casefold(), listed.check.checkid


def read_time(check: AnyCheck) -> int:
    """Return the last response time."""
    outcome = read_last(check)
    return NO_TIME if outcome is None or outcome.answer_time is None else outcome.answer_time


ORDERS: Mapping[str, Callable[[ListedCheck], Any]] = {
    "state": lambda each: (TONES.index(each.state.tone), to_ms(each.check.created_at), each.check.checkid),
    "name": order_by_name,
    "time": lambda each: (-read_time(each.check), *order_by_name(each)),
    "new": lambda each: (-to_ms(each.check.created_at), each.check.checkid),
}


def group_rows(rows: Sequence[Row]) -> list[RowGroup]:
    """Return the rows by group, in the order in which the groups appear; those without a group last."""
    names = list(dict.fromkeys(row.check.group for row in rows if row.check.group))
    found = [(name, [row for row in rows if row.check.group == name]) for name in names]
    alone = [row for row in rows if not row.check.group]
    parts = [*found, *([("Other checks" if names else "", alone)] if alone else [])]
    return [RowGroup(title, min((row.state.tone for row in own), key=TONES.index), own) for title, own in parts]


def describe_choices(listed: Sequence[ListedCheck]) -> dict[str, Any]:
    """Return what the list can be filtered by."""
    return {
        "tally": tally_states(each.state for each in listed),
        "groups": sorted({each.check.group for each in listed if each.check.group}),
        "tags": sorted({tag for each in listed for tag in each.check.tags or ()}),
        "check_types": [
            (name, CHECK_TYPES[name].title)
            for name in sorted({each.check.check_type for each in listed})
            if name in CHECK_TYPES
        ],
    }
