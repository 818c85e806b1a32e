"""`ListRead`: whether and when a list was read, and why its newest read failed.

`say_not_read` reports the same for other content. After a failed read `ListRead.show_in` removes the rows from the table,
so that no filter, tab or selection shows them, and shows the reason and the age instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from broker_core.api import OrbitError, UsageError
from gui.theme.tokens import State
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import Notice
from gui.words.error_words import error_text
from gui.words.text import TimeZoneChoice, Words, tr


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class ListRead:
    """The state of the reads of one list. A page with several lists in one table keeps one for each."""

    def __init__(self, times: TimeZoneChoice, now_ms: Callable[[], int] = _wall_ms) -> None:
        self._times = times
        self._now_ms = now_ms
        self._read_ms = self._failed_ms = -1
        self._error: OrbitError | None = None
        self.places: list[tuple[DataGrid[Any], Words, Callable[[], None]]] = []
        """Arguments of `show_in` for the tables that show every result."""

    @property
    def is_failed(self) -> bool:
        """Whether the newest read failed."""
        return self._error is not None

    @property
    def time_text(self) -> str:
        """When the list was read last; empty where it was not read yet."""
        return self._times.seconds(self._read_ms) if self._read_ms >= 0 else ""

    @property
    def is_unsupported(self) -> bool:
        """Whether the source does not support the request, so that a retry cannot help."""
        return isinstance(self._error, UsageError)

    @property
    def reason(self) -> str:
        """Why it failed, when, and when the list was read last; empty where it did not fail."""
        if self._error is None:
            return ""
        if self.is_unsupported:
            return error_text(self._error)
        times = tr("Failed at {time}; never read before.", time=self._times.seconds(self._failed_ms))
        if self._read_ms >= 0:
            times = tr(
                "Failed at {time}; last read at {before}.",
                time=self._times.seconds(self._failed_ms),
                before=self._times.seconds(self._read_ms),
            )
        return f"{error_text(self._error)}\n{times}"

    def begin(self) -> None:
        """Another list is requested: nothing is known of it."""
        self._read_ms, self._error = -1, None

    def answered(self) -> None:
        """The list was read."""
        self._read_ms, self._error = self._now_ms(), None
        self.show()

    def refused(self, error: OrbitError) -> None:
        """The list was not read."""
        self._failed_ms, self._error = self._now_ms(), error
        self.show()

    def show(self) -> None:
        """Show the state in the tables of `shown_read`."""
        for place in self.places:
            self.show_in(*place)

    def show_in(self, grid: DataGrid[Any], title: Words, again: Callable[[], None]) -> None:
        """Show in a table that the list is being read or was not read; nothing where the rows are known."""
        grid.set_loading(self._read_ms < 0 and not self.is_failed)
        grid.read_ms = self._read_ms
        if self.is_failed:
            grid.model.set_rows([])
            if self.is_unsupported:
                grid.set_unsupported(title, lambda: self.reason)
            else:
                grid.set_error(title, lambda: self.reason, lambda: tr("Retry"), again)
        else:
            grid.set_error("")


def shown_read(times: TimeZoneChoice, title: Words, again: Callable[[], None], *grids: DataGrid[Any]) -> ListRead:
    """A `ListRead` that shows every result in tables, as `ListRead.show_in` does; the title may be English."""
    made = ListRead(times)
    made.places = [(grid, partial(tr, title) if isinstance(title, str) else title, again) for grid in grids]
    return made


def say_not_read(notice: Notice, title: Words, error: Exception, again: Callable[[], None]) -> None:
    """Report a failed read of other content than a list, with a button that reads it again."""
    if isinstance(error, UsageError):  # see `ListRead.is_unsupported`
        notice.set(title, partial(error_text, error), State.INFO)
    else:
        notice.set(title, partial(error_text, error), State.CRITICAL, lambda: tr("Retry"), again)
