"""The folder of a connection, and which process records its history there.

One process at a time records; others read its history, and one of them takes over when it ends.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.clock import wall_clock_ms
from broker_core.engine.store.ownership import StoreOwnership
from broker_core.engine.store.paths import StorePaths
from broker_core.errors import OrbitError, StoreError, StoreLockedError
from broker_core.worker.history import OPEN_DELAY_SECONDS, HistoryService, LateHistory, OpenHistory

if TYPE_CHECKING:
    from broker_core.worker.history import HistoryAnswer, HistoryQuery
    from broker_core.worker.questions.figures import Catalog, HistorySample

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often to try whether the other process has ended; the history has a gap of up to this length."""
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


class Succession:
    """The history that another process records in a folder; once that one has ended, this one records it.

    A `broker_core.worker.history.HistoryService`, which passes everything on: to the guest first, then to the successor.
    ``take_over`` begins to record here, on a thread; None while the other process holds the folder. ``taken_over`` is called
    once after it, on that thread.
    """

    def __init__(
        self,
        guest: HistoryService,
        take_over: Callable[[], Recording | None],
        *,
        taken_over: Callable[[], None],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._keeper = guest
        self._take_over = take_over
        self._taken_over = taken_over
        self._look_seconds = look_seconds
        self._successor: Recording | None = None
        self._catalog: Catalog | None = None
        self._lock = threading.Lock()
        """Of the three above."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="await-recording", daemon=True)
        self._thread.start()

    def take(self, sample: HistorySample) -> None:
        """Take in a sample; the successor's first one gets the catalog that the guest had no use for."""
        with self._lock:
            if sample.catalog is None and self._catalog is not None and self._successor is not None:
                sample = replace(sample, catalog=self._catalog)
            self._catalog = (sample.catalog or self._catalog) if self._successor is None else None
            self._keeper.take(sample)

    def answer(self, query: HistoryQuery) -> HistoryAnswer:
        keeper = self._keeper
        try:
            return keeper.answer(query)
        except OrbitError:
            if keeper is self._keeper:
                raise
        # The guest was closed meanwhile, because the successor has replaced it.
        return self._keeper.answer(query)

    def close(self) -> None:
        """Wait no longer, and write everything down; may block for seconds."""
        self._ended.set()
        self._thread.join()
        if self._successor is not None:
            self._successor.close()
        else:
            self._keeper.close()

    def _wait(self) -> None:
        while not self._ended.wait(self._look_seconds):
            try:
                successor = self._take_over()
            except OrbitError as error:
                logger.error("the history of this connection is not recorded any more: %s", error)
                return
            if successor is not None and successor.history is not None:
                self._begin(successor, successor.history)
                return

    def _begin(self, successor: Recording, history: HistoryService) -> None:
        with self._lock:
            guest, self._keeper, self._successor = self._keeper, history, successor
        logger.info("the process that recorded this connection has ended; it is recorded here from now on")
        self._taken_over()
        guest.close()
