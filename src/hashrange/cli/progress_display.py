"""Progress bars of the commands: shown while their block runs, and gone afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

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
