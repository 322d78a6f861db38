"""The type of JSON objects: requests, responses, and definitions as stored."""

from __future__ import annotations

from typing import Any

Wire = dict[str, Any]
