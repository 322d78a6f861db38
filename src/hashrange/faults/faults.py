"""Faults that are injected on purpose, to test retries: declared in Python, or read from a text (`fault_parser`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import fields
from random import Random
from threading import Lock
from typing import Self, TypedDict, Unpack

from hashrange.core.errors import ServiceError
from hashrange.core.wire import Wire
from hashrange.engine import shape
from hashrange.engine.engine import Engine
from hashrange.engine.operation import Operation
from hashrange.faults import injected_error
from hashrange.faults.fault_effect import (
    EFFECTS,
    ConflictEffect,
    DelayEffect,
    Effect,
    FailEffect,
    ThrottleEffect,
    UnprocessedEffect,
)
from hashrange.faults.fault_parser import EXAMPLE, FaultStatement, parse_statements
from hashrange.faults.injected_fault import ANY, InjectedFault

logger = logging.getLogger("hashrange")
SEED = "seed"
VERBS = (*EFFECTS, SEED)


class When(TypedDict, total=False):
    """Which calls of an operation a fault applies; by default all."""

    table: str  # only those on this table
    times: int  # at most so many
    every: int  # 10 is every tenth
    chance: float  # the probability, drawn from the seed


class Faults:
    """Injected faults: `hashrange.open(faults=faults)`. They may be added and cleared at any time.

    A call is applied by the first fault whose turn it is; delays come on top. The same seed and the same calls give the
    same applies. An invalid request is refused as usual, and uses no apply up.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed
        self._made = 0
        self._faults: list[InjectedFault] = []
        self._lock = Lock()

    def throttle(
        self, operation: str = ANY, *, error: str = injected_error.PROVISIONED, **when: Unpack[When]
    ) -> InjectedFault:
        """Throttle calls; nothing is done."""
        return self._add(ThrottleEffect(error), operation, when)

    def fail(
        self, operation: str = ANY, *, error: str = injected_error.INTERNAL, after: bool = False, **when: Unpack[When]
    ) -> InjectedFault:
        """Let calls fail: before anything is done or, with `after`, when all is done and only the response is lost."""
        return self._add(FailEffect(error, after), operation, when)

    def conflict(self, operation: str = ANY, *, at: int = 0, **when: Unpack[When]) -> InjectedFault:
        """Let transactions conflict with another one on item number `at`, and single writes on their item."""
        return self._add(ConflictEffect(at), operation, when)

    def unprocessed(self, operation: str = ANY, *, last: int = 1, **when: Unpack[When]) -> InjectedFault:
        """Let batches leave their last entries unprocessed."""
        return self._add(UnprocessedEffect(last), operation, when)

    def delay(self, operation: str = ANY, *, seconds: float, **when: Unpack[When]) -> InjectedFault:
        """Delay calls."""
        return self._add(DelayEffect(seconds), operation, when)

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the faults in a text, as `throttle PutItem table=orders times=3; seed 7`."""
        statements = list(parse_statements(text))
        seeds = [_read_seed(statement) for statement in statements if statement.verb == SEED]
        faults = cls(seed=seeds[-1] if seeds else 0)
        for statement in statements:
            if statement.verb != SEED:
                faults._add_statement(statement)
        return faults

    def _add_statement(self, statement: FaultStatement) -> None:
        effect_class = EFFECTS.get(statement.verb)
        if effect_class is None:
            raise ValueError(f"{statement.text!r} is none of {', '.join(VERBS)}; write it like {EXAMPLE!r}")
        names = {each.name for each in fields(effect_class)}
        chosen = {name: value for name, value in statement.options.items() if name in names}
        when = {name: value for name, value in statement.options.items() if name not in names}
        unknown = when.keys() - When.__annotations__.keys()
        if unknown:
            raise ValueError(f"{statement.text!r}: {statement.verb} has no {', '.join(sorted(unknown))}")
        try:
            self._add(effect_class(**chosen), statement.operation, When(**when))  # type: ignore[typeddict-item]
        except ValueError as problem:
            raise ValueError(f"{statement.text!r}: {problem}") from None

    def _add(self, effect: Effect | DelayEffect, operation: str, when: When) -> InjectedFault:
        random = Random(f"{self._seed}/{self._made}")  # noqa: S311 one per fault, so that they are independent
        fault = InjectedFault(effect=effect, operation=operation, random=random, **when)
        self._made += 1
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    def __iter__(self) -> Iterator[InjectedFault]:
        return iter(list(self._faults))

    def __str__(self) -> str:
        return "; ".join(map(str, self))

    # -- what the engine calls -----------------------------------------------------------------------------------------

    def perform(self, engine: Engine, operation: Operation, request: Wire) -> bytes:
        """Run one request inside the engine's group, or apply the fault that applies it."""
        if not shape.accept(operation.name, request):
            request = shape.convert(operation.name, request, operation.violations)
        chosen = self.choose(operation, request)
        if chosen is None:
            return engine.perform(operation, request, inject=False)
        fault, effect = chosen
        try:
            outcome = effect.apply(engine, operation, request)
        except ServiceError:  # an invalid request uses no apply up
            fault.applied -= 1
            raise
        logger.info("Fault injected into %s: %s", operation.name, fault)
        if isinstance(outcome, ServiceError):
            raise outcome
        return outcome

    def choose(self, operation: Operation, request: Wire) -> tuple[InjectedFault, Effect] | None:
        """Return the fault that applies a call, if any, and its effect."""
        with self._lock:
            for fault in self:
                effect = fault.effect
                if not isinstance(effect, DelayEffect) and fault.concerns(operation, request) and fault.is_due():
                    return fault, effect
        return None

    def take_delay(self, operation: Operation, request: Wire) -> float:
        """Return how many seconds longer a call takes."""
        seconds = 0.0
        with self._lock:
            for fault in self:
                if isinstance(fault.effect, DelayEffect) and fault.concerns(operation, request) and fault.is_due():
                    seconds += fault.effect.seconds
        return seconds


def _read_seed(statement: FaultStatement) -> int:
    try:
        return int(statement.operation)
    except ValueError:
        raise ValueError(f"{statement.text!r}: a seed is a whole number, as in 'seed 7'") from None
