"""What a plan consists of: differences between a declared and an existing table, and the steps that remove them."""

from __future__ import annotations

from msgspec import Struct

from hashrange.core.wire import Wire


class PlanStep(Struct, frozen=True, kw_only=True):
    """One request that brings an existing table closer to its declaration; without an operation, only a wait."""

    table: str
    action: str  # for people: create index ByUser (user, placed), projecting ALL
    operation: str = ""
    request: Wire = {}
    loses: str = ""  # what is lost by it; a step that loses something is applied only when asked for
    index: str = ""  # the index that it creates
    needs_backfill: bool = False  # the index lacks the items that exist, until `backfill` writes their keys


class Difference(Struct, frozen=True, kw_only=True):
    """One thing that is declared otherwise than it exists."""

    table: str
    subject: str
    declared: str
    live: str
    steps: tuple[PlanStep, ...] = ()
    obstacle: str = ""  # why no step can remove it, and what to do instead
