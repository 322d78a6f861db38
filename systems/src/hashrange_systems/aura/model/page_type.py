"""The types of pages and the states of products."""

from typing import Literal

PageType = Literal["product", "category", "listing", "other"]
ProductState = Literal["AVAILABLE", "SOLD", "LISTED", "RESERVED", "REMOVED", "UNKNOWN"]
