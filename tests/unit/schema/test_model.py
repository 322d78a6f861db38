"""Objects of declared classes: defaults that depend on other fields, and times cut to what is stored."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError, model_validator

from hashrange import Item, Millis, Table, after

EXACT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


class Loan(Item, table=Table("loans", "pk"), pk="LOAN#{book}"):
    book: str
    start: datetime
    seen: Millis | None = None
    due: datetime = after("start", days=14)


class Renewed(Loan):
    @model_validator(mode="before")
    @classmethod
    def start_now(cls, data: Any) -> Any:
        return {**data, "start": EXACT} if isinstance(data, dict) else data


class Shelf(Item, table=Table("shelves", "pk"), pk="SHELF#{name}"):
    name: str


def test_times_are_cut_to_the_precision_they_are_stored_with():
    loan = Loan(book="1", start=EXACT, seen=EXACT)
    assert (loan.start, loan.seen) == (EXACT.replace(microsecond=0), EXACT.replace(microsecond=678_000))


def test_a_default_follows_from_the_other_field():
    assert Loan(book="1", start=EXACT).due - Loan(book="1", start=EXACT).start == timedelta(days=14)
    assert Loan(book="1", start=EXACT, due=EXACT).due == EXACT.replace(microsecond=0)


def test_a_default_beyond_the_calendar_is_refused_with_its_field():
    last = datetime(9999, 12, 20, tzinfo=UTC)
    with pytest.raises(ValidationError, match=r"due is 14 days.* after start.*beyond year 9999"):
        Loan(book="1", start=last)
    assert Loan(book="1", start=last, due=last).due == last


def test_a_validator_of_the_class_itself_comes_first():
    renewed = Renewed(book="1")  # type: ignore[call-arg]
    assert renewed.start == EXACT.replace(microsecond=0)
    assert renewed.due == renewed.start + timedelta(days=14)


def test_json_is_filled_up_and_an_object_left_as_it_is():
    found = Renewed.model_validate_json('{"book": "1"}')
    assert found.due == EXACT.replace(microsecond=0) + timedelta(days=14)
    assert Loan.model_validate(found) is found


def test_a_class_without_times_is_checked_all_the_same():
    assert Shelf(name="A").name == "A"
    with pytest.raises(ValidationError):
        Shelf(name="A", more=1)  # type: ignore[call-arg]
