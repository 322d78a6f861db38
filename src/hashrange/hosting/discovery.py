"""Finds systems: every installed distribution may register some in the entry-point group `hashrange.systems`.

An entry point `stock = "myapp.stock.system:SYSTEM"` registers the system `stock`; with `[stock]` behind it, its
libraries are those of the extra `stock` of its distribution. If there is a module `cli` beside the
module that it names, here `myapp.stock.cli`, its `app` has the commands `hashrange stock ...`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hashrange.core.errors import HashrangeError

if TYPE_CHECKING:
    from hashrange.hosting.system import System

GROUP = "hashrange.systems"
HOST_PATHS = frozenset({"health"})


class ExtraMissing(HashrangeError):
    """A library that hosting or a system needs is not installed."""


class SystemUnknown(HashrangeError):
    """No system of this name is registered."""


class SystemInvalid(HashrangeError):
    """An entry point that does not lead to a system."""


def find_entry_points() -> dict[str, EntryPoint]:
    """Return the registered systems by name, without importing them; refuse a name that two packages register."""
    return {name: choose_entry_point(name, registered) for name, registered in group_entry_points().items()}


def group_entry_points() -> dict[str, list[EntryPoint]]:
    """Return what is registered under each name: one entry point, unless two packages chose the same name."""
    found: dict[str, list[EntryPoint]] = {}
    for each in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        found.setdefault(each.name, []).append(each)
    return found


def choose_entry_point(name: str, registered: list[EntryPoint]) -> EntryPoint:
    """Return the entry point of a name; refuse a name that two packages register."""
    first = registered[0]
    other = next((each for each in registered if each.value != first.value), None)
    if other is not None:
        raise SystemInvalid(
            f"Two packages register a system {name}: {_name_owner(first)} and {_name_owner(other)}. "
            "Uninstall one of them."
        )
    return first


def find_systems(only: Collection[str] = (), warn: Callable[[str], None] | None = None) -> list[System]:
    """Import and return the registered systems, or only those with these names.

    With `warn`, a system that cannot be imported and was not asked for by its name is reported and left out.
    """
    registered = find_entry_points()
    if unknown := sorted(set(only) - registered.keys()):
        known = ", ".join(registered) or "none"
        raise SystemUnknown(
            f"There is no system {' or '.join(unknown)}. Installed systems: {known}. "
            "A module that is not installed is hosted with --app MODULE."
        )
    found = []
    for name, each in registered.items():
        if only and name not in only:
            continue
        try:
            found.append(load_system(each))
        except HashrangeError as error:
            if only or warn is None:
                raise
            warn(f"{str(error).removesuffix('.')}. The system {name} is not hosted.")
    return found


def load_system(entry: EntryPoint) -> System:
    """Import a registered system."""
    from hashrange.hosting.system import System

    try:
        found: Any = load_module(entry.module, name_remedy(entry))
    except HashrangeError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the module's own code raises
        raise SystemInvalid(f"{_describe(entry)} cannot be imported: {type(error).__name__}: {error}.") from error
    for name in filter(None, entry.attr.split(".")):
        found = getattr(found, name, None)
    if not isinstance(found, System):
        raise SystemInvalid(f"{_describe(entry)} is not a hashrange.System.")
    check_name(found)
    if found.name != entry.name:
        raise SystemInvalid(f"{_describe(entry)} has the name {found.name!r}: register it under that name.")
    return found


def check_name(system: System) -> None:
    """Raise when a system's pages would have an address of the host's own pages."""
    if system.name in HOST_PATHS:
        raise SystemInvalid(f"A system cannot be called {system.name}: /{system.name} is a page of the host.")


def find_commands(entry: EntryPoint) -> str | None:
    """Return the name of the module with the commands of a system, if it has one."""
    package = entry.module.rpartition(".")[0]
    module = f"{package}.cli"
    return module if package and find_spec(module) else None


def find_summary(entry: EntryPoint) -> str:
    """Return the first line of the docstring of a system's package, without importing more than the package."""
    package = entry.module.rpartition(".")[0]
    return (import_module(package).__doc__ or "").strip().partition("\n")[0]


def load_module(name: str, remedy: str) -> ModuleType:
    """Import a module; when it needs a library that is not installed, raise an error with the remedy."""
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        library = str(missing.name).partition(".")[0]
        if library == name.partition(".")[0]:
            raise
        raise ExtraMissing(f"{library} is not installed: {remedy}") from missing


def name_remedy(entry: EntryPoint) -> str:
    """Return the command that installs what a system needs: its extra, if the entry point names one."""
    if entry.extras:
        return f"pip install '{_name_owner(entry)}[{','.join(entry.extras)}]'"
    return f"pip install --upgrade {_name_owner(entry)}"


def _describe(entry: EntryPoint) -> str:
    return f"{entry.value}, registered by {_name_owner(entry)} as the system {entry.name},"


def _name_owner(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown package"
