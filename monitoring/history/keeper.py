"""`HistoryKeeper`: the history of one broker, on a thread of its own in the worker process.

The broker's loop only puts a snapshot on a queue, once a second. All else (deriving, packing, writing, filling the coarser
tiers) is done by the thread `history`, which leaves most of the processor's time to the broker. When it cannot write, or is
too slow, there is a gap in the history and nothing else.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from broker_core.api import (
    AlertPage,
    AlertQuery,
    Catalog,
    CodecError,
    Done,
    EventPage,
    HistoryLines,
    HistorySample,
    Occurred,
    OrbitError,
    Ownership,
    ReadEvents,
    ReadHistory,
    ReadOwnership,
    StoreError,
    WorkerError,
)
from monitoring.alert_keeper import AlertKeeper
from monitoring.alert_store import FILE_NAME as ALERTS_NAME
from monitoring.collector import Collector
from monitoring.database_file import set_aside
from monitoring.history.changes import OffsetWatch
from monitoring.history.database import FILE_NAME, meta, open_database, set_meta, transaction
from monitoring.history.guest import HistoryGuest
from monitoring.history.queries import HistoryQueries
from monitoring.history.recorder import Recorder
from monitoring.history.run_words import OF_BROKER, OF_CONNECTION, RunWords
from monitoring.history.subscriptions import SubscriptionLog
from monitoring.history.upkeep import BYTES_MAX, Upkeep
from monitoring.state import ClusterState

logger = logging.getLogger(__name__)

FOLDER = "orbit"
WAITING_MAX = 60
"""Samples that may wait to be written; more are left out."""
TURNS_MAX = 20
"""Pieces of upkeep between two samples."""
WORK_SECONDS, REST_SECONDS = 0.002, 0.018
"""A tenth of one processor at most, in pieces that no request notices."""
CLOSE_SECONDS = 5.0
EVENTS_UNWRITTEN_MAX = 1_000
"""Events that wait for a disk that is full."""


def open_history(
    store: Path,
    *,
    clock: Callable[[], int],
    bytes_max: int = BYTES_MAX,
    started_ms: int | None = None,
    cluster: str = "",
    of_connection: bool = False,
) -> HistoryKeeper:
    """The history of the broker on a store; it is kept in ``orbit/history.db`` there, and the alerts in ``orbit/alerts.db``.

    Args:
        store: Directory of the store; the caller owns it.
        clock: ms since the epoch, as snapshots have it.
        bytes_max: What the history may take on the disk.
        started_ms: Since when the broker runs; None: since now.
        cluster: What is recorded, for those that are told of alerts.
        of_connection: Whether the broker runs elsewhere, so that only the recording begins and ends here.
    """
    folder = store / FOLDER

    def open_alerts() -> AlertKeeper:
        return AlertKeeper(folder / ALERTS_NAME, clock=clock, cluster=cluster)

    return HistoryKeeper(
        folder / FILE_NAME,
        clock=clock,
        bytes_max=bytes_max,
        started_ms=started_ms,
        open_alerts=open_alerts,
        run=OF_CONNECTION if of_connection else OF_BROKER,
    )


def open_as_guest(store: Path, *, clock: Callable[[], int], cluster: str = "") -> HistoryGuest:
    """The history that another process records on a store; as `open_history`."""
    folder = store / FOLDER
    alerts = AlertKeeper(folder / ALERTS_NAME, clock=clock, cluster=cluster, judges=False)
    return HistoryGuest(folder / FILE_NAME, alerts)


class HistoryKeeper:
    """Takes samples and answers questions, from any thread.

    Args:
        path: The database.
        clock: ms since the epoch.
        bytes_max: What it may take.
        started_ms: Since when the broker runs; None: since now.
        open_alerts: Opens the alerts, which judge what is recorded.
        run: What begins and ends with it.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], int],
        bytes_max: int = BYTES_MAX,
        started_ms: int | None = None,
        open_alerts: Callable[[], AlertKeeper],
        run: RunWords = OF_BROKER,
    ) -> None:
        self._path = path
        self._words = run
        self._clock = clock
        # The database may take a while to open, and what is sampled meanwhile comes after the start.
        self._started_ms = clock() if started_ms is None else started_ms
        self._bytes_max = bytes_max
        self._samples: queue.Queue[HistorySample | None] = queue.Queue(WAITING_MAX)
        self._pacer = _Pacer()
        self._opened = threading.Event()
        self._queries: HistoryQueries | None = None
        self._refusal: OrbitError | None = None
        self._open_alerts = open_alerts
        self._alerts: AlertKeeper | None = None
        self._alerts_refusal: OrbitError | None = None
        self._left_out = 0
        self._unsent: Catalog | None = None
        self._unsent_events: list[Occurred] = []
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()

    def take(self, sample: HistorySample) -> None:
        """Take in a sample; never waits. To be called on one thread."""
        # A catalog or an event of a sample that is left out comes with the next one.
        catalog = sample.catalog or self._unsent
        events = [*self._unsent_events, *sample.events]
        try:
            self._samples.put_nowait(replace(sample, catalog=catalog, events=events))
        except queue.Full:
            self._unsent, self._unsent_events = catalog, events[-WAITING_MAX:]
            self._left_out += 1
            if self._left_out == 1:
                logger.warning("the history cannot be written as fast as it is sampled; seconds of it will be missing")
            return
        self._unsent, self._unsent_events = None, []

    def answer(
        self, query: ReadHistory | ReadEvents | ReadOwnership | AlertQuery
    ) -> HistoryLines | EventPage | Ownership | AlertPage | Done:
        """Answer a question; may block for as long as a read of the disk takes.

        Raises:
            UsageError: The question makes no sense.
            StoreError: The history cannot be read.
            WorkerError: It is not open, or not any more.
        """
        self._opened.wait(CLOSE_SECONDS)
        if not isinstance(query, ReadHistory | ReadEvents | ReadOwnership):
            return self._answer_alerts(query)
        queries = self._queries
        if queries is None:
            raise self._refusal or WorkerError("the history is not open yet, or not any more; try again in a moment")
        try:
            if isinstance(query, ReadOwnership):
                return queries.ownership(query)
            return queries.lines(query) if isinstance(query, ReadHistory) else queries.events(query)
        except sqlite3.ProgrammingError as error:
            raise WorkerError("the history was closed meanwhile; try again in a moment") from error
        except (sqlite3.Error, ValueError) as error:
            raise StoreError(f"the history {self._path} cannot be read: {error}", path=str(self._path)) from error

    def _answer_alerts(self, query: AlertQuery) -> AlertPage | Done:
        alerts = self._alerts
        if alerts is None:
            raise self._alerts_refusal or WorkerError("the alerts are not open yet, or not any more; try again in a moment")
        return alerts.answer(query)

    def close(self) -> None:
        """Write everything down and end the thread."""
        self._pacer.hurry()
        if not self._thread.is_alive():
            return
        # When it is full, the thread takes one out soon.
        with contextlib.suppress(queue.Full):
            self._samples.put(None, timeout=CLOSE_SECONDS)
        self._thread.join(CLOSE_SECONDS)

    # ---- the thread ----

    def _run(self) -> None:
        try:
            self._alerts = self._open_alerts()
        except (OrbitError, sqlite3.Error) as error:
            self._alerts_refusal = error if isinstance(error, OrbitError) else StoreError(f"the alerts cannot be read: {error}")
            logger.error("nothing is judged by alert rules: %s", error)  # noqa: TRY400  the message says all
        try:
            self._keep()
        except OrbitError as error:
            self._refusal = error
            logger.error("no history is kept: %s", error)  # noqa: TRY400  the message says all
        except Exception as error:
            self._refusal = StoreError(f"no history is kept any more: {error!r}; the broker's log has the details")
            logger.exception("no history is kept any more")
        finally:
            self._opened.set()
            queries, self._queries = self._queries, None
            if queries is not None:
                queries.close()
            alerts, self._alerts = self._alerts, None
            if alerts is not None:
                alerts.close()

    def _keep(self) -> None:
        catalog: Catalog | None = None
        while True:
            connection = open_database(self._path)
            session = None
            try:
                upkeep = Upkeep(connection, bytes_max=self._bytes_max, pace=self._pacer)
                recorder = Recorder(connection, pace=self._pacer)
                session = _Session(
                    connection, self._clock, recorder, upkeep, run=self._words, alerts=self._alerts, catalog=catalog
                )
                session.begin(self._started_ms)
                self._queries = HistoryQueries(self._path, session.recorder)
                self._opened.set()
                self._serve(session)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                logger.warning("the history %s is damaged: %s", self._path, error)
                catalog = session.catalog if session is not None else catalog
            else:
                return
            finally:
                queries, self._queries = self._queries, None
                if queries is not None:
                    queries.close()
                connection.close()
            set_aside(self._path, "history")

    def _serve(self, session: _Session) -> None:
        while (sample := self._samples.get()) is not None:
            session.take(sample)
            for _turn in range(TURNS_MAX):
                if not self._samples.empty() or not session.tidy():
                    break
                self._pacer()
        session.end()


class _Session:
    """Work on one open database. A full disk or a locked file is told once, and tried again at the next sample."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        clock: Callable[[], int],
        recorder: Recorder,
        upkeep: Upkeep,
        *,
        run: RunWords,
        alerts: AlertKeeper | None,
        catalog: Catalog | None,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self.recorder = recorder
        self.catalog: Catalog | None = None
        self._upkeep = upkeep
        self._run = run
        self._collector = Collector(None)
        self._subscriptions = SubscriptionLog(connection)
        self._offsets = OffsetWatch()
        self._alerts = alerts
        self._unwritten: list[Occurred] = []
        self._told = ""
        if catalog is not None:
            self._follow(catalog)

    def begin(self, started_ms: int) -> None:
        """Write down that the run began."""
        run = self._run
        text = run.began_again if meta(self._connection, "open", 0) else run.began
        self._write_events([Occurred(run.began_kind, text, started_ms)], still_open=1)

    def take(self, sample: HistorySample) -> None:
        if sample.catalog is not None:
            self._follow(sample.catalog)
        try:
            state = self._collector.snapshot_taken(sample.snapshot)
            self._unwritten = [*self._unwritten, *sample.events, *self._found(state)][-EVENTS_UNWRITTEN_MAX:]
            if self._unwritten:
                self._write_events(self._unwritten, still_open=1)
                self._unwritten = []
            if state is not None:
                self.recorder.add(state)
                if sample.subscriptions is not None:
                    self._subscriptions.write(sample.subscriptions, state.taken_ms)
        except sqlite3.OperationalError as error:
            self.recorder.forget()
            self._tell(str(error))
        except CodecError as error:
            self._tell(error.message)
        else:
            self._told = ""

    def _found(self, state: ClusterState | None) -> list[Occurred]:
        """What the figures say has happened."""
        if state is None:
            return []
        return [*self._offsets.look(state), *(self._alerts.look(state) if self._alerts is not None else [])]

    def tidy(self) -> bool:
        """Do a piece of upkeep; returns whether there may be more."""
        try:
            return self._upkeep.turn(self._clock())
        except sqlite3.OperationalError as error:
            self._tell(str(error))
            return False

    def end(self) -> None:
        try:
            self.recorder.end_run()
            last = self._alerts.events() if self._alerts is not None else []
            ended = Occurred(self._run.ended_kind, self._run.ended, self._clock())
            self._write_events([*self._unwritten, *last, ended], still_open=0)
        except sqlite3.OperationalError as error:
            self._tell(str(error))

    def _follow(self, catalog: Catalog) -> None:
        try:
            self._collector.catalog_changed(catalog)
            self.catalog = catalog
        except CodecError as error:
            self._tell(error.message)

    def _write_events(self, events: list[Occurred], *, still_open: int) -> None:
        rows = [(event.at_ms, event.kind, event.subject, event.text) for event in events]
        with transaction(self._connection):
            self._connection.executemany("INSERT INTO events (at_ms, kind, subject, text) VALUES (?, ?, ?, ?)", rows)
            set_meta(self._connection, "open", still_open)

    def _tell(self, reason: str) -> None:
        if self._told != reason:
            self._told = reason
            logger.warning("the history has a gap: it cannot be written now (%s)", reason)


class _Pacer:
    """Rests after each stretch of work, until told to hurry."""

    def __init__(self) -> None:
        self._hurried = threading.Event()
        self._began = time.perf_counter()

    def __call__(self) -> None:
        if time.perf_counter() - self._began >= WORK_SECONDS:
            self._hurried.wait(REST_SECONDS)
            self._began = time.perf_counter()

    def hurry(self) -> None:
        self._hurried.set()
