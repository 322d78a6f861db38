"""The operations: one file each, found by walking this folder; nothing else lists them.

A file is imported when its operation is first used, so that programs and servers start without importing all of them.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from hashrange.core.errors import TooManyFiles
from hashrange.engine.data_directory import NO_DESCRIPTORS
from hashrange.engine.operation import Operation, name_operation


class Operations(Mapping[str, Operation]):
    """Every operation in this folder by its DynamoDB name."""

    def __init__(self) -> None:
        self._modules = {name_operation(module.name): module.name for module in iter_modules(__path__)}
        self._loaded: dict[str, Operation] = {}

    def __getitem__(self, name: str) -> Operation:
        operation = self._loaded.get(name)
        if operation is None:
            operation = self._loaded[name] = self._import(name)
        return operation

    def _import(self, name: str) -> Operation:
        module = self._modules[name]
        try:
            imported: Operation = getattr(import_module(f"{__name__}.{module}"), module)
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENFILE}:
                raise
            raise TooManyFiles(NO_DESCRIPTORS.format(f"the code of {name}")) from error
        return imported

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules


OPERATIONS = Operations()
