"""Errors that need no item: their exact texts, and which of several is reported."""

import pytest

from tests.unit.expr.request_reader import condition_of, condition_problem, update_of, update_problem

S, N, B = {"S": "a"}, {"N": "1"}, {"B": "YQ=="}
BOOL, NULL, L, M = {"BOOL": True}, {"NULL": True}, {"L": []}, {"M": {}}
SS, NS, BS = {"SS": ["a"]}, {"NS": ["1"]}, {"BS": ["YQ=="]}
ALL = {"S": S, "N": N, "B": B, "BOOL": BOOL, "NULL": NULL, "L": L, "M": M, "SS": SS, "NS": NS, "BS": BS}
LONG = {"S": "STRING", "N": "NUMBER", "B": "BINARY", "BOOL": "BOOLEAN", "NULL": "NULL", "L": "LIST", "M": "MAP"}
MISPLACED = "The function is not allowed to be used this way in an expression; function: "
UNDEFINED_NAME = "An expression attribute name used in the document path is not defined; attribute name: "
UNDEFINED_VALUE = "An expression attribute value used in expression is not defined; attribute value: "
RESERVED = "Attribute name is a reserved keyword; reserved keyword: "


def wrong_type(name, tag):
    return f"Incorrect operand type for operator or function; operator or function: {name}, operand type: {tag}"


def wrong_count(name, count):
    return (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {name}, number of operands: {count}"
    )


def same(operator, path):
    return (
        "The first operand must be distinct from the remaining operands for this operator or function; "
        f"operator: {operator}, first operand: {path}"
    )


def clash(how, one, two):
    return (
        f"Two document paths {how} with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {two}"
    )


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("status = :v", "status"),
        ("StaTus = :v", "StaTus"),
        ("a.b.name = :v", "name"),
        (":v < abOrT", "abOrT"),
        ("size(zone) = :v", "zone"),
    ],
)
def test_a_reserved_word_is_refused_as_a_name_in_the_case_it_is_written(text, word):
    assert condition_problem(text) == RESERVED + word


def test_a_reserved_word_is_fine_behind_a_reference():
    assert condition_of("#a.#b = :v", {"#a": "name", "#b": "status"}, {":v": S})(
        {"name": {"M": {"status": {"S": "a"}}}}
    )


@pytest.mark.parametrize(
    ("text", "function"), [("dog(a)", "dog"), ("Size(a) = :v", "Size"), ("size(a) = cat(b)", "cat"), ("f(g(a))", "f")]
)
def test_an_unknown_function_is_refused(text, function):
    assert condition_problem(text) == f"Invalid function name; function: {function}"


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("size(a)", "size"),
        ("a = b AND NOT (size(c))", "size"),
        ("attribute_exists(a) > b", "attribute_exists"),
        ("a BETWEEN b AND attribute_exists(c)", "attribute_exists"),
        ("a IN (b, contains(c, d))", "contains"),
        ("size(contains(a, b)) > a", "contains"),
        ("contains(a, begins_with(b, c))", "begins_with"),
    ],
)
def test_a_misplaced_function_is_refused(text, function):
    assert condition_problem(text) == MISPLACED + function


@pytest.mark.parametrize("function", ["if_not_exists", "list_append"])
def test_a_function_of_updates_is_refused_in_a_condition(function):
    expected = f"The function is not allowed in a condition expression; function: {function}"
    assert condition_problem(f"{function}(a, b) = :v") == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [("#a = :v", "#a"), ("a.#b[1].#c = :v", "#b"), ("begins_with(a, #x) AND #y = :z", "#x"), ("#_4 > a", "#_4")],
)
def test_an_undefined_name_is_refused(text, name):
    assert condition_problem(text, values={":v": S}) == UNDEFINED_NAME + name


@pytest.mark.parametrize(
    ("text", "value"), [(":x < :y", ":x"), ("a = :v AND b = :y", ":y"), ("attribute_exists(:x)", ":x")]
)
def test_an_undefined_value_is_refused(text, value):
    assert condition_problem(text, values={":v": S}) == UNDEFINED_VALUE + value


@pytest.mark.parametrize(
    ("text", "function", "count"),
    [
        ("attribute_exists(a, b)", "attribute_exists", 2),
        ("attribute_not_exists(a, b)", "attribute_not_exists", 2),
        ("attribute_type(a)", "attribute_type", 1),
        ("begins_with(a)", "begins_with", 1),
        ("begins_with(a, size(b), c)", "begins_with", 3),
        ("contains(a)", "contains", 1),
        ("size(a, b) > c", "size", 2),
    ],
)
def test_the_wrong_number_of_operands_is_refused(text, function, count):
    assert condition_problem(text) == wrong_count(function, count)


def test_100_options_are_accepted_and_101_are_not():
    values = {f":{number}": N for number in range(101)}
    options = list(values)
    assert condition_of(f"a IN ({','.join(options[:100])})", values=dict.fromkeys(options[:100], N))({"a": {"N": "1"}})
    expected = "The IN operator is provided with too many operands; number of operands: 101"
    assert condition_problem(f"a IN ({','.join(options)})", values=values) == expected


@pytest.mark.parametrize(
    ("text", "operator", "path"),
    [
        ("a = a", "=", "[a]"),
        ("#a <> a", "<>", "[a]"),
        ("a.b[1] > #a.b[1]", ">", "[a, b, [1]]"),
        ("contains(a.b, a.b)", "contains", "[a, b]"),
        ("begins_with(a, #a)", "begins_with", "[a]"),
        ("attribute_type(a, #a)", "attribute_type", "[a]"),
        ("a BETWEEN b AND #a", "BETWEEN", "[a]"),
        ("a IN (b, #a)", "IN", "[a]"),
    ],
)
def test_an_operand_may_not_be_compared_with_itself(text, operator, path):
    assert condition_problem(text, {"#a": "a"}) == same(operator, path)


def test_a_value_may_be_compared_with_itself():
    assert condition_of(":v = :v", values={":v": S})({})


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("tag", ["BOOL", "NULL", "L", "M", "SS", "NS", "BS"])
def test_a_value_without_order_cannot_be_ordered(operator, tag):
    assert condition_problem(f"a {operator} :v", values={":v": ALL[tag]}) == wrong_type(operator, tag)
    assert condition_problem(f":v {operator} a", values={":v": ALL[tag]}) == wrong_type(operator, tag)
    assert condition_problem(f"size(a) {operator} :v", values={":v": ALL[tag]}) == wrong_type(operator, tag)


@pytest.mark.parametrize("text", ["a BETWEEN :v AND b", "a BETWEEN b AND :v", ":v BETWEEN a AND b"])
def test_between_refuses_a_value_without_order(text):
    assert condition_problem(text, values={":v": BOOL}) == wrong_type("BETWEEN", "BOOL")


@pytest.mark.parametrize("tag", ["N", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"])
def test_begins_with_takes_strings_and_binaries(tag):
    assert condition_problem("begins_with(a, :v)", values={":v": ALL[tag]}) == wrong_type("begins_with", tag)
    assert condition_problem("begins_with(:v, a)", values={":v": ALL[tag]}) == wrong_type("begins_with", tag)


def test_the_size_is_a_number():
    assert condition_problem("begins_with(a, size(b))") == wrong_type("begins_with", "N")
    assert condition_problem("size(size(a)) > b") == wrong_type("size", "N")
    assert condition_problem("attribute_type(a, size(b))") == wrong_type("attribute_type", "N")


@pytest.mark.parametrize("tag", ["N", "BOOL", "NULL"])
def test_some_values_have_no_size(tag):
    assert condition_problem("size(:v) > a", values={":v": ALL[tag]}) == wrong_type("size", tag)


@pytest.mark.parametrize("tag", sorted(ALL))
def test_equality_and_in_take_every_type(tag):
    assert condition_of("a = :v AND a IN (:v) AND NOT a <> :v", values={":v": ALL[tag]})({"a": ALL[tag]})


@pytest.mark.parametrize("tag", ["N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"])
def test_the_type_name_is_a_string(tag):
    assert condition_problem("attribute_type(a, :v)", values={":v": ALL[tag]}) == wrong_type("attribute_type", tag)


def test_the_type_name_cannot_come_from_the_item():
    expected = wrong_type("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
    assert condition_problem("attribute_type(a, b)") == expected


def test_the_type_name_must_exist():
    expected = "Invalid attribute type name found; type: DOG, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
    assert condition_problem("attribute_type(a, :v)", values={":v": {"S": "DOG"}}) == expected
    for tag, value in ALL.items():
        assert condition_of("attribute_type(a, :v)", values={":v": {"S": tag}})({"a": value})


@pytest.mark.parametrize("function", ["attribute_exists", "attribute_not_exists"])
def test_attribute_exists_requires_a_path(function):
    expected = f"Operator or function requires a document path; operator or function: {function}"
    assert condition_problem(f"{function}(:v)", values={":v": S}) == expected
    assert condition_problem(f"{function}(size(a))") == expected


def test_bounds_must_be_of_one_type():
    expected = (
        "The BETWEEN operator requires same data type for lower and upper bounds; "
        "lower bound operand: AttributeValue: {S:a}, upper bound operand: AttributeValue: {N:1}"
    )
    assert condition_problem("a BETWEEN :x AND :y", values={":x": S, ":y": N}) == expected


@pytest.mark.parametrize(
    ("low", "high"), [({"N": "10"}, {"N": "9"}), ({"S": "b"}, {"S": "a"}), ({"B": "gA=="}, {"B": "fw=="})]
)
def test_bounds_must_be_in_order(low, high):
    ((low_tag, low_content),), ((high_tag, high_content),) = low.items(), high.items()
    expected = (
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        f"lower bound operand: AttributeValue: {{{low_tag}:{low_content}}}, "
        f"upper bound operand: AttributeValue: {{{high_tag}:{high_content}}}"
    )
    assert condition_problem("a BETWEEN :x AND :y", values={":x": low, ":y": high}) == expected
    assert condition_of("a BETWEEN :x AND :y", values={":x": high, ":y": low})({"a": low})


def test_bounds_are_checked_again_when_the_plan_is_known():
    assert condition_of("a BETWEEN :x AND :y", values={":x": {"N": "1"}, ":y": {"N": "2"}})({"a": {"N": "2"}})
    assert condition_problem("a BETWEEN :x AND :y", values={":x": {"N": "3"}, ":y": {"N": "2"}})
    assert condition_of("attribute_type(a, :v)", values={":v": {"S": "N"}})({"a": N})
    assert condition_problem("attribute_type(a, :v)", values={":v": {"S": "n"}})


def test_a_path_may_have_32_elements():
    path = ".".join(["a"] * 32)
    assert condition_of(f"attribute_not_exists({path})")({})
    expected = "The document path has too many nesting levels; nesting levels: 33"
    assert condition_problem(f"attribute_not_exists({path}[0])") == expected
    assert update_problem(f"REMOVE {path}[0]") == expected


def test_an_index_fits_in_31_bits():
    assert condition_of("attribute_not_exists(a[2147483647])")({})
    expected = "List index is not within the allowable range; index: [99999999999999]"
    assert condition_problem("attribute_not_exists(a[99999999999999])") == expected
    assert update_problem("REMOVE a[99999999999999]") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dog(name) = size(a) AND size(b)", "Invalid function name; function: dog"),
        ("name = :v AND size(b)", MISPLACED + "size"),
        ("#a = :v AND name = :x", RESERVED + "name"),
        ("a = a AND #x = b", same("=", "[a]")),
        ("attribute_exists(#x, :y) AND a = a", UNDEFINED_NAME + "#x"),
        ("begins_with(:x, #y, #z)", UNDEFINED_VALUE + ":x"),
        ("attribute_exists(:x, :x)", UNDEFINED_VALUE + ":x"),
        ("begins_with(a, a, a)", wrong_count("begins_with", 3)),
        ("attribute_type(a, a)", same("attribute_type", "[a]")),
        ("begins_with(a, :n) AND b = :missing", wrong_type("begins_with", "N")),
        ("b = :missing AND begins_with(a, :n)", UNDEFINED_VALUE + ":missing"),
        ("attribute_not_exists(size(:n))", wrong_type("size", "N")),
    ],
)
def test_the_first_of_several_errors_in_a_condition_is_reported(text, expected):
    assert condition_problem(text, values={":n": N}) == expected


@pytest.mark.parametrize(("text", "word"), [("SET abOrt = :v", "abOrt"), ("REMOVE a.Absolute", "Absolute")])
def test_a_reserved_word_is_refused_in_an_update(text, word):
    assert update_problem(text) == RESERVED + word


def test_functions_of_updates():
    assert update_problem("SET a = dog(b)") == "Invalid function name; function: dog"
    expected = "The function is not allowed in an update expression; function: size"
    assert update_problem("SET a = size(b)") == expected
    nested = "SET a = list_append(list_append(:l, :l), :l)"
    assert update_problem(nested, values={":l": L}) == MISPLACED + "list_append"
    nested = "SET a = if_not_exists(a, list_append(:l, :l))"
    assert update_problem(nested, values={":l": L}) == MISPLACED + "list_append"


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ("SET a = b SET c = d", "SET"),
        ("remove a set b = c remove d", "REMOVE"),
        ("ADD a :v SET b = c ADD d :v", "ADD"),
        ("DELETE a :v SET b = c DELETE d :v", "DELETE"),
    ],
)
def test_a_section_can_be_used_once(text, keyword):
    expected = f'The "{keyword}" section can only be used once in an update expression;'
    assert update_problem(text, values={":v": SS}) == expected


@pytest.mark.parametrize("tag", sorted(LONG))
def test_delete_takes_sets_and_add_also_numbers(tag):
    expected = "Incorrect operand type for operator or function; operator: {}, operand type: {}"
    assert update_problem("DELETE a.b :v", values={":v": ALL[tag]}) == expected.format("DELETE", LONG[tag])
    if tag != "N":
        assert update_problem("ADD a.b :v", values={":v": ALL[tag]}) == expected.format("ADD", LONG[tag])


@pytest.mark.parametrize("tag", ["SS", "NS", "BS"])
def test_add_and_delete_take_every_set(tag):
    assert update_of("ADD a :v DELETE b :v", values={":v": ALL[tag]})({}) == {"a": ALL[tag]}


@pytest.mark.parametrize("tag", sorted(set(ALL) - {"L"}))
def test_list_append_takes_lists(tag):
    values = {":v": ALL[tag]}
    assert update_problem("SET a = list_append(b, :v)", values=values) == wrong_type("list_append", tag)
    assert update_problem("SET a = list_append(:v, b)", values=values) == wrong_type("list_append", tag)


@pytest.mark.parametrize("operator", ["+", "-"])
@pytest.mark.parametrize("tag", sorted(set(ALL) - {"N"}))
def test_sums_take_numbers(operator, tag):
    values = {":v": ALL[tag]}
    assert update_problem(f"SET a = b {operator} :v", values=values) == wrong_type(operator, tag)
    assert update_problem(f"SET a = :v {operator} b", values=values) == wrong_type(operator, tag)


def test_the_result_of_an_update_function_is_not_checked_before_it_is_applied():
    assert update_of("SET a = list_append(b, if_not_exists(c, :v))", values={":v": S})


@pytest.mark.parametrize(
    ("text", "function", "count"),
    [
        ("SET a = if_not_exists(b)", "if_not_exists", 1),
        ("SET a = list_append(b)", "list_append", 1),
        ("SET a = list_append(b, c, d)", "list_append", 3),
    ],
)
def test_the_wrong_number_of_operands_is_refused_in_an_update(text, function, count):
    assert update_problem(text) == wrong_count(function, count)


@pytest.mark.parametrize("text", ["SET a = if_not_exists(:v, b)", "SET a = if_not_exists(if_not_exists(a, b), c) + :v"])
def test_if_not_exists_requires_a_path(text):
    expected = "Operator or function requires a document path; operator or function: if_not_exists"
    assert update_problem(text, values={":v": N}) == expected


@pytest.mark.parametrize(
    ("text", "how", "one", "two"),
    [
        ("SET a = :v, a = :v", "overlap", "[a]", "[a]"),
        ("SET a = :v REMOVE a", "overlap", "[a]", "[a]"),
        ("SET a = :v, a.b = :v", "overlap", "[a]", "[a, b]"),
        ("SET a.b = :v REMOVE a", "overlap", "[a, b]", "[a]"),
        ("SET #c[3].#d = :v, #c[3] = :v", "overlap", "[c, [3], [3]]", "[c, [3]]"),
        ("SET a.b = :v, a[1] = :v", "conflict", "[a, b]", "[a, [1]]"),
        ("SET #c[3].#d = :v, #c.#d[3] = :v", "conflict", "[c, [3], [3]]", "[c, [3], [3]]"),
        ("SET d[1] = :v, d.b = :v, c[1].a = :v, #c = :v", "overlap", "[c, [1], a]", "[c]"),
    ],
)
def test_paths_of_an_update_may_not_overlap_or_conflict(text, how, one, two):
    names = {name: value for name, value in {"#c": "c", "#d": "[3]"}.items() if name in text}
    assert update_problem(text, names or None, {":v": S}) == clash(how, one, two)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET #c = :c SET abOrt = dog(a)", RESERVED + "abOrt"),
        ("SET #c = dog(:c) SET c = d", "Invalid function name; function: dog"),
        ("SET a = #c SET c = :d", 'The "SET" section can only be used once in an update expression;'),
        ("SET #c = if_not_exists(:c)", UNDEFINED_NAME + "#c"),
        ("SET a = :c, b = #d", UNDEFINED_NAME + "#d"),
        ("SET a = :c, a = b", UNDEFINED_VALUE + ":c"),
        ("SET a = if_not_exists(b), a = c", clash("overlap", "[a]", "[a]")),
        (
            "SET b = list_append(:v, a), c = if_not_exists(a) ADD a.b :v",
            "Incorrect operand type for operator or function; operator: ADD, operand type: STRING",
        ),
    ],
)
def test_the_first_of_several_errors_in_an_update_is_reported(text, expected):
    assert update_problem(text, values={":v": S}) == expected
