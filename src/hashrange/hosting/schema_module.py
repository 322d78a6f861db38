"""Loads a module that `hashrange up --app` names: one with a schema (`Patterns` classes), or with a `SYSTEM`.

The module is found in the current directory too. Whatever keeps it from being hosted becomes one sentence.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hashrange.core.errors import DeclarationError, HashrangeError
from hashrange.schema.declare.table import Table

if TYPE_CHECKING:
    from hashrange.hosting.system import System
    from hashrange.provision import Declared


class AppInvalid(HashrangeError):
    """A module that cannot be hosted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaModule:
    """A module with a schema: its tables are created and listed; it has neither pages nor a worker."""

    name: str
    patterns: tuple[Declared, ...]

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return sorted({table.physical_name for declared in self.patterns for table in declared.tables()})


def load_app(name: str) -> SchemaModule | System:
    """Import a module and return what it declares: its SYSTEM, else its schema."""
    from hashrange.hosting.system import System

    module = import_from_here(name)
    system = getattr(module, "SYSTEM", None)
    if isinstance(system, System):
        return system
    patterns = tuple(find_patterns(module))
    if not patterns:
        raise AppInvalid(
            f"The module {name} declares no Patterns class and no SYSTEM, so it has no tables: name another module."
        )
    return SchemaModule(name=name, patterns=patterns)


def load_declared(name: str) -> list[Declared | Table]:
    """Return the Patterns classes of an installed system, or those of a module with its other tables."""
    from hashrange.hosting.discovery import find_entry_points, load_system

    entry = find_entry_points().get(name)
    if entry is not None:
        return list(load_system(entry).patterns)
    tables = [value for value in vars(import_from_here(name)).values() if isinstance(value, Table)]
    return [*load_app(name).patterns, *tables]


def import_from_here(name: str) -> ModuleType:
    """Import a module, from the current directory too; raise AppInvalid with the reason if it cannot be imported."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise AppInvalid(f"{name!r} is not the name of a module. Write it as in an import: myapp.schema.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # last, so that a file here replaces no module of Python or of a package
    try:
        return import_module(name)
    except DeclarationError as error:
        raise AppInvalid(f"The module {name} has a declaration that cannot work: {error}") from error
    except ModuleNotFoundError as missing:
        raise AppInvalid(_explain_missing(name, str(missing.name), here)) from missing
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the module's own code raises
        raise AppInvalid(_explain_failure(name, error)) from error


def find_patterns(module: ModuleType, wanted: str = "") -> list[Any]:
    """Return the Patterns classes that a module declares, those that it imports if it declares none, or one by name."""
    found = [value for value in vars(module).values() if isinstance(value, type) and getattr(value, "plans", None)]
    if wanted:
        return [each for each in found if each.__name__ == wanted]
    declared = [each for each in found if each.__module__ == module.__name__]
    return declared or list(dict.fromkeys(found))


def _explain_missing(name: str, missing: str, here: str) -> str:
    if name == missing or name.startswith(f"{missing}."):
        first = name.partition(".")[0]
        if first in sys.modules and first != missing and Path(here, first).is_dir():
            return (
                f"There is no module {name}: {first} is a module of Python or of an installed package, which is found "
                f"before the directory {Path(here, first)}. Give the directory another name."
            )
        return f"There is no module {name}, neither in {here} nor where Python finds installed packages."
    return f"The module {name} does not import: it needs {missing}, which is not installed."


def _explain_failure(name: str, error: BaseException) -> str:
    last = extract_tb(error.__traceback__)[-1]
    filename, line = last.filename, last.lineno
    if isinstance(error, SyntaxError):
        filename, line = error.filename or filename, error.lineno
    text = (error.msg if isinstance(error, SyntaxError) else str(error)).partition("\n")[0]
    return f"The module {name} does not import: {type(error).__name__}: {text} ({Path(filename).name}, line {line})."
