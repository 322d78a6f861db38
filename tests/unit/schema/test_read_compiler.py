"""Plans of reads: the index that serves all models, few requests, and only the filters that are needed."""

from datetime import datetime
from typing import Literal, Protocol

import pytest

from hashrange import (
    KEYS_ONLY,
    DeclarationError,
    Eq,
    Ge,
    Get,
    Gsi,
    Item,
    Key,
    Latest,
    Le,
    Patterns,
    Query,
    Scan,
    Table,
    View,
    initially,
    via,
)


def lines_of(patterns, name, start):
    shown = patterns.plan(name).explain().splitlines()
    return [line.split(None, 1)[1] for line in shown if line.split()[0] == start]


def index_of(patterns, name):
    return patterns.plan(name).path.name


orders = Table("orders", "pk", "sk", indexes=[Gsi("by-shop", "shop", "at"), Gsi("by-day", "day_pk", "at")])


class Order(Item, table=orders, pk="SHOP#{shop}", sk="ORDER#{number}", day_pk="{shop}"):
    shop: str
    number: str
    at: datetime


class Refund(Item, table=orders, pk="REFUND#{number}", sk="META", day_pk="{number}"):
    shop: str
    number: str
    at: datetime


def test_a_union_uses_the_index_that_serves_all_its_models():
    class Shop(Patterns, Protocol):
        def all(self, shop: str) -> Query[Order | Refund]: ...
        def orders(self, shop: str, number: str) -> Query[Order]: ...

    assert index_of(Shop, "all") == "by-shop"
    assert index_of(Shop, "orders") == ""


def test_the_error_about_two_indexes_names_both_ways_to_choose():
    table = Table("orders", "pk", "sk", indexes=[Gsi("by-shop", "shop"), Gsi("by-owner", "owner")])

    class Order(Item, table=table, pk="ORDER#{number}", sk="META", owner="{shop}"):
        shop: str
        number: str

    with pytest.raises(DeclarationError, match=r"HR231 .*choose one: @via\('by-shop'\) or @via\('by-owner'\)"):

        class Tied(Patterns, Protocol):
            def all(self, shop: str) -> Query[Order]: ...

    class Chosen(Patterns, Protocol):
        @via("by-owner")
        def all(self, shop: str) -> Query[Order]: ...

    assert index_of(Chosen, "all") == "by-owner"


def test_the_error_about_no_common_index_says_where_each_model_is():
    table = Table("orders", "pk", "sk", indexes=[Gsi("by-shop", "shop_pk")])

    class Order(Item, table=table, pk="SHOP#{shop}", sk="ORDER#{number}"):
        shop: str
        number: str

    class Refund(Item, table=table, pk="REFUND#{number}", sk="META", shop_pk="{shop}"):
        shop: str
        number: str

    with pytest.raises(DeclarationError, match=r"HR232 .*Order is in the table, Refund is in by-shop; give one index"):

        class Shop(Patterns, Protocol):
            def all(self, shop: str) -> Query[Order | Refund]: ...


issues = Table("issues", "pk", "sk", indexes=[Gsi("by-open", "open_pk", "open_sk")])


class Issue(Item, table=issues, pk="REPO#{repo}", sk="ISSUE#{number:06d}"):
    repo: Key[str]
    number: Key[int]
    status: Literal["open", "closed"]


class OpenIssue(Issue, open_pk="REPO#{repo}", open_sk="{number:06d}"):
    status: Literal["open"]


def test_a_variant_is_read_by_the_index_made_for_it_without_a_filter():
    class Issues(Patterns, Protocol):
        def opened(self, repo: str) -> Query[OpenIssue]: ...
        def numbered(self, repo: str, number: int) -> Query[OpenIssue]: ...
        def all(self, repo: str) -> Query[Issue]: ...

    assert index_of(Issues, "opened") == "by-open"
    assert lines_of(Issues, "opened", "filter") == []
    assert index_of(Issues, "numbered") == "by-open"
    assert index_of(Issues, "all") == ""


def test_a_variant_is_filtered_where_others_share_its_keys():
    table = Table("issues", "pk", "sk", indexes=[Gsi("by-repo", "repo_pk", "repo_sk")])

    class Issue(Item, table=table, pk="ISSUE#{number}", sk="ISSUE", repo_pk="{repo}", repo_sk="ISSUE#{number}"):
        repo: str
        number: str
        status: Literal["open", "closed"]

    class OpenIssue(Issue):
        status: Literal["open"]

    class ClosedIssue(Issue, repo_sk="CLOSED#{number}"):
        status: Literal["closed"]

    class Issues(Patterns, Protocol):
        def opened(self, repo: str) -> Query[OpenIssue]: ...
        def closed(self, repo: str) -> Query[ClosedIssue]: ...
        def either(self, repo: str) -> Query[OpenIssue | ClosedIssue]: ...

    assert lines_of(Issues, "opened", "filter") == ["status = 'open'"]
    assert lines_of(Issues, "closed", "filter") == []


@pytest.mark.parametrize("projection", [KEYS_ONLY, ["job"], "ALL"])
def test_a_union_of_all_states_is_accepted_where_each_alone_is(projection):
    table = Table("jobs", "pk", "sk", indexes=[Gsi("by-state", "queue", "state_sk", projection)])

    class Work(View["Job"]):
        job: str

    class Never(Work, state_sk="NEVER#"): ...

    class Busy(Work, state_sk="BUSY#{start}"):
        start: datetime

    class Job(Item, table=table, pk="JOB#{job}", sk="META"):
        job: str
        queue: str
        work: Never | Busy = initially(Never)

    class Jobs(Patterns, Protocol):
        def never(self, queue: str) -> Query[Never]: ...
        def busy(self, queue: str) -> Query[Busy]: ...
        def either(self, queue: str) -> Query[Never | Busy]: ...
        def due(self, queue: str, start: Le[datetime]) -> Query[Never | Busy]: ...

    assert lines_of(Jobs, "either", "key") == ["queue = {queue}"]
    assert sorted(lines_of(Jobs, "due", "key")) == [
        "queue = {queue} AND state_sk = 'NEVER#'",
        "queue = {queue} AND state_sk BETWEEN 'BUSY#' AND 'BUSY#{start}'",
    ]


threads = Table("threads", "pk", "sk")


class Meta(Item, table=threads, pk="THREAD#{thread}", sk="META"):
    thread: Key[str]


class Mail(Item, table=threads, pk="THREAD#{thread}", sk="MAIL#{at}"):
    thread: Key[str]
    at: Key[datetime]
    sender: str


class Note(Item, table=threads, pk="THREAD#{thread}", sk="NOTE#{at}"):
    thread: Key[str]
    at: Key[datetime]
    sender: str


class Tag(Item, table=threads, pk="THREAD#{thread}", sk="TAG#{name}"):
    thread: Key[str]
    name: Key[str]


def test_neighbouring_models_of_a_partition_are_read_with_one_request():
    class Threads(Patterns, Protocol):
        def entries(self, thread: str) -> Query[Note | Mail | Meta]: ...
        def latest(self, thread: str) -> Latest[Tag | Note]: ...
        def all(self, thread: str) -> Query[Meta | Mail | Note | Tag]: ...
        def ends(self, thread: str) -> Query[Meta | Tag]: ...
        def three(self, thread: str) -> Query[Mail | Meta | Tag]: ...
        def from_sender(self, thread: str, sender: str) -> Query[Mail | Note]: ...
        def since(self, thread: str, at: Ge[datetime]) -> Query[Meta | Mail]: ...

    pk = "pk = 'THREAD#{thread}'"
    assert lines_of(Threads, "entries", "key") == [f"{pk} AND sk BETWEEN 'MAIL#' AND 'NOTE#~'"]
    assert lines_of(Threads, "latest", "key") == [f"{pk} AND sk BETWEEN 'NOTE#' AND 'TAG#~'"]
    assert lines_of(Threads, "all", "key") == [pk]
    assert lines_of(Threads, "ends", "key") == [f"{pk} AND sk = 'META'", f"{pk} AND begins_with(sk, 'TAG#')"]
    assert lines_of(Threads, "three", "key") == [
        f"{pk} AND sk BETWEEN 'MAIL#' AND 'META~'",
        f"{pk} AND begins_with(sk, 'TAG#')",
    ]
    assert lines_of(Threads, "from_sender", "key") == [
        f"{pk} AND begins_with(sk, 'MAIL#')",
        f"{pk} AND begins_with(sk, 'NOTE#')",
    ]
    assert lines_of(Threads, "since", "key") == [
        f"{pk} AND sk = 'META'",
        f"{pk} AND sk BETWEEN 'MAIL#{{at}}' AND 'MAIL#~'",
    ]


def test_a_filter_applies_to_the_models_that_have_its_field():
    class Threads(Patterns, Protocol):
        def of_sender(self, thread: str, sender: str) -> Query[Meta | Mail | Note]: ...
        def scanned(self, sender: str) -> Scan[Meta | Mail]: ...

    [meta] = [branch for branch in Threads.plan("of_sender").branches if branch.models == (Meta,)]
    assert meta.filter is None
    rest = [branch for branch in Threads.plan("of_sender").branches if branch is not meta]
    assert {model for branch in rest for model in branch.models} == {Mail, Note}
    assert all(branch.filter is not None for branch in rest)
    assert [branch.models for branch in Threads.plan("scanned").branches] == [(Meta,), (Mail,)]


def test_a_get_asks_of_each_model_what_its_fields_allow():
    table = Table("users", "pk")

    class User(Item, table=table, pk="USER#{name}"):
        name: str
        state: Literal["new", "active"]

    class NewUser(User):
        state: Literal["new"]

    class ActiveUser(User):
        state: Literal["active"]
        level: int

    class Users(Patterns, Protocol):
        def user(self, name: str, level: Eq[int]) -> Get[NewUser | ActiveUser]: ...

    plan = Users.plan("user")
    arguments = {"name": "ann", "level": 3}
    assert plan.accepts({"state": {"S": "active"}, "level": {"N": "3"}}, arguments)
    assert not plan.accepts({"state": {"S": "active"}, "level": {"N": "4"}}, arguments)


def test_an_index_chosen_with_via_that_does_not_serve_names_the_one_that_does():
    table = Table("sales", "pk", indexes=[Gsi("by-shop", "shop"), Gsi("by-seller", "seller")])

    class Sale(Item, table=table, pk="SALE#{id}"):
        id: str
        seller: str
        shop: str

    expected = r"HR230 .*by-shop of sales does not find Sale by seller; remove @via: by-seller can"
    with pytest.raises(DeclarationError, match=expected):

        class Wrong(Patterns, Protocol):
            @via("by-shop")
            def sales(self, seller: str) -> Query[Sale]: ...
