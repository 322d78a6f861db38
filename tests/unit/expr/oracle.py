"""A simple, slow evaluator of conditions and updates, to compare the compiled ones with.

Values become Python's own: numbers become Fraction, sets frozenset, maps and lists tuples.
"""

import base64
from copy import deepcopy
from fractions import Fraction

from hashrange.expr.nodes import (
    AddAction,
    And,
    Arithmetic,
    Between,
    Comparison,
    DeleteAction,
    DocumentPath,
    FunctionCall,
    Literal,
    Membership,
    Not,
    Or,
    Placeholder,
    RemoveAction,
    SetAction,
)


class Refused(Exception):
    pass


def plain(value):
    """A comparable form of a value: (type, content)."""
    ((tag, content),) = value.items()
    match tag:
        case "N":
            return tag, Fraction(content)
        case "B":
            return tag, base64.b64decode(content)
        case "SS":
            return tag, frozenset(content)
        case "NS":
            return tag, frozenset(map(Fraction, content))
        case "BS":
            return tag, frozenset(map(base64.b64decode, content))
        case "L":
            return tag, tuple(map(plain, content))
        case "M":
            return tag, frozenset((name, plain(member)) for name, member in content.items())
        case _:
            return tag, content


def look_up(item, elements):
    value = {"M": item}
    for element in elements:
        if isinstance(element, str):
            value = value.get("M", {}).get(element)
        else:
            elements = value.get("L", [])
            value = elements[element] if element < len(elements) else None
        if value is None:
            return None
    return value


def operand(node, item, values):
    match node:
        case DocumentPath():
            found = look_up(item, node.elements)
        case Placeholder():
            found = values[node.name]
        case Literal():
            found = node.value
        case FunctionCall(function="size"):
            return size(operand(node.arguments[0], item, values))
    return None if found is None else plain(found)


def size(value):
    if value is None:
        return None
    tag, content = value
    if tag == "S":
        return "N", Fraction(sum(2 if ord(character) > 0xFFFF else 1 for character in content))
    return ("N", Fraction(len(content))) if tag in {"B", "SS", "NS", "BS", "L", "M"} else None


def compare(operator, left, right):
    if left is None or right is None or left[0] != right[0]:
        return operator == "<>"
    if operator in {"=", "<>"}:
        return (left == right) == (operator == "=")
    if left[0] not in {"S", "N", "B"}:
        return False
    return {
        "<": left[1] < right[1],
        "<=": left[1] <= right[1],
        ">": left[1] > right[1],
        ">=": left[1] >= right[1],
    }[operator]


def call(function, arguments):
    first = arguments[0]
    match function:
        case "attribute_exists":
            return first is not None
        case "attribute_not_exists":
            return first is None
    second = arguments[1]
    if first is None or second is None:
        return False
    match function:
        case "attribute_type":
            return first[0] == second[1]
        case "begins_with":
            return first[0] == second[0] and first[0] in {"S", "B"} and first[1].startswith(second[1])
        case "contains":
            return contains(first, second)


def contains(whole, part):
    tag, content = whole
    if tag in {"S", "B"}:
        return part[0] == tag and part[1] in content
    if tag in {"SS", "NS", "BS"}:
        return part[0] == tag[0] and part[1] in content
    return tag == "L" and part in content


def holds(node, item, values):
    def get(part):
        return operand(part, item, values)

    match node:
        case And():
            return all(holds(part, item, values) for part in node.operands)
        case Or():
            return any(holds(part, item, values) for part in node.operands)
        case Not():
            return not holds(node.operand, item, values)
        case Comparison():
            return compare(node.operator, get(node.left), get(node.right))
        case Between():
            value = get(node.operand)
            return compare(">=", value, get(node.low)) and compare("<=", value, get(node.high))
        case Membership():
            return any(compare("=", get(node.operand), get(option)) for option in node.options)
        case FunctionCall():
            return call(node.function, [get(argument) for argument in node.arguments])


def assigned(node, item, values):
    match node:
        case Placeholder():
            return values[node.name]
        case DocumentPath():
            found = look_up(item, node.elements)
            if found is None:
                raise Refused
            return found
        case Arithmetic():
            left, right = (assigned(part, item, values) for part in (node.left, node.right))
            if "N" not in left or "N" not in right:
                raise Refused
            sign = 1 if node.operator == "+" else -1
            return {"N": str(int(left["N"]) + sign * int(right["N"]))}
        case FunctionCall(function="if_not_exists"):
            found = look_up(item, node.arguments[0].elements)
            return assigned(node.arguments[1], item, values) if found is None else found
        case FunctionCall(function="list_append"):
            left, right = (assigned(part, item, values) for part in node.arguments)
            if "L" not in left or "L" not in right:
                raise Refused
            return {"L": left["L"] + right["L"]}


def update(actions, item, values):
    """The updated item: all right sides first, then one change after the other, removals and appended elements last."""
    results = [result_of(action, item, values) for action in actions]
    new = deepcopy(item)
    late = []
    for action, result in zip(actions, results, strict=True):
        *way, last = action.path.elements
        holder = look_up(new, way) if way else {"M": new}
        members = (holder or {}).get("M" if isinstance(last, str) else "L")
        if members is None:
            raise Refused
        if isinstance(last, str):
            members.pop(last, None)
            if result is not None:
                members[last] = result
        elif last < len(look_up(item, way)["L"]):
            members[last] = result
        elif result is not None:
            late.append((last, members, result))
    for _, members, result in sorted(late, key=lambda entry: entry[0]):
        members.append(result)
    return drop_nothing(new)


def drop_nothing(value):
    if isinstance(value, dict):
        return {name: drop_nothing(member) for name, member in value.items()}
    if isinstance(value, list):
        return [drop_nothing(member) for member in value if member is not None]
    return value


def result_of(action, item, values):
    match action:
        case SetAction():
            return deepcopy(assigned(action.value, item, values))
        case RemoveAction():
            return None
    given = values[action.value.name]
    found = look_up(item, action.path.elements)
    ((tag, members),) = given.items()
    if found is None:
        return deepcopy(given) if isinstance(action, AddAction) else None
    if tag not in found:
        raise Refused
    if tag == "N":
        return {"N": str(int(found["N"]) + int(members))}
    if isinstance(action, DeleteAction):
        left = [member for member in found[tag] if member not in members]
        return {tag: left} if left else None
    return {tag: sorted({*found[tag], *members})}
