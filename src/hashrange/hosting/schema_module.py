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
from hashrange.schema.declare.table import Table, find_mounted, find_tables
from hashrange.session.patterns import Patterns

if TYPE_CHECKING:
    from hashrange.hosting.system import System
    from hashrange.provision import Declared


class AppInvalid(HashrangeError):
    """A module that cannot be hosted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaModule:
    """A module with a schema: its tables are created and listed; it has neither pages nor a worker."""

    name: str
    declared: tuple[Declared | Table, ...]  # its Patterns classes, and its tables: a pattern need not use each of them

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return sorted({table.physical_name for table in find_tables(self.declared)})


def load_app(name: str) -> SchemaModule | System:
    """Import a module and return what it declares: its SYSTEM, else its schema."""
    from hashrange.hosting.system import System

    module = import_from_here(name)
    system = getattr(module, "SYSTEM", None)
    if isinstance(system, System):
        return system
    patterns = find_patterns(module)
    mounted = find_mounted(find_tables(patterns))  # the module has the declared ones to name them
    tables = [value for value in vars(module).values() if isinstance(value, Table) and value not in mounted]
    if not patterns and not tables:
        raise AppInvalid(
            f"The module {name} declares no Patterns class and no SYSTEM, so it has no tables: name another module."
        )
    return SchemaModule(name=name, declared=(*patterns, *tables))


def load_declared(name: str) -> list[Declared | Table]:
    """Return the Patterns classes of an installed system, or those of a module with its other tables."""
    from hashrange.hosting.discovery import find_entry_points, load_system

    entry = find_entry_points().get(name)
    if entry is not None:
        return list(load_system(entry).patterns)
    app = load_app(name)
    return list(app.declared if isinstance(app, SchemaModule) else app.patterns)


def import_from_here(name: str) -> ModuleType:
    """Import a module, from the current directory too; raise AppInvalid with the reason if it cannot be imported."""
    if not all(part.isidentifier() for part in name.split(".")):
        meant = _guess_module(name) or "myapp.schema"
        raise AppInvalid(f"{name!r} is not the name of a module. Write it as in an import: {meant}.")
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
    found = [value for value in vars(module).values() if _is_declaration(value)]
    if wanted:
        return [each for each in found if each.__name__ == wanted]
    declared = [each for each in found if each.__module__ == module.__name__]
    return declared or list(dict.fromkeys(found))


def _is_declaration(value: object) -> bool:
    """Return whether it is a class that inherits from Patterns and declares some."""
    return isinstance(value, type) and Patterns in value.__mro__[1:] and bool(getattr(value, "plans", None))


def _guess_module(given: str) -> str | None:
    """Return the module of a file: myapp.schema for ./myapp/schema.py."""
    parts = Path(given.removesuffix(".py")).parts
    return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else None


def _explain_missing(name: str, missing: str, here: str) -> str:
    if name == missing or name.startswith(f"{missing}."):
        first = name.partition(".")[0]
        if first != missing and Path(here, first).is_dir() and _is_elsewhere(first, here):
            return (
                f"There is no module {name}: {first} is a module of Python or of an installed package, which is found "
                f"before the directory {Path(here, first)}. Give the directory another name."
            )
        file = Path(here, f"{first}.py")
        remedy = f" A module is named without the ending of its file: {first}." if name == file.name else ""
        return f"There is no module {name}, neither in {here} nor where Python finds installed packages.{remedy}"
    return f"The module {name} does not import: it needs {missing}, which is not installed."


def _is_elsewhere(package: str, here: str) -> bool:
    """Return whether a package was imported from elsewhere than a directory."""
    imported = sys.modules.get(package)
    return imported is not None and Path(here, package) not in [
        Path(path) for path in getattr(imported, "__path__", ())
    ]


def _explain_failure(name: str, error: BaseException) -> str:
    last = extract_tb(error.__traceback__)[-1]
    filename, line = last.filename, last.lineno
    if isinstance(error, SyntaxError):
        filename, line = error.filename or filename, error.lineno
    text = (error.msg if isinstance(error, SyntaxError) else str(error)).partition("\n")[0]
    return f"The module {name} does not import: {type(error).__name__}: {text} ({Path(filename).name}, line {line})."
