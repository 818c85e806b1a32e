"""The folder of a connection, and which process records its history there.

One process at a time records; others read its history, and one of them takes over when it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from broker_core.clock import wall_clock_ms
from broker_core.engine.store.ownership import StoreOwnership
from broker_core.engine.store.paths import StorePaths
from broker_core.errors import StoreError, StoreLockedError
from broker_core.worker.attached.recording_takeover import Succession
from broker_core.worker.history import OPEN_DELAY_SECONDS, HistoryService, LateHistory, OpenHistory

TAKEN_OVER = "The process that recorded this connection has ended: its history and its alert rules go on here"


@dataclass(frozen=True, slots=True)
class Recording:
    """A history that is being recorded, or why none is."""

    history: HistoryService | None = None
    notice: str = ""
    ownership: StoreOwnership | None = None

    def close(self) -> None:
        """Write everything down; may block for seconds."""
        if self.history is not None:
            self.history.close()
        if self.ownership is not None:
            self.ownership.release()


def open_recording(
    folder: Path,
    open_history: OpenHistory | None,
    *,
    cluster: str = "",
    open_as_guest: OpenHistory | None = None,
    taken_over: Callable[[], None] = lambda: None,
) -> Recording:
    """Begin to record in a folder; where that is not possible, a notice says why.

    Args:
        folder: Created where it is missing.
        open_history: Opens the history there; None: none is kept.
        cluster: The name of the recorded cluster.
        open_as_guest: Opens the history that another process records there, until that one ends; None: keep none then.
        taken_over: Called on a thread when the other process has ended and this one records.
    """
    if open_history is None:
        return Recording()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return Recording(notice=f"No history is kept: {folder} cannot be made ({error.strerror})")
    try:
        owned = _own(folder, open_history, cluster)
    except StoreError as error:
        return Recording(notice=f"No history is kept: {error.message}")
    if owned is not None:
        return owned
    if open_as_guest is None:
        return Recording(notice="No history is kept here: another Orbit process records this connection already")
    guest = LateHistory(open_as_guest, folder, started_ms=wall_clock_ms(), cluster=cluster)
    take_over = partial(_own, folder, open_history, cluster, delay_seconds=0.0)
    history = Succession(guest, take_over, taken_over=taken_over)
    return Recording(history, "Another Orbit process records this connection: its history is shown, up to its last minute")


def _own(
    folder: Path, open_history: OpenHistory, cluster: str, *, delay_seconds: float = OPEN_DELAY_SECONDS
) -> Recording | None:
    """Begin to record; None while another process does. Raises `StoreError` where the lock cannot be taken."""
    try:
        ownership = StoreOwnership(StorePaths(folder))
    except StoreLockedError:
        return None
    started_ms = wall_clock_ms()
    opened = partial(open_history, of_connection=True)
    history = LateHistory(opened, folder, started_ms=started_ms, cluster=cluster, delay_seconds=delay_seconds)
    return Recording(history, "", ownership)
