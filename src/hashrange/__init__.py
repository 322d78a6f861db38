"""hashrange: DynamoDB systems in Python: a design, declared once, that runs embedded, over the wire and on AWS.

    from typing import Protocol
    import hashrange
    from hashrange import Get, Item, Patterns, Table

    class Shop(Item, table=Table("shops", "pk", "sk"), pk="SHOP#{domain}", sk="META#"):
        domain: str
        name: str

    class Shops(Patterns, Protocol):
        def shop(self, domain: str) -> Get[Shop]: ...

    db = Shops.open(hashrange.open("data/"))        # or hashrange.connect("http://127.0.0.1:8000"), hashrange.connect()

The public names are listed in `__init__.pyi`. Each is imported when it is first used, so that `import hashrange` costs
nothing.
"""

from __future__ import annotations

__version__ = "0.4.0.dev0"

_NOT_IN_ALL = {"open", "Change"}  # a built-in that `*` must not replace, and a former name
_names: dict[str, tuple[str, str]] = {}  # public name -> its module, and what it is called there


def __getattr__(name: str) -> object:
    names = _names or _read_public_names()
    if name == "__all__":
        return [public for public in names if public not in _NOT_IN_ALL]
    if name not in names:
        raise AttributeError(f"module 'hashrange' has no attribute {name!r}")
    from importlib import import_module

    module, original = names[name]
    return getattr(import_module(module), original)


def __dir__() -> list[str]:
    return sorted({*globals(), *_read_public_names()})


def _read_public_names() -> dict[str, tuple[str, str]]:
    """Read `_names` from the stub of this package."""
    public: dict[str, tuple[str, str]] = {}
    imported: dict[str, tuple[str, str]] = {}
    stub = __loader__.get_data(f"{__path__[0]}/__init__.pyi").decode()
    for line in stub.splitlines():
        match line.partition("#")[0].split():
            case ["from", module, "import", name, "as", _]:
                public[name] = imported[name] = module, name
            case ["from", module, "import", name]:
                imported[name] = module, name
            case [alias, "=", name]:
                public[alias] = imported[name]
    _names.update(public)  # at once, for other threads
    return public
