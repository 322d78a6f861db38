"""The type of JSON objects as they cross a boundary: requests, responses, and what is stored of them."""

from __future__ import annotations

from typing import Any

Wire = dict[str, Any]
