"""Random reads over HTTP, compared with a selection and sort of all items in Python; most are compared embedded."""

import pytest

import hashrange
from tests.e2e.served import Served
from tests.unit.session.test_reads_oracle import Case, check_case


@pytest.fixture
def served(tmp_path):
    found = Served(errors=tmp_path / "errors")
    yield found
    found.kill()


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_reads_over_http_are_what_a_selection_and_sort_of_all_items_is(served, seed):
    case = Case(seed)
    case.declare()
    with hashrange.connect(served.url) as database:
        assert check_case(case, database, (4,)) > 0
