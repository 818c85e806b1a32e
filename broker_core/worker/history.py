"""What the worker needs of a history, and when window and history get which figures.

The composition root passes the history itself, `monitoring.history.keeper`, in, because monitoring is built on this package.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, get_args

from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig
from broker_core.errors import OrbitError, UsageError, WorkerError
from broker_core.worker.channel.schema import WorkerMessage
from broker_core.worker.handlers import Run
from broker_core.worker.questions.alerts import AlertPage, AlertQuery
from broker_core.worker.questions.figures import Catalog, HistorySample, Occurred, Snapshot, Subscriptions
from broker_core.worker.questions.history import EventPage, HistoryLines, Ownership, RecordQuery
from broker_core.worker.questions.letter_notes import LetterNotePage, NoteQuery
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler

if TYPE_CHECKING:
    from broker_core.engine.broker.embedded import EmbeddedBroker

logger = logging.getLogger(__name__)

SAMPLE_MS = 1_000
OPEN_DELAY_SECONDS = 1.0
"""The history opens after the first clients are served, because its imports take 0.3 s of a processor."""
UNOPENED_MAX = 60
"""Samples kept until the history is open."""
ANSWER_SECONDS = 5.0
LOOK_SECONDS = 0.2
SAMPLING_SHARE_MAX = 0.05
"""Largest share of the loop's time that sampling may take: with very many queues samples become rarer."""
EVENTS_MAX = 1_000
"""Events kept for a window that does not read; older ones are in the history."""


HistoryQuery = RecordQuery | AlertQuery | NoteQuery
"""The history judges alerts by its samples, and notes are a table of its database."""
HistoryAnswer = HistoryLines | EventPage | Ownership | AlertPage | LetterNotePage | Done


class HistoryService(Protocol):
    """Records samples and answers questions about them."""

    def take(self, sample: HistorySample) -> None:
        """Take in a sample; never waits."""

    def answer(self, query: HistoryQuery) -> HistoryAnswer:
        """Answer a question; may block, so not on the loop."""

    def close(self) -> None:
        """Write everything down; may block for seconds."""


def history_handlers(history: HistoryService | None, *, run: Run, missing: str) -> list[Handler]:
    """Handlers of everything that a history answers; without one ``missing`` is the reason."""

    async def answer(query: HistoryQuery) -> HistoryAnswer:
        if history is None:
            raise UsageError(missing)
        return await run(partial(history.answer, query))

    return [kind.answered_by(answer) for kind in get_args(HistoryQuery)]


class OpenHistory(Protocol):
    """Opens the history of the store in a directory, and its alerts."""

    def __call__(self, store: Path, started_ms: int, *, cluster: str = "", of_connection: bool = False) -> HistoryService:
        """Open it.

        Args:
            store: The directory.
            started_ms: Since when the broker runs, ms since the epoch.
            cluster: The name of the recorded cluster, for receivers of alerts.
            of_connection: The broker runs elsewhere: the start and end recorded here are those of a connection to it.
        """


class Figures(Protocol):
    """The source of figures: `broker_core.worker.embedded.sampler.Sampler`."""

    def catalog(self) -> Catalog | None: ...

    def snapshot(self) -> Snapshot: ...

    def events(self) -> list[Occurred]: ...

    def subscriptions(self) -> Subscriptions: ...


class FigureFeed:
    """Passes figures to the window when it has read the ones before, and to the history once a second in any case.

    ``history`` is None where none is kept.
    """

    def __init__(
        self,
        figures: Figures,
        *,
        send: Callable[[WorkerMessage], None],
        history: HistoryService | None,
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
        """Sample once, if window or history wants it; returns whether it did."""
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
        events = list(self._unrecorded_events)
        self._history.take(HistorySample(self._unrecorded, snapshot, events, self._figures.subscriptions()))
        self._unrecorded = None
        self._unrecorded_events.clear()


class LateHistory:
    """A history that opens after ``delay_seconds``, on a thread; it gets the samples taken before."""

    def __init__(
        self,
        open_history: OpenHistory,
        store: Path,
        *,
        started_ms: int,
        cluster: str = "",
        delay_seconds: float = OPEN_DELAY_SECONDS,
    ) -> None:
        self._open_history = open_history
        self._cluster = cluster
        self._store = store
        self._started_ms = started_ms
        self._delay_seconds = delay_seconds
        self._waiting: deque[HistorySample] = deque()
        self._hurried = threading.Event()
        self._settled = threading.Event()
        self._keeper: HistoryService | None = None
        self._refusal: OrbitError | None = None
        self._thread = threading.Thread(target=self._open, name="open-history", daemon=True)
        self._thread.start()

    def take(self, sample: HistorySample) -> None:
        """Take in a sample; never waits. To be called on one thread."""
        if len(self._waiting) == UNOPENED_MAX:
            # The oldest sample is left out, but not its catalog and its events.
            oldest, following = self._waiting.popleft(), self._waiting.popleft()
            events = [*oldest.events, *following.events][-EVENTS_MAX:]
            self._waiting.appendleft(replace(following, catalog=following.catalog or oldest.catalog, events=events))
        self._waiting.append(sample)
        if self._settled.is_set():
            self._pass_on()

    def answer(self, query: HistoryQuery) -> HistoryAnswer:
        """As `HistoryService.answer`; opens the history now if it is not open yet."""
        self._hurried.set()
        self._settled.wait(ANSWER_SECONDS)
        if self._keeper is None:
            raise self._refusal or WorkerError("the history is not open yet; try again in a moment")
        return self._keeper.answer(query)

    def close(self) -> None:
        """As `HistoryService.close`; opens the history first where samples are pending."""
        self._hurried.set()
        self._thread.join()
        self._pass_on()
        if self._keeper is not None:
            self._keeper.close()

    def _pass_on(self) -> None:
        if self._keeper is None:
            self._waiting.clear()
        while self._waiting and self._keeper is not None:
            self._keeper.take(self._waiting.popleft())

    def _open(self) -> None:
        self._hurried.wait(self._delay_seconds)
        try:
            self._keeper = self._open_history(self._store, self._started_ms, cluster=self._cluster)
        except OrbitError as error:
            self._refusal = error
            logger.error("no history is kept: %s", error)
        except Exception as error:
            self._refusal = WorkerError(f"no history is kept: {error!r}; the broker's log has the details")
            logger.exception("no history is kept")
        finally:
            self._settled.set()


def history_of(config: BrokerConfig, open_history: OpenHistory, *, started_ms: int) -> LateHistory:
    """The history of the store of a broker that started at a time, ms since the epoch."""
    cluster = f"{config.cluster_name}/{config.broker_name}"
    return LateHistory(open_history, config.store.root, started_ms=started_ms, cluster=cluster)


async def record(engine: EmbeddedBroker, history: HistoryService, stop: asyncio.Event) -> None:
    """Sample a broker without a window once a second until ``stop`` is set; the caller closes the history."""
    # Clients are served already: the import runs on a thread, so that their first requests need not wait for it.
    sampling = await asyncio.to_thread(importlib.import_module, "broker_core.worker.embedded.sampler")

    def nowhere(_message: WorkerMessage) -> None:
        raise AssertionError("there is no window")

    feed = FigureFeed(sampling.Sampler(engine, clock=wall_clock_ms), send=nowhere, history=history, clock=wall_clock_ms)
    while not stop.is_set():
        began = time.perf_counter()
        feed.pass_on(window_reads=False)
        pause = LOOK_SECONDS + (time.perf_counter() - began) / SAMPLING_SHARE_MAX
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), pause)
