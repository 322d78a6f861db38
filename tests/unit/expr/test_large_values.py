"""Large lists, maps and sets are searched and compared once for an item, however many clauses a condition has."""

from binascii import a2b_base64

import pytest

from hashrange.core.values import encode_binary
from hashrange.expr import large_values
from hashrange.expr.large_values import MANY, LargeValues, contains
from tests.unit.expr.request_reader import condition_of

CLAUSES = 100


class CountedList(list):
    """A list that counts how often it is compared or looked through."""

    def __init__(self, *given):
        super().__init__(*given)
        self.looks = 0

    def __eq__(self, other):
        self.looks += 1
        return super().__eq__(other)

    __hash__ = None

    def __contains__(self, wanted):
        self.looks += 1
        return super().__contains__(wanted)

    def __iter__(self):
        self.looks += 1
        return super().__iter__()


MAPS = [{"M": {"a": {"N": str(number)}, "b": {"S": "x"}}} for number in range(2 * MANY)]
CONDITIONS = {
    "equal attributes": (" AND ".join(["l = m"] * CLAUSES), {}, True),
    "unequal attributes": (" OR ".join(["l <> m"] * CLAUSES), {}, False),
    "a value of the request": (" AND ".join(["l = :l"] * CLAUSES), {":l": {"L": MAPS}}, True),
    "IN attributes": (" AND ".join(["l IN (n, m)"] * CLAUSES), {}, True),
    "IN values of the request": (" OR ".join(["l IN (:n)"] * CLAUSES), {":n": {"L": MAPS[1:]}}, False),
    "contains maps": (
        " OR ".join(f"contains(l, :v{number})" for number in range(CLAUSES)),
        {f":v{number}": {"M": {"a": {"N": f"-{number}"}}} for number in range(CLAUSES)},
        False,
    ),
    "contains in a short list": (
        " OR ".join(["contains(few, :v)"] * CLAUSES),
        {":v": {"L": MAPS[1:]}},
        False,
    ),
}


@pytest.mark.parametrize(("expression", "values", "expected"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_hundred_clauses_look_at_a_large_value_once(expression, values, expected):
    counted = CountedList(MAPS)
    item = {"l": {"L": counted}, "m": {"L": MAPS}, "n": {"L": MAPS[1:]}, "few": {"L": [{"L": counted}]}}
    assert condition_of(expression, values=values or None)(item) is expected
    assert counted.looks <= 2  # two operands of IN


def test_a_hundred_clauses_decode_a_large_binary_once(monkeypatch):
    decoded: list[str] = []

    def count(text):
        decoded.append(text)
        return a2b_base64(text)

    monkeypatch.setattr(large_values, "a2b_base64", count)
    large, other = encode_binary(b"a" * 1_000 + b"bc"), encode_binary(b"b" * 1_000)
    clauses = [*(f"contains(b, :v{number})" for number in range(CLAUSES)), "contains(c, :v0)"]
    values = {f":v{number}": {"B": encode_binary(b"c%d" % number)} for number in range(CLAUSES)}
    item = {"b": {"B": large}, "c": {"B": other}}
    assert not condition_of(" OR ".join(clauses), values=values)(item)
    assert condition_of("contains(b, :v)", values={":v": {"B": encode_binary(b"abc")}})(item)
    assert (decoded.count(large), decoded.count(other)) == (1, 1)


PARTS = [
    {"M": {"b": {"S": "x"}, "a": {"N": "7"}}},  # in another order
    {"M": {"a": {"N": "7"}}},
    {"M": {}},
    {"L": [{"S": "a"}, {"M": {}}]},
    {"L": []},
    {"SS": ["a", "b"]},
    {"NS": ["1", "2"]},
    {"BS": ["AAAA"]},
    {"BOOL": True},
    {"BOOL": False},
    {"NULL": True},
    {"S": "7"},
    {"N": "7"},
    {"B": "AAAA"},
]


@pytest.mark.parametrize("size", [1, 2 * MANY])
def test_members_of_every_type_are_found_as_in_a_plain_list(size):
    for left_out in range(len(PARTS)):
        members = [{"S": "other"}, *MAPS[:8]] * size + PARTS[:left_out] + PARTS[left_out + 1 :]
        value, item, large = {"L": members}, {}, LargeValues()
        assert [large.contains(item, value, part) for part in PARTS] == [contains(value, part) for part in PARTS]


@pytest.mark.parametrize("tag", ["SS", "NS", "BS"])
def test_a_set_contains_members_of_its_own_type_only(tag):
    value = {tag: [f"{number:04}" for number in range(2 * MANY)]}
    assert [LargeValues().contains({}, value, {member: "0007"}) for member in "SNB"] == [
        member == tag[0] for member in "SNB"
    ]
    assert not LargeValues().contains({}, value, value)


def test_another_item_is_looked_at_anew():
    large = LargeValues()
    for content in (MAPS, MAPS[1:], MAPS):
        item = {"l": {"L": content}, "m": {"L": MAPS}}
        assert large.are_equal(item, item["l"], item["m"]) is (content is MAPS)
        assert large.contains(item, item["l"], MAPS[0]) is (content is MAPS)
