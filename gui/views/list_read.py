"""`ListRead`: whether a list that a page shows was read, when, and why not where the newest read failed.

Rows of a list whose read failed are not known: `ListRead.show_in` takes them out of the table, so that no filter, tab or
selection brings them back, and says the reason and the age in their place.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from broker_core.api import OrbitError
from gui.broker_words import broker_text
from gui.text import TimeZoneChoice, tr
from gui.widgets.data_grid import DataGrid


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class ListRead:
    """What became of the reads of one list. A page with several lists in one table keeps one for each.

    Args:
        times: How moments are shown.
        now_ms: The time of now.
    """

    def __init__(self, times: TimeZoneChoice, now_ms: Callable[[], int] = _wall_ms) -> None:
        self._times = times
        self._now_ms = now_ms
        self._read_ms = self._failed_ms = -1
        self._reason = ""

    @property
    def is_failed(self) -> bool:
        """Whether the newest read failed: the rows are not known."""
        return self._failed_ms >= 0

    @property
    def reason(self) -> str:
        """Why it failed, when that was and when the list was read last; empty where it did not fail."""
        if not self.is_failed:
            return ""
        times = tr("Failed at {time}; never read before.", time=self._times.seconds(self._failed_ms))
        if self._read_ms >= 0:
            times = tr(
                "Failed at {time}; last read at {before}.",
                time=self._times.seconds(self._failed_ms),
                before=self._times.seconds(self._read_ms),
            )
        return f"{broker_text(self._reason)}\n{times}"

    def begin(self) -> None:
        """Another list is asked for: nothing is known of it."""
        self._read_ms = self._failed_ms = -1

    def answered(self) -> None:
        """The list was read."""
        self._read_ms, self._failed_ms = self._now_ms(), -1

    def refused(self, error: OrbitError) -> None:
        """The list was not read."""
        self._failed_ms, self._reason = self._now_ms(), broker_text(error.message)

    def show_in(self, grid: DataGrid[Any], title: str, again: Callable[[], None]) -> None:
        """Show in a table that the list is on its way, or was not read; nothing where the rows are known.

        Args:
            grid: The table of the list.
            title: Says that it was not read.
            again: Reads it once more.
        """
        grid.set_loading(self._read_ms < 0 and not self.is_failed)
        grid.read_ms = self._read_ms
        if self.is_failed:
            grid.model.set_rows([])
            grid.set_error(title, self.reason, tr("Retry"), again)
        else:
            grid.set_error("")
