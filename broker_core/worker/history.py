"""What the worker needs of a history, and who gets which figures when.

The history itself is `monitoring.history.keeper`; the composition root hands it in, as monitoring is built on this package.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from broker_core.ipc.schema import (
    Catalog,
    EventPage,
    HistoryLines,
    HistorySample,
    Occurred,
    Ownership,
    ReadEvents,
    ReadHistory,
    ReadOwnership,
    Snapshot,
    WorkerMessage,
)

SAMPLE_MS = 1_000
EVENTS_MAX = 1_000
"""Events kept for a window that does not read; older ones are in the history."""


HistoryQuery = ReadHistory | ReadEvents | ReadOwnership
HistoryAnswer = HistoryLines | EventPage | Ownership


class HistoryKeeper(Protocol):
    """Records samples and answers questions about them."""

    def take(self, sample: HistorySample) -> None:
        """Take in a sample; never waits."""

    def answer(self, query: HistoryQuery) -> HistoryAnswer:
        """Answer a question; may block, so not on the loop."""

    def close(self) -> None:
        """Write everything down; may block for seconds."""


OpenHistory = Callable[[Path], HistoryKeeper]
"""Opens the history of the store in a directory."""


class Figures(Protocol):
    """Where figures come from: `broker_core.worker.sampler.Sampler`."""

    def catalog(self) -> Catalog | None: ...

    def snapshot(self) -> Snapshot: ...

    def events(self) -> list[Occurred]: ...


class FigureFeed:
    """Passes figures to the window when it has taken the ones before, and to the history once a second in any case.

    Args:
        figures: Where they come from.
        send: To the window.
        history: Where they are recorded; None: nowhere.
        clock: ms since the epoch.
    """

    def __init__(
        self,
        figures: Figures,
        *,
        send: Callable[[WorkerMessage], None],
        history: HistoryKeeper | None,
        clock: Callable[[], int],
    ) -> None:
        self._figures = figures
        self._send = send
        self._history = history
        self._clock = clock
        self._recorded = -1
        self._untold: Catalog | None = None
        self._unrecorded: Catalog | None = None
        self._untold_events: deque[Occurred] = deque(maxlen=EVENTS_MAX)
        self._unrecorded_events: deque[Occurred] = deque(maxlen=EVENTS_MAX)

    def pass_on(self, *, window_reads: bool) -> bool:
        """Sample once, if somebody wants it; returns whether it did."""
        second = self._clock() // SAMPLE_MS
        record = self._history is not None and second != self._recorded
        if not window_reads and not record:
            return False
        catalog = self._figures.catalog()
        if catalog is not None:
            self._untold = self._unrecorded = catalog
        snapshot = self._figures.snapshot()
        events = self._figures.events()
        self._untold_events += events
        self._unrecorded_events += events
        if window_reads:
            self._tell(snapshot)
        if record:
            self._recorded = second
            self._record(snapshot)
        return True

    def _tell(self, snapshot: Snapshot) -> None:
        if self._untold is not None:
            self._send(self._untold)
            self._untold = None
        self._send(snapshot)
        while self._untold_events:
            self._send(self._untold_events.popleft())

    def _record(self, snapshot: Snapshot) -> None:
        assert self._history is not None
        self._history.take(HistorySample(self._unrecorded, snapshot, list(self._unrecorded_events)))
        self._unrecorded = None
        self._unrecorded_events.clear()
