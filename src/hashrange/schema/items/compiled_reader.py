"""Compiles a Python function for each class, which reads stored items that have the usual form.

The function does what `Reader.read_uncompiled` does, with the loops over fields unrolled. An item that is unusual (an
attribute of another type, one that is missing, a default that is no constant) makes it raise one of UNUSUAL, and is
then read field by field. pydantic validates the values, unless their types leave nothing to check: {"S": ...} is a str.
Measured on a query of 100 typed items in process (docs/decisions/0021): without compiled readers it takes 1.9 times the
CPU time, with pydantic validating each item 1.25 times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import Enum
from typing import Any, get_args

from pydantic import BaseModel

from hashrange.core.values import Item as Raw
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.field_kind import CANONICAL, KINDS, as_is, digits_of
from hashrange.schema.declare.introspection import NOTHING, ModelClass, ModelField
from hashrange.schema.declare.key_codec import KeyCodec, Step
from hashrange.schema.declare.marker import LOADING, Marker
from hashrange.schema.declare.model import LOADED_KEYS, Model
from hashrange.schema.items.reader import Reader

Reading = Callable[[Raw], Model | None]

EMPTY: dict[Any, str] = {list: "[]", dict: "{}", set: "set()"}
STATE_OF_MODEL = (  # as pydantic's __getstate__ gives it
    "'__dict__': values, '__pydantic_fields_set__': given, '__pydantic_extra__': None, '__pydantic_private__': None"
)
OUR_CONFIG = {"frozen", "extra", "defer_build"}


def compile_reader(reader: Reader, identity: tuple[KeyCodec, ...]) -> Reading:
    """Return the function that reads the usual items of a class; `identity` are the keys that must match."""
    return ReaderBuilder(reader).write(identity)


class ReaderBuilder:
    """Builds the source of one function: its lines, the objects they refer to, and the fields assigned so far."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.fields = introspection.stored_fields(reader.cls)
        self.variables = {name: f"f{at}" for at, name in enumerate(reader.cls.model_fields)}
        self.assigned = dict.fromkeys(reader.constants)  # fields that every item has a value for
        self.in_states: set[str] = set()  # fields that the key of the state has
        self.present: dict[str, None] = {}  # keys that every item has
        self.is_sure = has_no_validators(reader.cls) and all(map(self._is_sure, self.fields.values()))
        self.objects: dict[str, Any] = {
            "set": set,
        }
        self.given: set[str] = set()  # the fields that are not left to their defaults
        self.lines = [f"given = {self._name(self.given)}.copy()" if self.is_sure else "given = {}"]

    def write(self, identity: tuple[KeyCodec, ...]) -> Reading:
        """Return the function."""
        self._recognise(identity)
        self._read_key_only_fields()
        for name, value in self.reader.constants.items():
            self._add(f"{self.variables[name]} = {self._name(value)}")
        for name, field in self.fields.items():
            if not field.key_only and field.fixed is NOTHING:
                self._read_field(name, field)
        for name, load_state in self.reader.lifecycles:
            self._add(f"{self.variables[name]} = {self._name(load_state)}(raw)")
            self._add(f"if {self.variables[name]} is None: raise ValueError")
            self.assigned[name] = None
        self._build()
        text = "def read(raw):\n" + "".join(f"    {line}\n" for line in self.lines)
        exec(compile(text, f"<reader of {self.reader.cls.__name__}>", "exec"), self.objects)  # noqa: S102 - text made here
        reading: Reading = self.objects["read"]
        return reading

    def _add(self, *lines: str) -> None:
        self.lines.extend(lines)

    def _name(self, value: object) -> str:
        """Return the name by which the source refers to an object."""
        if type(value) in {type(None), bool, int, str}:
            return repr(value)
        found = f"x{len(self.objects)}"
        self.objects[found] = value
        return found

    # ── recognition ──────────────────────────────────────────────────────────────────────────────────────────────────
    def _recognise(self, identity: tuple[KeyCodec, ...]) -> None:
        for stored, expected in self.reader.fixed:
            if expected is None:
                self._add(f"v = raw.get({stored!r})")
                self._add(f"if v is not None{self._unless_unset('v')} and 'NULL' not in v: return None")
            else:
                self._add(f"if raw.get({stored!r}) != {self._name(expected)}: return None")
        for attr, pattern in self.reader.guards:
            self._add(f"if not {self._name(pattern.search)}(raw[{attr!r}]['S']): return None")
        for key_codec in identity:
            self.present[key_codec.attr] = None
            self._read_key(key_codec, f"raw[{key_codec.attr!r}]")
        for key_codec in self.reader.states:
            self._add(f"v = raw.get({key_codec.attr!r})", "if v is None: return None")
            before = set(self.assigned)
            self._read_key(key_codec, "v")
            self.in_states |= self.assigned.keys() - before

    def _unless_unset(self, variable: str) -> str:
        return "" if self.reader.unset is None else f" and {variable} != {self._name(self.reader.unset)}"

    def _read_key(self, key_codec: KeyCodec, value: str, wanted: Iterable[str] | None = None) -> None:
        """Parse a key as `KeyCodec.parse` does; a key of another form means another class."""
        if key_codec.alone is not None:
            self._assign(key_codec.alone.name, f"{self._name(key_codec.alone.codec.decode)}({value})")
            return
        otherwise = "return None" if wanted is None else "raise ValueError"
        self._add(f"k = {value}['S']")
        if not key_codec.steps:
            self._add(f"if k != {key_codec.tail!r}: {otherwise}")
        elif len(key_codec.steps) == 1:
            start, end = len(key_codec.steps[0].literal), len(key_codec.tail)
            tests = [f"len(k) <= {start + end}", f"not k.startswith({key_codec.steps[0].literal!r})" if start else ""]
            tests.append(f"not k.endswith({key_codec.tail!r})" if end else "")
            self._add(f"if {' or '.join(filter(None, tests))}: {otherwise}")
            self._take(key_codec.steps[0], f"k[{start}:{-end or ''}]", wanted)
        else:
            self._add(f"m = {self._name(key_codec.template.pattern.fullmatch)}(k)", f"if m is None: {otherwise}")
            for step in key_codec.steps:
                self._take(step, f"m[{step.name!r}]", wanted)

    def _take(self, step: Step, text: str, wanted: Iterable[str] | None) -> None:
        if step.take is None:
            return
        code = text if step.take is str else f"{self._name(step.take)}({text})"
        if wanted is None or step.name in wanted:
            self._assign(step.name, code)
        elif step.take is not str:
            self._add(code)

    def _assign(self, name: str, code: str) -> None:
        """Assign a field that is parsed from a key; parse only, if this class does not have the field."""
        if name not in self.variables or name in self.reader.foreign_fields:
            self._add(code)
            return
        self._add(f"{self.variables[name]} = {code}")
        if not code.startswith(("k[", "m[")):  # slices of a string are strings
            self._check_value(name, self.fields[name])
        self.assigned[name] = None

    def _read_key_only_fields(self) -> None:
        """Parse the fields that are stored in keys only."""
        for key_codec in self.reader.spare:
            missing = {
                name for name in key_codec.template.recoverable if name in self.fields and name not in self.assigned
            }
            wanted = {name for name in missing if self.fields[name].key_only}
            if wanted:
                self._read_key(key_codec, f"raw[{key_codec.attr!r}]", wanted)

    # ── the fields ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _read_field(self, name: str, field: ModelField) -> None:
        stored, variable, unset = field.stored, self.variables[name], self._unless_unset("v")
        if field.required and name not in self.assigned and name not in self.reader.sets and not unset:
            self._decode(name, field, f"raw[{stored!r}]")
            self.assigned[name] = None
            return
        self._add(f"v = raw.get({stored!r})", f"if v is not None{unset}:")
        self._decode(name, field, "v", indent="    ")
        if name in self.assigned:
            if name in self.in_states:  # it is remembered that the key has it alone
                self._add("else: raise ValueError")
            return
        if name in self.reader.sets:
            self._add("else:", f"    {variable} = set()")
            self.assigned[name] = None
        elif field.required:
            self._add("else: raise ValueError")
            self.assigned[name] = None
        else:
            self._add(f"    given.add({name!r})" if self.is_sure else f"    given[{name!r}] = {variable}", "else:")
            self._use_default(name)

    def _use_default(self, name: str) -> None:
        """Use the default of a field that is not stored, unless a key may contain it."""
        for key_codec in self.reader.spare:
            if name in key_codec.template.recoverable:
                self._add(f"    if {key_codec.attr!r} in raw: raise ValueError")
        default = default_of(self.reader.cls, name) if self.is_sure else None  # else pydantic applies the default
        self._add(f"    {self.variables[name]} = {EMPTY.get(type(default)) or self._name(default)}")

    def _decode(self, name: str, field: ModelField, value: str, indent: str = "") -> None:
        variable, codec = self.variables[name], field.codec
        content = f"{value}[{codec.tag!r}]"
        if codec.parse == datetime.fromisoformat:
            self._decode_time(field, value, indent)
            return
        if codec.parse is None:
            code = f"{self._name(codec.decode)}({value})"
        else:
            code = content if codec.parse is as_is else f"{self._name(codec.parse)}({content})"
        self._add(f"{indent}{variable} = {code}")
        if not is_parsed_exactly(field):
            self._check_value(name, field, indent)

    def _decode_time(self, field: ModelField, value: str, indent: str) -> None:
        """Parse a time of the usual form; any other is decoded, which remembers how it was stored."""
        variable, digits = self.variables[field.name], digits_of(field.codec)
        between, end = CANONICAL[bool(digits)]
        usual = f"t[4:20:3] == {between!r}" + (f" and t[{20 + digits}:] == {end!r}" if end else "")
        self._add(f"{indent}t = {value}['S']")
        self._add(f"{indent}if {usual}: {variable} = {self._name(datetime.fromisoformat)}(t)")
        self._add(f"{indent}else:", f"{indent}    {variable} = {self._name(field.codec.decode)}({value})")
        self._check_value(field.name, field, f"{indent}    ")

    def _check_value(self, name: str, field: ModelField, indent: str = "") -> None:
        """Raise unless a value is what pydantic would return."""
        variable, hint, kind = self.variables[name], field.hint, KINDS.get(field.hint)
        if hint is datetime:
            self._add(f"{indent}if not isinstance({variable}, {self._name(datetime)}): raise TypeError")
        elif kind is not None and kind.is_exact:
            self._add(f"{indent}if type({variable}) is not {self._name(hint)}: raise TypeError")
        elif choices := choices_of(hint):
            self._add(f"{indent}{variable} = {self._name(choices)}[{variable}]")
        else:
            self._add(f"{indent}if {variable} is None: raise ValueError")

    def _is_sure(self, field: ModelField) -> bool:
        """Return whether the value that is read needs no validation."""
        cls, name = self.reader.cls, field.name
        if field.fixed is not NOTHING:
            return field.fixed is not None or default_of(cls, name) is None
        if not is_unconstrained(cls, name) or not (field.required or default_of(cls, name) is not NOTHING):
            return False
        kind = KINDS.get(field.hint)
        return is_parsed_exactly(field) or (kind is not None and kind.is_exact) or bool(choices_of(field.hint))

    # ── the object ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _build(self) -> None:
        cls = self.reader.cls
        if self.is_sure:
            shown = ", ".join(f"{name!r}: {self._value(name)}" for name in cls.model_fields)
            self.given.update(self.assigned)
            self._add(f"built = {self._name(object.__new__)}({self._name(cls)})", f"values = {{{shown}}}")
            self._add(f"built.__setstate__({{{STATE_OF_MODEL}}})")
        else:
            shown = "".join(f"{name!r}: {self.variables[name]}, " for name in self.assigned)
            validate = f"{self._name(cls)}.__pydantic_validator__.validate_python"
            self._add(f"built = {validate}({{{shown}**given}}, context={LOADING!r})", "values = built.__dict__")
        shown = ", ".join(f"{attr!r}: raw[{attr!r}]" for attr in self.present)
        self._add(f"values[{LOADED_KEYS!r}] = seen = {{{shown}}}")
        for attr in self.reader.key_names:
            if attr not in self.present:
                self._add(f"v = raw.get({attr!r})", f"if v is not None: seen[{attr!r}] = v")
        self._add("return built")

    def _value(self, name: str) -> str:
        never = name in self.fields and self.fields[name].fixed is None
        return "None" if never else self.variables[name]


def is_parsed_exactly(field: ModelField) -> bool:
    """Return whether the codec's `parse` returns the field's exact type, which pydantic accepts unchanged."""
    kind = KINDS.get(field.hint)
    return kind is not None and field.codec is kind.codec and field.codec.parse is not None


def has_no_validators(cls: ModelClass) -> bool:
    """Return whether pydantic only checks the fields of a class: no validators, hooks, aliases, private attributes."""
    found = cls.__pydantic_decorators__
    return (
        not (found.validators or found.field_validators or found.root_validators or found.model_validators)
        and cls.__get_pydantic_core_schema__.__func__ is Model.__get_pydantic_core_schema__.__func__  # type: ignore[attr-defined]
        and all(getattr(cls, hook) is getattr(BaseModel, hook) for hook in ("__init__", "model_post_init"))
        and not cls.__private_attributes__
        and not any(info.alias or info.validation_alias for info in cls.model_fields.values())
        and set(cls.model_config) <= OUR_CONFIG
    )


def is_unconstrained(cls: ModelClass, name: str) -> bool:
    """Return whether a field has no constraints besides its type."""
    info = cls.model_fields[name]
    return all(isinstance(fact, Marker) for fact in info.metadata) and _has_no_constraints(info.annotation)


def _has_no_constraints(hint: Any) -> bool:
    inner, _ = hints.unwrap(hint)
    return not hints.constraints_of(hint) and (
        not hints.is_union(inner) or all(map(_has_no_constraints, get_args(inner)))
    )


def choices_of(hint: Any) -> dict[str, Any]:
    """Return the values of a Literal or Enum of strings by their text; nothing for other types."""
    values = hints.literals(hint)
    if values:
        return {value: value for value in values} if all(type(value) is str for value in values) else {}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {member.value: member for member in hint} if all(type(one.value) is str for one in hint) else {}
    return {}


def default_of(cls: ModelClass, name: str) -> Any:
    """Return the default of a field if it is a constant or an empty container; else NOTHING."""
    info = cls.model_fields[name]
    if info.validate_default or name in cls.__special__:
        return NOTHING
    factory: Any = info.default_factory
    default = factory() if factory in EMPTY else info.default
    if type(default) in EMPTY:
        return NOTHING if default else default
    is_constant = default is None or isinstance(default, Enum) or type(default) in KINDS
    return default if is_constant else NOTHING
