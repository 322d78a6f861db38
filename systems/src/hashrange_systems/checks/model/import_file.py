"""Reads a file of another monitor, whichever it is: the function that runs in the sandbox."""

from __future__ import annotations

from hashrange_systems.checks.model.gatus_import import read_gatus
from hashrange_systems.checks.model.imported_check import ImportedFile
from hashrange_systems.checks.model.kuma_import import read_kuma

MAX_IMPORT_BYTES = 900_000
MAX_IMPORTED_CHECKS = 1000


def read_import_file(content: bytes) -> ImportedFile:
    """Return the checks of a backup of Uptime Kuma or a configuration of Gatus."""
    if len(content) > MAX_IMPORT_BYTES:
        return ImportedFile(error=f"The file is longer than {MAX_IMPORT_BYTES} bytes.")
    read = read_kuma if content.lstrip()[:1] == b"{" else read_gatus
    return read(content, MAX_IMPORTED_CHECKS)
