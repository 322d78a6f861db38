"""How results are shown: Markdown tables, ratios with their spread, and the same as JSON."""

import os
import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Ours against another, one value per round: neighbours in time saw the same noise."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The ratio to quote."""
        return statistics.median(self.values)

    def __str__(self) -> str:
        low, high = min(self.values), max(self.values)
        spread = f" ({low:.2f}-{high:.2f})" if len(self.values) > 1 else ""
        return f"{self.median:.2f}x{spread}"


def pair(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Ours divided by theirs, round by round."""
    return Ratio(values=tuple(one / other for one, other in zip(ours, theirs, strict=True)))


def render_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns line up; the first is text, the others are numbers."""
    widths = [max(len(line[at]) for line in [header, *lines]) for at in range(len(header))]

    def render(line: Sequence[str]) -> str:
        numbers = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        return f"| {' | '.join([line[0].ljust(widths[0]), *numbers])} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([render(header), render(rule), *map(render, lines)])


def compare_at_least(ratio: Ratio, goal: float) -> str:
    """Return whether a ratio that should be high reaches its goal."""
    return f"{goal:g}x {'reached' if ratio.median >= goal else 'MISSED'}"


def compare_at_most(ratio: Ratio, goal: float) -> str:
    """Return whether a ratio that should be low stays within its goal."""
    return f"<= {goal:g}x {'reached' if ratio.median <= goal else 'MISSED'}"


def describe_machine() -> str:
    """One line that says on what, and beside how much other work, this was measured."""
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{system}, Python {platform.python_version()}, load average {load} (only ratios within one run count)"


def note(sentence: str) -> None:
    """Prints progress, apart from the results."""
    print(f"  {sentence}", file=sys.stderr, flush=True)


def warn(sentence: str) -> None:
    """Prints, among the results, what is missing from them."""
    print(f"! {sentence}", flush=True)
