"""`Succession`: a guest beside a process that records takes over when that one ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from broker_core.errors import OrbitError

if TYPE_CHECKING:
    from broker_core.worker.history import HistoryAnswer, HistoryQuery, HistoryService
    from broker_core.worker.questions.figures import Catalog, HistorySample

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often to try whether the other process has ended; the history has a gap of up to this length."""


class Successor(Protocol):
    """What was begun: `broker_core.worker.attached.recording.Recording`."""

    @property
    def history(self) -> HistoryService | None: ...

    def close(self) -> None: ...


class Succession:
    """The history that another process records in a folder; once that one has ended, this one records it.

    A `broker_core.worker.history.HistoryService`, which passes everything on: to the guest first, then to the successor.
    ``take_over`` begins to record here, on a thread; None while the other process holds the folder. ``taken_over`` is called
    once after it, on that thread.
    """

    def __init__(
        self,
        guest: HistoryService,
        take_over: Callable[[], Successor | None],
        *,
        taken_over: Callable[[], None],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._keeper = guest
        self._take_over = take_over
        self._taken_over = taken_over
        self._look_seconds = look_seconds
        self._successor: Successor | None = None
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
        """As `HistoryService.answer`."""
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

    def _begin(self, successor: Successor, history: HistoryService) -> None:
        with self._lock:
            guest, self._keeper, self._successor = self._keeper, history, successor
        logger.info("the process that recorded this connection has ended; it is recorded here from now on")
        self._taken_over()
        guest.close()
