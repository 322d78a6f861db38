"""Declarations that used to pass the import and then matched too much, or nothing, are refused with a remedy."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Protocol, TypedDict

import pytest
from pydantic import BaseModel

from hashrange import (
    Add,
    Commas,
    Contains,
    DeclarationError,
    Delete,
    Eq,
    Get,
    Gsi,
    Item,
    JsonPipes,
    Key,
    Patterns,
    Pipes,
    Query,
    Scan,
    Table,
    Update,
    View,
    initially,
    where,
)


def error_of(declare: Callable[..., object], *arguments: Any) -> DeclarationError:
    """Return the error with which a declaration is refused."""
    with pytest.raises(DeclarationError) as caught:
        declare(*arguments)
    return caught.value


# ── prefixes that contain each other ─────────────────────────────────────────────────────────────────────────────────
def declare_states(first: str, second: str) -> None:
    class Run(View["Job"]):
        code: str

    class Never(Run, keys={"run_sk": first}):
        started_at: datetime | None = None

    class Busy(Run, keys={"run_sk": second}):
        started_at: datetime

    class Job(
        Item, table=Table("jobs", "pk", indexes=[Gsi("ByRun", "run_pk", "run_sk")]), pk="JOB#{code}", run_pk="ALL"
    ):
        code: str
        run: Never | Busy = initially(Never)

    class Jobs(Patterns, Protocol):
        def job(self, code: str) -> Get[Job]: ...
        def stop(self, code: str) -> Delete[Busy]: ...


@pytest.mark.parametrize(("first", "second"), [("NEVER#", "NEVER#{started_at}"), ("NEVER#{started_at}", "NEVER#")])
def test_states_whose_prefixes_contain_each_other_are_refused(first, second):
    error = error_of(declare_states, first, second)
    assert error.code == "HR140"
    assert "give each a prefix of its own" in error.remedy


def test_a_constant_that_no_other_prefix_starts_is_accepted():
    declare_states("NEVER", "NEVER#{started_at}")


def test_a_prefix_of_a_deeper_variant_is_checked_too():
    def declare() -> None:
        class Run(View["Job"]):
            code: str

        class Never(Run, run_sk="NEVER#"): ...

        class Busy(Run, run_sk="BUSY#{started_at}"):
            started_at: datetime

        class Leased(Busy, run_sk="NEVER#{owner}"):
            owner: str

        class Job(
            Item, table=Table("jobs", "pk", indexes=[Gsi("ByRun", "run_pk", "run_sk")]), pk="JOB#{code}", run_pk="A"
        ):
            code: str
            run: Never | Busy = initially(Never)

        class Jobs(Patterns, Protocol):
            def job(self, code: str) -> Get[Job]: ...

    assert error_of(declare).code == "HR140"


def test_variants_of_an_item_whose_prefixes_contain_each_other_are_refused():
    def declare() -> None:
        class Job(Item, table=Table("jobs", "pk", indexes=[Gsi("ByRun", "run_sk")]), pk="JOB#{code}"):
            code: str
            owner: str

        class Free(Job, run_sk="JOB#"): ...

        class Owned(Job, run_sk="JOB#{owner}"): ...

        class Jobs(Patterns, Protocol):
            def job(self, code: str) -> Get[Job]: ...

    assert error_of(declare).code == "HR140"


def test_items_of_a_partition_whose_prefixes_contain_each_other_are_refused():
    def declare() -> None:
        table = Table("shops", "pk", "sk")

        class Shop(Item, table=table, pk="SHOP#{code}", sk="ORDER#"):
            code: str

        class Order(Item, table=table, pk="SHOP#{code}", sk="ORDER#{number}"):
            code: str
            number: str

        class Shops(Patterns, Protocol):
            def shop(self, code: str) -> Get[Shop]: ...

    assert error_of(declare).code == "HR141"


def declare_runs(hint: Any, pattern: str = "") -> None:
    class Run(View["Job"]):
        code: str

    class Never(Run, run_sk="NEVER#"): ...

    class Busy(Run, run_sk="BUSY#{worker}"):
        worker: hint
        until: str

    class Job(
        Item, table=Table("jobs", "pk", indexes=[Gsi("ByRun", "run_pk", "run_sk")]), pk="JOB#{code}", run_pk="ALL"
    ):
        code: str
        title: str = ""
        run: Never | Busy = initially(Never)

    class Jobs(Patterns, Protocol):
        def job(self, code: str) -> Get[Job]: ...

    if pattern:
        text = f"class More(Patterns, Protocol):\n    def write(self, {pattern}: ...\n"
        exec(text, {**globals(), "Never": Never, "Busy": Busy})


def test_a_state_whose_key_may_be_absent_is_refused():
    error = error_of(declare_runs, str | None)
    assert (error.code, error.location) == ("HR163", "Busy.run_sk")
    declare_runs(str)


def test_a_step_that_may_leave_out_what_the_state_entered_requires_is_refused():
    error = error_of(declare_runs, str, "run: Never | Busy, worker: str, until: str = ...) -> Update[Busy]")
    assert error.code == "HR243"
    assert error.remedy == "take until as a parameter without a default"
    declare_runs(str, "run: Never | Busy, worker: str, until: str) -> Update[Busy]")
    declare_runs(str, "run: Busy, worker: str, until: str = ...) -> Update[Busy]")


def test_a_step_that_sets_a_field_which_only_another_state_has_is_refused():
    error = error_of(declare_runs, str, "run: Busy, until: str) -> Update[Never]")
    assert (error.code, error.problem) == ("HR263", "sets until, which Never does not have")
    declare_runs(str, "run: Busy, title: str) -> Update[Never]")
    declare_runs(str, "run: Busy, until: Eq[str]) -> Update[Never]")


# ── changes and conditions that DynamoDB cannot make ─────────────────────────────────────────────────────────────────
class Address(BaseModel):
    city: str
    lines: list[str] = []
    kind: Literal["home", "office"] = "home"


class Size(TypedDict):
    width: int


class Parcel(Item, table=Table("parcels", "pk", "sk"), pk="PARCEL#{code}", sk="LEG#{leg}"):
    code: str
    leg: Key[str]
    address: Address
    size: Size
    sizes: list[Size]
    marks: dict[str, int]
    tags: Commas[str]
    steps: Pipes[str]
    events: JsonPipes[dict[str, str]]
    extra: Any = None
    weight: int = 0
    sent: datetime | None = None


def declare_pattern(**hints: Any) -> None:
    code = ", ".join(f"{name}: hints['{name}']" for name in hints if name != "returns")
    scope = {"hints": hints, "Patterns": Patterns, "Protocol": Protocol, "Any": Any}
    text = f"class Parcels(Patterns, Protocol):\n    def parcels(self, {code}) -> hints['returns']: ...\n"
    exec(text, scope)


@pytest.mark.parametrize(
    "changed",
    [
        {"address": Add[Address]},
        {"address": Add[dict]},
        {"extra": Add[dict]},
        {"marks": Add[dict]},
        {"size": Add[Size]},
    ],
    ids=str,
)
def test_add_to_a_map_is_refused(changed):
    error = error_of(lambda: declare_pattern(code=str, leg=str, **changed, returns=Update[Parcel]))
    assert error.code == "HR214"


def test_add_to_a_field_of_any_type_takes_a_number():
    declare_pattern(code=str, leg=str, extra=Add[int], returns=Update[Parcel])


def declare_where(expression: str) -> None:
    class Parcels(Patterns, Protocol):
        @where(expression)
        def parcels(self, code: str) -> Query[Parcel]: ...


@pytest.mark.parametrize(
    ("expression", "known"),
    [
        ("address.town = 'Wien'", "it has city, lines, kind"),
        ("address.lines.first = 'x'", "address.lines has no members of this kind"),
        ("address.lines[0].first = 'x'", "address.lines.0 has no members of this kind"),
        ("size.height = 1", "it has width"),
        ("sizes[2].height = 1", "it has width"),
        ("attribute_exists(address.town)", "it has city, lines, kind"),
        ("code.first = 'x'", "code has no members of this kind"),
    ],
)
def test_a_misspelt_nested_name_in_where_is_refused(expression, known):
    error = error_of(declare_where, expression)
    assert (error.code, error.remedy) == ("HR226", known)


@pytest.mark.parametrize(
    "expression",
    [
        "address.city = 'Wien'",
        "address.lines[0] = 'x'",
        "sizes[2].width = 1",
        "marks.anything = 1",
        "extra.anything[3].more = 1",
    ],
)
def test_a_path_into_a_field_is_accepted(expression):
    declare_where(expression)


def declare_typed_where(expression: str, **hints: Any) -> None:
    code = ", ".join(f"{name}: hints['{name}']" for name in hints)
    scope = {"hints": hints, "where": where, "Patterns": Patterns, "Protocol": Protocol, "Scan": Scan, "Parcel": Parcel}
    text = f"def parcels(self, {code}) -> Scan[Parcel]: ..."
    exec(f"class Parcels(Patterns, Protocol):\n    @where({expression!r})\n    {text}\n", scope)


@pytest.mark.parametrize(
    ("expression", "hints", "problem"),
    [
        ("sent = {c}", {"c": str}, "sent, which is a time, with {c}, which is text"),
        ("{c} <> weight", {"c": str}, "weight, which is a number, with {c}, which is text"),
        ("weight IN ({c}, {d})", {"c": int, "d": str}, "weight, which is a number, with {d}, which is text"),
        ("weight BETWEEN 1 AND {c}", {"c": bool}, "weight, which is a number, with {c}, which is a truth value"),
        ("{c} BETWEEN weight AND size.width", {"c": str}, "weight, which is a number, with {c}, which is text"),
        ("address.city = {c}", {"c": int}, "address.city, which is text, with {c}, which is a number"),
        ("sizes[2].width > {c}", {"c": str}, "sizes[2].width, which is a number, with {c}, which is text"),
        ("size(address) > {c}", {"c": str}, "size(address), which is a number, with {c}, which is text"),
        ("tags = {c}", {"c": str}, "tags, which is a list, with {c}, which is text"),
        ("address = {c}", {"c": str}, "address, which is a map, with {c}, which is text"),
    ],
)
def test_a_where_parameter_of_another_type_than_its_field_is_refused(expression, hints, problem):
    error = error_of(lambda: declare_typed_where(expression, **hints))
    assert (error.code, error.problem) == ("HR211", f"@where compares {problem}")


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("weight = 'heavy'", "weight, which is a number, with 'heavy', which is text"),
        ("address.city = 5", "address.city, which is text, with 5, which is a number"),
        ("NOT (address.lines[1] IN ('a', 5))", "address.lines[1], which is text, with 5, which is a number"),
        ("size(code) > 'a'", "size(code), which is a number, with 'a', which is text"),
        ("address.kind = 'shop'", "address.kind with 'shop', which it never is"),
    ],
)
def test_a_where_constant_that_a_field_never_has_is_refused_also_inside_a_field(expression, problem):
    error = error_of(declare_where, expression)
    assert (error.code, error.problem) == ("HR223", f"@where compares {problem}")


@pytest.mark.parametrize(
    ("expression", "hints"),
    [
        ("weight = {c} OR weight < 5", {"c": float}),
        ("weight = {c}", {"c": int | None}),
        ("address.city = {c} AND address.kind = 'home'", {"c": Annotated[str, "any"]}),
        ("sent > {c} AND sent > '2026'", {"c": datetime}),
        ("begins_with(sent, {c}) AND contains(code, {c})", {"c": str}),
        ("extra = {c} OR extra.anything = 5", {"c": str}),
        ("tags = {c} AND size(address.lines) > {d}", {"c": list[str], "d": int}),
        ("address = {c}", {"c": Address}),
    ],
)
def test_a_where_value_of_the_type_of_its_field_is_accepted(expression, hints):
    declare_typed_where(expression, **hints)


@pytest.mark.parametrize(
    "expression",
    ["tags[0] = 'x'", "steps[1] = 'x'", "events[0].name = 'x'", "contains(tags, 'x')", "NOT size(steps) > 3"],
)
def test_where_into_a_list_that_is_stored_as_one_string_is_refused(expression):
    error = error_of(declare_where, expression)
    assert error.code == "HR228"
    assert "is stored as one string" in error.problem


def test_where_over_the_whole_of_a_joined_list_is_accepted():
    declare_where("attribute_exists(tags) AND begins_with(steps, 'cut')")
    declare_pattern(code=str, tags=Eq[list[str]], returns=Query[Parcel])


@pytest.mark.parametrize("returns", [Query[Parcel], Update[Parcel]], ids=str)
def test_contains_of_a_list_that_is_stored_as_one_string_is_refused(returns):
    assert error_of(lambda: declare_pattern(code=str, leg=str, tags=Contains[str], returns=returns)).code == "HR228"


def test_where_over_a_field_that_is_only_inside_a_key_is_refused():
    error = error_of(declare_where, "leg = 'x'")
    assert error.code == "HR227"
    assert "leave Key[...] out" in error.remedy


def test_a_filter_on_a_field_that_is_only_inside_a_key_is_refused():
    assert error_of(lambda: declare_pattern(code=str, leg=Contains[str], returns=Query[Parcel])).code == "HR234"
    assert error_of(lambda: declare_pattern(leg=str, returns=Scan[Parcel])).code == "HR234"


def test_a_write_condition_on_a_field_that_is_only_inside_a_key_is_refused():
    error = error_of(lambda: declare_pattern(code=str, leg=Eq[str], extra=str, returns=Update[Parcel]))
    assert error.code == "HR227"


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", ["ab", "Email Index", "x", "é", "n" * 300])
def test_the_name_that_is_proposed_for_an_index_is_accepted(name):
    error = error_of(Gsi, name, "email")
    proposed = error.remedy.rpartition("'")[0].rpartition("'")[2]
    assert proposed != name
    Gsi(proposed, "email")


def test_a_float_in_a_key_is_not_told_to_take_a_width_as_it_is():
    def declare(hint: Any) -> None:
        class Offer(Item, table=Table("offers", "pk", "sk"), pk="OFFERS", sk="OFFER#{price}"):
            price: hint

        class Offers(Patterns, Protocol):
            def offer(self, price: hint) -> Get[Offer]: ...

    assert error_of(declare, int).remedy == "give it a format: {price:012d} or {price:+012d}"
    for hint in (float, Decimal):
        assert error_of(declare, hint).remedy == "give it a format: {price:012.2f} or {price:+012.2f}"


def test_a_query_without_parameters_is_told_what_it_lacks():
    assert error_of(lambda: declare_pattern(returns=Query[Parcel])).problem == (
        "no index of parcels finds Parcel without parameters"
    )


@pytest.mark.parametrize("name", ["", "a", "ab", " ", "é", "??", "-", "a b", "Email Index", "x" * 300, " " * 300])
def test_the_name_that_is_proposed_for_an_index_is_another_one_and_legal(name):
    error = error_of(lambda: Table("users", "pk", indexes=[Gsi(name, "email")]))
    assert error.code == "HR102"
    proposed = str(error).partition("such as ")[2].strip("'")
    assert proposed != name
    assert Table("users", "pk", indexes=[Gsi(proposed, "email")]).indexes[0].name == proposed


# ── values of another type ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("arguments", [(None, "x"), ("by-x", None), ("by-x", ["x", 5]), ("by-x", "x", 5), (7, "x")])
def test_an_index_whose_name_or_key_is_no_text_is_refused(arguments):
    assert error_of(Gsi, *arguments).code == "HR162"
    assert error_of(Gsi, "by-x", "x", None, None).code == "HR162"


def test_a_table_whose_name_key_or_index_has_another_type_is_refused():
    wrong: list[Any] = [None, [None], Gsi("by-x", "x")]
    assert {error_of(lambda one=one: Table("jobs", "pk", indexes=one)).code for one in wrong} == {"HR162"}
    assert {error_of(Table, *names).code for names in ((None, "pk"), ("jobs", None), ("jobs", "pk", 5))} == {"HR162"}


def test_a_write_whose_parameter_has_a_value_as_default_is_refused():
    class Order(Item, table=Table("orders", "pk"), pk="ORDER#{number}"):
        number: str
        status: str = "NEW"
        note: str | None = None

    with pytest.raises(DeclarationError, match=r"HR207.*'status' has the default 'NEW'.*= \.\.\.,"):

        class ByValue(Patterns, Protocol):
            def reset(self, number: str, status: str = "NEW") -> Update[Order]: ...

    with pytest.raises(DeclarationError, match="HR207"):  # removed or left as it is?

        class ByNone(Patterns, Protocol):
            def reset(self, number: str, note: str | None = None) -> Update[Order]: ...

    class Clear(Patterns, Protocol):
        def edit(self, number: str, status: str = ..., note: None = None) -> Update[Order]: ...
