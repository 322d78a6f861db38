"""Random names, values, items and expressions. Few names and small values, so that they are often equal."""

import base64

from hypothesis import strategies as st

from hashrange.core.values import canonicalise
from hashrange.expr.nodes import (
    AddAction,
    And,
    Arithmetic,
    Between,
    Comparison,
    DeleteAction,
    DocumentPath,
    FunctionCall,
    Membership,
    Not,
    Or,
    Placeholder,
    RemoveAction,
    Section,
    SetAction,
)

NAMES = ["a", "b", "c"]
names = st.sampled_from(NAMES)
texts = st.sampled_from(["", "a", "ab", "b", "ü", "😀", "a😀"])
numbers = st.sampled_from(
    ["0", "1", "-1", "2", "10", "9", "1.5", "0.1", "-0.25", "12345678901234567890123456789012345678"]
)
binaries = st.binary(max_size=3).map(lambda raw: base64.b64encode(raw).decode())


def sets(tag, members):
    return st.lists(members, min_size=1, max_size=3, unique=True).map(lambda found: {tag: found})


scalars = st.one_of(
    texts.map(lambda text: {"S": text}),
    numbers.map(lambda number: {"N": number}),
    binaries.map(lambda binary: {"B": binary}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    sets("SS", texts),
    sets("NS", numbers),
    sets("BS", binaries),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda found: {"L": found}),
        st.dictionaries(names, inner, max_size=3).map(lambda found: {"M": found}),
    ),
    max_leaves=6,
).map(canonicalise)
items = st.dictionaries(names, values, max_size=3)

elements = st.one_of(names, st.integers(0, 3))
paths = st.builds(lambda head, rest: DocumentPath((head, *rest)), names, st.lists(elements, max_size=2))
placeholders = st.sampled_from([":u", ":v", ":w"]).map(Placeholder)
requests = st.fixed_dictionaries({":u": values, ":v": values, ":w": values})

sizes = st.one_of(paths, placeholders).map(lambda operand: FunctionCall("size", (operand,)))
operands = st.one_of(paths, placeholders, sizes)
clauses = st.one_of(
    st.builds(Comparison, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), operands, operands),
    st.builds(Between, operands, operands, operands),
    st.builds(Membership, operands, st.lists(operands, min_size=1, max_size=3).map(tuple)),
    paths.map(lambda path: FunctionCall("attribute_exists", (path,))),
    paths.map(lambda path: FunctionCall("attribute_not_exists", (path,))),
    st.builds(lambda path, wanted: FunctionCall("attribute_type", (path, wanted)), paths, placeholders),
    st.builds(lambda left, right: FunctionCall("begins_with", (left, right)), operands, operands),
    st.builds(lambda left, right: FunctionCall("contains", (left, right)), operands, operands),
)


def joined(kind, other):
    """Two or more conditions joined; one joined by the same word is put in parentheses, so any may be joined."""
    return st.lists(other, min_size=2, max_size=3).map(lambda found: kind(tuple(found)))


conditions = st.recursive(
    clauses,
    lambda inner: st.one_of(
        joined(And, inner), joined(Or, inner), inner.filter(lambda node: not isinstance(node, Not)).map(Not)
    ),
    max_leaves=6,
)

whole_numbers = st.integers(-9, 9).map(lambda number: {"N": str(number)})
lists = st.lists(whole_numbers, max_size=3).map(lambda found: {"L": found})
text_sets = sets("SS", texts).map(canonicalise)
update_requests = st.fixed_dictionaries(
    {":n": whole_numbers, ":l": lists, ":s": text_sets, ":x": st.one_of(texts.map(lambda text: {"S": text}), lists)}
)
update_values = st.recursive(
    st.one_of(whole_numbers, text_sets),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda found: {"L": found}),
        st.dictionaries(names, inner, max_size=3).map(lambda found: {"M": found}),
    ),
    max_leaves=6,
)
update_items = st.dictionaries(names, update_values, max_size=3)
any_value = st.sampled_from([":n", ":l", ":s", ":x"]).map(Placeholder)
defaults = st.builds(
    lambda path, other: FunctionCall("if_not_exists", (path, other)), paths, st.one_of(paths, any_value)
)
assignable = st.one_of(paths, any_value, defaults)
numeric = st.one_of(paths, st.just(Placeholder(":n")), defaults)
listed = st.one_of(paths, st.just(Placeholder(":l")), defaults)
assigned = st.one_of(
    assignable,
    st.builds(Arithmetic, st.sampled_from(["+", "-"]), numeric, numeric),
    st.builds(lambda left, right: FunctionCall("list_append", (left, right)), listed, listed),
)
set_actions = st.builds(SetAction, paths, assigned)
remove_actions = st.builds(RemoveAction, paths)
add_actions = st.builds(AddAction, paths, st.sampled_from([":n", ":s"]).map(Placeholder))
delete_actions = st.builds(DeleteAction, paths, st.just(Placeholder(":s")))


def section(keyword, actions):
    return st.lists(actions, min_size=1, max_size=3).map(lambda found: Section(keyword, tuple(found)))


sections = st.lists(
    st.one_of(
        section("SET", set_actions),
        section("REMOVE", remove_actions),
        section("ADD", add_actions),
        section("DELETE", delete_actions),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda found: found.keyword,
).map(tuple)
