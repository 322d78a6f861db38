"""Random WHERE clauses: each is a text and a Python function that tells which rows satisfy it."""

from decimal import Decimal

from hypothesis import strategies as st

ROWS = [
    {"pk": pk, "sk": sk, **({"flag": f"{pk}{sk}"} if sk != 2 else {})}
    for pk in "abc"
    for sk in (-1, 1, 2, Decimal("2.5"), 10)
]


def to_wire(row):
    return {name: {"N": str(value)} if name == "sk" else {"S": value} for name, value in row.items()}


# A condition is a pair: its text, and the function that evaluates it for a row.
COMPARED = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left is not None and left < right,
    "<=": lambda left, right: left is not None and left <= right,
    ">": lambda left, right: left is not None and left > right,
    ">=": lambda left, right: left is not None and left >= right,
}
VALUES = {"pk": st.sampled_from("abcd"), "sk": st.sampled_from([-2, -1, 1, 2, 3, 10]), "flag": st.just("a1")}


def show(value):
    return f"'{value}'" if isinstance(value, str) else str(value)


@st.composite
def comparisons(draw):
    name = draw(st.sampled_from(["pk", "pk", "sk", "sk", "flag"]))
    operator = draw(st.sampled_from(["=", "=", "=", *COMPARED]))
    value = draw(VALUES[name])
    return f"{name} {operator} {show(value)}", lambda row: COMPARED[operator](row.get(name), value)


@st.composite
def memberships(draw):
    name = draw(st.sampled_from(["pk", "sk"]))
    values = draw(st.lists(VALUES[name], min_size=1, max_size=3, unique=True))
    return f"{name} IN [{', '.join(map(show, values))}]", lambda row: row[name] in values


@st.composite
def betweens(draw):
    name = draw(st.sampled_from(["pk", "sk"]))
    low, high = sorted(draw(st.tuples(VALUES[name], VALUES[name])))
    return f"{name} BETWEEN {show(low)} AND {show(high)}", lambda row: low <= row[name] <= high


@st.composite
def prefixes(draw):
    name, prefix = draw(st.sampled_from([("pk", "a"), ("pk", "b"), ("flag", "a"), ("flag", "b-")]))
    return f"begins_with({name}, '{prefix}')", lambda row: row.get(name, "").startswith(prefix)


def negate(condition):
    text, holds = condition
    return f"NOT ({text})", lambda row: not holds(row)


def join(word, conditions):
    texts, tests = zip(*conditions, strict=True)
    combine = all if word == "AND" else any
    return "(" + f" {word} ".join(texts) + ")", lambda row: combine(holds(row) for holds in tests)


def nested(inner):
    several = st.lists(inner, min_size=2, max_size=3)
    return (
        several.map(lambda parts: join("AND", parts)) | several.map(lambda parts: join("OR", parts)) | inner.map(negate)
    )


SIMPLE = comparisons() | memberships() | betweens() | prefixes()
ANY = st.recursive(SIMPLE, nested, max_leaves=7)
OF_ONE_PARTITION = VALUES["pk"].map(lambda value: (f"pk = '{value}'", lambda row: row["pk"] == value))
CONDITIONS = ANY | st.tuples(OF_ONE_PARTITION, SIMPLE | ANY).map(lambda both: join("AND", both))
