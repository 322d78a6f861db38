"""Progress bars of the commands: shown while their block runs, and gone afterwards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

import typer

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, TaskID


class ProgressDisplay:
    """A progress bar with the given columns."""

    def __init__(self, *columns: ProgressColumn, quiet: bool = False) -> None:
        from rich import get_console
        from rich.progress import Progress

        # Without a terminal, rich would print an empty line in place of the bar.
        self.bar = Progress(*columns, disable=quiet or not get_console().is_interactive, transient=True)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()


class CountDisplay(ProgressDisplay):
    """Counts items, with a bar for each title."""

    def __init__(self, title: str = "", *, quiet: bool = False) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        super().__init__(*columns, quiet=quiet)
        self._title = title
        self._tasks: dict[str, TaskID] = {}

    def update(self, done: int, total: int, title: str = "") -> None:
        """Show how many items of how many are done."""
        name = title or self._title
        if name not in self._tasks:
            self._tasks[name] = self.bar.add_task(name, total=None)
        self.bar.update(self._tasks[name], completed=done, total=max(done, total) or None)


class PreparationDisplay:
    """Shows how far systems are with their data: bars in a terminal, elsewhere a line now and then."""

    LINE_EVERY = 5.0  # seconds

    def __init__(self) -> None:
        self._display: CountDisplay | None = None
        self._lines: dict[str, str] = {}  # by title, those that were not printed yet
        self._printed_at = float("-inf")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self, system: str, what: str, done: int, total: int) -> None:
        """Show how many items of how many a system has prepared."""
        title = f"{system}: {what}"
        self._lines[title] = f"{title}: {done:,} of {max(done, total):,} items"
        if self._display is None:
            self._display = CountDisplay()
            self._display.__enter__()
        self._display.update(done, total, title)
        if self._display.bar.disable and time.monotonic() - self._printed_at >= self.LINE_EVERY:
            self._print()

    def close(self) -> None:
        """Take the bars away, and print the last counts."""
        if self._display is not None:
            self._display.__exit__()
            self._display = None
        self._print()

    def _print(self) -> None:
        self._printed_at = time.monotonic()
        for line in self._lines.values():
            typer.echo(line)
        self._lines.clear()
