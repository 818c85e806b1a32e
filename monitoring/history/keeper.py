"""`HistoryKeeper`: the history of one broker, on its own thread in the worker process.

The broker's loop only puts a snapshot on a queue, once a second. The thread `history` does the rest (deriving, packing,
writing, filling the coarser tiers) and leaves most of the processor to the broker. If it cannot write or is too slow, the
history has a gap. If the database cannot be opened, the thread tries again.
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

from broker_core.api import CodecError, OrbitError, StoreError, WorkerError
from broker_core.worker.questions.alerts import AlertPage, AlertQuery
from broker_core.worker.questions.figures import Catalog, HistorySample, Occurred
from broker_core.worker.questions.history import EventPage, HistoryLines, Ownership, ReadEvents, ReadHistory, ReadOwnership
from broker_core.worker.questions.letter_notes import LetterNotePage, NoteQuery
from broker_core.worker.questions.lifecycle import Done
from monitoring.alert_keeper import AlertKeeper
from monitoring.alert_store import FILE_NAME as ALERTS_NAME
from monitoring.database_file import set_aside
from monitoring.history.alert_judging import Judgement
from monitoring.history.database import FILE_NAME, be_patient, meta, open_database, set_meta, transaction
from monitoring.history.notes import answer_on_notes
from monitoring.history.queries import HistoryQueries
from monitoring.history.recorder import Recorder
from monitoring.history.retry_pause import GrowingPause
from monitoring.history.run_events import OF_BROKER, OF_CONNECTION, RunWords
from monitoring.history.shared_history import HistoryGuest
from monitoring.history.subscriptions import SubscriptionLog
from monitoring.history.upkeep import BYTES_MAX, Upkeep

logger = logging.getLogger(__name__)

FOLDER = "orbit"
WAITING_MAX = 60
"""Samples that may be pending; further ones are dropped."""
TURNS_MAX = 20
"""Pieces of upkeep between two samples."""
WORK_SECONDS, REST_SECONDS = 0.002, 0.018
"""At most a tenth of one processor, in pieces too short to delay a request."""
CLOSE_SECONDS = 5.0


def open_history(
    store: Path,
    *,
    clock: Callable[[], int],
    bytes_max: int = BYTES_MAX,
    started_ms: int | None = None,
    cluster: str = "",
    of_connection: bool = False,
) -> HistoryKeeper:
    """Open the history of the broker on a store: ``orbit/history.db``, and the alerts in ``orbit/alerts.db``.

    Args:
        store: Directory of the store; the caller owns it.
        clock: ms since the epoch, as in snapshots.
        bytes_max: Limit of the database.
        started_ms: Start of the broker; None: now.
        cluster: Name of the cluster in posts of alerts.
        of_connection: Whether the broker runs elsewhere, so that only the recording begins and ends here.
    """
    folder = store / FOLDER
    return HistoryKeeper(
        folder / FILE_NAME,
        clock=clock,
        bytes_max=bytes_max,
        started_ms=started_ms,
        open_alerts=lambda: AlertKeeper(folder / ALERTS_NAME, clock=clock, cluster=cluster),
        run=OF_CONNECTION if of_connection else OF_BROKER,
    )


def open_as_guest(store: Path, *, clock: Callable[[], int], cluster: str = "") -> HistoryGuest:
    """Open the history that another process records on a store; as `open_history`."""
    folder = store / FOLDER
    alerts = AlertKeeper(folder / ALERTS_NAME, clock=clock, cluster=cluster, judges=False)
    return HistoryGuest(folder / FILE_NAME, alerts)


class HistoryKeeper:
    """Takes samples and answers questions, from any thread; arguments as of `open_history`."""

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
        # Opening the database may take a while, and samples of that time must be later than the start.
        self._started_ms = clock() if started_ms is None else started_ms
        self._bytes_max = bytes_max
        self._samples: queue.Queue[HistorySample | None] = queue.Queue(WAITING_MAX)
        self._pacer = _Pacer()
        self._opened = threading.Event()
        self._queries: HistoryQueries | None = None
        self._refusal: OrbitError | None = None
        self._judgement = Judgement(open_alerts)
        self._pause = GrowingPause()
        self._is_begun = False
        self._missing = 0
        """Samples since the history could not be opened."""
        self._left_out = 0
        self._unsent: Catalog | None = None
        self._unsent_events: list[Occurred] = []
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()

    def take(self, sample: HistorySample) -> None:
        """Queue a sample; never blocks. Called on one thread."""
        # A catalog or an event of a dropped sample is sent with the next one.
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
        self, query: ReadHistory | ReadEvents | ReadOwnership | AlertQuery | NoteQuery
    ) -> HistoryLines | EventPage | Ownership | AlertPage | LetterNotePage | Done:
        """Answer a question; may block on the disk.

        Raises:
            UsageError: The question is invalid.
            StoreError: The history cannot be read or written.
            WorkerError: It is not open yet, or closed.
        """
        self._opened.wait(CLOSE_SECONDS)
        if not isinstance(query, ReadHistory | ReadEvents | ReadOwnership | NoteQuery):
            return self._answer_alerts(query)
        queries = self._queries
        if queries is None:
            raise self._refusal or WorkerError("the history is not open yet, or not any more; try again in a moment")
        try:
            return answer_on_notes(self._path, query) if isinstance(query, NoteQuery) else queries.answer(query)
        except sqlite3.ProgrammingError as error:
            raise WorkerError("the history was closed meanwhile; try again in a moment") from error
        except (sqlite3.Error, ValueError) as error:
            raise StoreError(f"the history {self._path} cannot be read or written: {error}", path=str(self._path)) from error

    def _answer_alerts(self, query: AlertQuery) -> AlertPage | Done:
        alerts = self._judgement.alerts
        if alerts is None:
            raise self._judgement.alerts_refusal or WorkerError(
                "the alerts are not open yet, or not any more; try again in a moment"
            )
        return alerts.answer(query)

    def close(self) -> None:
        """Write all pending samples and end the thread."""
        self._pacer.hurry()
        if not self._thread.is_alive():
            return
        # If the queue is full, the thread takes a sample out soon.
        with contextlib.suppress(queue.Full):
            self._samples.put(None, timeout=CLOSE_SECONDS)
        self._thread.join(CLOSE_SECONDS)

    # ---- the thread ----

    def _run(self) -> None:
        try:
            self._judgement.try_alerts()
            self._keep()
        except Exception as error:
            self._refusal = StoreError(f"no history is kept any more: {error!r}; the broker's log has the details")
            logger.exception("no history is kept any more")
        finally:
            self._opened.set()
            self._judgement.close()

    def _keep(self) -> None:
        while True:
            try:
                self._record()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    self._refuse(StoreError(f"the history {self._path} cannot be opened: {error}", path=str(self._path)))
                elif self._set_aside(error) and self._pause.is_over:
                    # If the new file is damaged too, pause.
                    self._pause.failed()
                    continue
            except OrbitError as error:
                self._refuse(error)
            except Exception as error:
                logger.exception("the history has a gap")
                self._refuse(StoreError(f"the history {self._path} cannot be kept: {error!r}", path=str(self._path)))
            else:
                self._refusal = None
                return
            if not self._wait():
                return

    def _record(self) -> None:
        connection = open_database(self._path)
        queries: HistoryQueries | None = None
        try:
            upkeep = Upkeep(connection, bytes_max=self._bytes_max, pace=self._pacer)
            recorder = Recorder(connection, pace=self._pacer)
            queries = HistoryQueries(self._path, recorder)
            session = _Session(connection, self._clock, recorder, upkeep, run=self._words, judgement=self._judgement)
            session.begin(self._started_ms, again=self._is_begun)
            self._begun(queries)
            be_patient(connection)
            self._serve(session)
        finally:
            self._queries = None
            if queries is not None:
                queries.close()
            connection.close()

    def _begun(self, queries: HistoryQueries) -> None:
        self._is_begun = True
        self._queries, self._refusal = queries, None
        self._opened.set()
        if self._missing:
            logger.info("the history is recorded again; %d samples are missing in it", self._missing)
        self._missing = 0

    def _set_aside(self, error: sqlite3.DatabaseError) -> bool:
        """Rename the damaged file; False if that fails now."""
        logger.warning("the history %s is damaged: %s", self._path, error)
        try:
            set_aside(self._path, "history")
        except StoreError as refusal:
            self._refuse(refusal)
            return False
        self._is_begun = False
        return True

    def _refuse(self, error: OrbitError) -> None:
        """Report why nothing is recorded: in answers, and once in the log."""
        text = f"{error.message}; it is tried again at least once a minute, and nothing is recorded meanwhile"
        if self._refusal is None or self._refusal.message != text:
            logger.error("the history has a gap: %s", text)
        self._refusal = StoreError(text, path=str(self._path))
        self._opened.set()

    def _wait(self) -> bool:
        """Judge samples without recording them until the next attempt; False when closed."""
        self._pause.failed()
        while left_seconds := self._pause.left_seconds:
            try:
                sample = self._samples.get(timeout=left_seconds)
            except queue.Empty:
                continue
            if sample is None:
                return False
            self._missing += 1
            self._judgement.pass_by(sample)
        return True

    def _serve(self, session: _Session) -> None:
        while (sample := self._samples.get()) is not None:
            session.take(sample)
            for _turn in range(TURNS_MAX):
                if not self._samples.empty() or not session.tidy(sample.snapshot.taken_ms):
                    break
                self._pacer()
            self._pause.worked()
        session.end()


class _Session:
    """Work on one open database. A full disk or a locked file is logged once, and tried again at the next sample."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        clock: Callable[[], int],
        recorder: Recorder,
        upkeep: Upkeep,
        *,
        run: RunWords,
        judgement: Judgement,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._recorder = recorder
        self._upkeep = upkeep
        self._run = run
        self._judgement = judgement
        self._subscriptions = SubscriptionLog(connection)
        self._told = ""
        self._writes = recorder.writes

    def begin(self, started_ms: int, *, again: bool) -> None:
        """Record the begin of the run, unless ``again``: one file gets one event of a run."""
        run = self._run
        was_open = bool(meta(self._connection, "open", 0))
        if again and was_open:
            return
        self._write_events([Occurred(run.began_kind, run.began_again if was_open else run.began, started_ms)], still_open=1)

    def take(self, sample: HistorySample) -> None:
        try:
            state = self._judgement.take(sample)
            if self._judgement.unwritten:
                self._write_events(self._judgement.unwritten, still_open=1)
                self._judgement.unwritten = []
            if state is not None:
                self._recorder.add(state)
                if sample.subscriptions is not None:
                    self._subscriptions.write(sample.subscriptions, state.taken_ms)
        except sqlite3.OperationalError as error:
            self._recorder.forget()
            self._tell(str(error))
        except CodecError as error:
            self._tell(error.message)
        else:
            # Most samples stay in memory, and do not show whether the disk works.
            if self._recorder.writes != self._writes:
                self._writes, self._told = self._recorder.writes, ""

    def tidy(self, now_ms: int) -> bool:
        """Do a piece of upkeep at the time of the newest sample; returns whether there may be more."""
        try:
            return self._upkeep.turn(now_ms)
        except sqlite3.OperationalError as error:
            self._tell(str(error))
            return False

    def end(self) -> None:
        try:
            self._recorder.end_run()
            self._judgement.end()
            ended = Occurred(self._run.ended_kind, self._run.ended, self._clock())
            self._write_events([*self._judgement.unwritten, ended], still_open=0)
        except sqlite3.OperationalError as error:
            self._tell(str(error))

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
    def __init__(self) -> None:
        self._hurried = threading.Event()
        self._began = time.perf_counter()

    def __call__(self) -> None:
        if time.perf_counter() - self._began >= WORK_SECONDS:
            self._hurried.wait(REST_SECONDS)
            self._began = time.perf_counter()

    def hurry(self) -> None:
        self._hurried.set()
