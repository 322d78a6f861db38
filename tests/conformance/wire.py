"""Attribute values in wire form, written as plain Python values; sizes by DynamoDB's own count."""

from decimal import Decimal


def item(**attributes):
    """`item(pk="a", n=5)` is `{"pk": {"S": "a"}, "n": {"N": "5"}}`."""
    return {name: value(content) for name, content in attributes.items()}


def value(content):
    """A plain value in wire form; a dict with one DynamoDB type tag is taken to be in wire form already."""
    for kinds, convert in CONVERSIONS:
        if isinstance(content, kinds):
            return convert(content)
    raise TypeError(content)


def set_value(members):
    tag = {str: "SS", bytes: "BS"}.get(type(next(iter(members))), "NS")
    return {tag: sorted(str(member) if tag == "NS" else member for member in members)}


def map_value(content):
    return content if is_wire(content) else {"M": {name: value(member) for name, member in content.items()}}


def is_wire(content):
    return len(content) == 1 and next(iter(content)) in {"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"}


CONVERSIONS = (
    (type(None), lambda content: {"NULL": True}),
    (bool, lambda content: {"BOOL": content}),
    (str, lambda content: {"S": content}),
    (int | Decimal, lambda content: {"N": str(content)}),
    (bytes, lambda content: {"B": content}),
    (list, lambda content: {"L": [value(element) for element in content]}),
    (set, set_value),
    (dict, map_value),
)


def nest(levels, innermost):
    """A value inside so many maps."""
    for _ in range(levels):
        innermost = {"M": {"m": innermost}}
    return innermost


def sized_item(size, /, **attributes):
    """An item of exactly that many bytes, whose other attributes are strings; `fill` takes up the rest."""
    used = sum(len(name) + len(content.encode()) for name, content in attributes.items())
    return item(**attributes, fill="x" * (size - used - len("fill")))
