"""Finds the systems by walking a package: a subpackage with a module `system` is one, and one with `cli` has commands.

Deleting the folder removes the system. Until it is asked to load, nothing but the subpackages themselves is imported.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Collection
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from hashrange.core.errors import HashrangeError

if TYPE_CHECKING:
    from hashrange.hosting.system import System

PACKAGE = "hashrange_systems"


class ExtraMissing(HashrangeError):
    """A library that the systems need is not installed."""


class SystemUnknown(HashrangeError):
    """There is no such system, or no such package of systems."""


class SystemMismatched(HashrangeError):
    """A folder that looks like a system and is none."""


def find_names(package: str = PACKAGE, module: str = "system") -> list[str]:
    """Return the names of the subpackages that have this module."""
    folder = load_module(package)
    found = pkgutil.iter_modules(getattr(folder, "__path__", []))
    return [name for _, name, is_package in found if is_package and find_spec(f"{package}.{name}.{module}")]


def find_systems(package: str = PACKAGE, only: Collection[str] = ()) -> list[System]:
    """Return the systems in this package, or only those with these names."""
    names = find_names(package)
    if unknown := sorted(set(only) - set(names)):
        known = ", ".join(names) or "none"
        raise SystemUnknown(f"There is no system {' or '.join(unknown)} in {package}; there is: {known}.")
    return [_load(package, name) for name in names if not only or name in only]


def find_summary(package: str, name: str) -> str:
    """Return the first line of what a system's folder says of itself, without importing more than that."""
    return (load_module(f"{package}.{name}").__doc__ or "").strip().partition("\n")[0]


def load_module(name: str) -> ModuleType:
    """Import a module of a system; say what to install when a library is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        wanted = str(missing.name)
        if name == wanted or name.startswith(f"{wanted}."):
            raise SystemUnknown(f"There is no package {wanted}; is it on PYTHONPATH?") from missing
        library = wanted.partition(".")[0]
        if library == name.partition(".")[0]:
            raise
        raise ExtraMissing(f"{library} is not installed: pip install 'hashrange[systems]'") from missing


def _load(package: str, name: str) -> System:
    system: System | None = getattr(load_module(f"{package}.{name}.system"), "SYSTEM", None)
    if system is None:
        raise SystemMismatched(f"{package}.{name}.system has no SYSTEM")
    if system.name != name:
        raise SystemMismatched(f"{package}.{name}.system calls itself {system.name!r}: a system is named by its folder")
    return system
