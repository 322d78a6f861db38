"""The type of requests, and of items as they are stored, for what reads and writes them as they are."""

from typing import Any

Wire = dict[str, Any]
