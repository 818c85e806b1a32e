"""`ReplayedResend`: sends dead letters again by a replay: read, written into a file, sent by a child process, followed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError, RemoteError
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessage
from gui.event_loop.turns import next_turn
from gui.models.queue_window import shown_queue
from gui.models.replay_order import Goal, ReplayOrder, Speed
from gui.operations.background import BackgroundCall
from gui.operations.message_job import JobState, MessageJob, details_arguments
from monitoring.dead_letters import DeadLetter
from monitoring.letter_notes import RESENT, LetterNote
from monitoring.resend_receipt import ResendReceipt, read_receipt, replay_order
from monitoring.resending import ResendOrder, ResendOutcome, ResendTarget, resent_row
from monitoring.sources.base import ClusterSource

RESEND_MARK = "-resend-"
"""Part of the names of resend folders, after the time."""
LETTERS_FILE, RECEIPT_FILE = "letters.jsonl", "receipt.jsonl"
RESENDS_KEPT = 500
"""Journals of resends that are kept; the oldest are deleted before another begins. Journals of other replays stay."""
Sent = Callable[[Mapping[str, LetterNote]], None]
"""Called with the notes on dead letters that were sent again, by their offset message ids."""
Done = Callable[[ResendOutcome], None]


class ReplayedResend(QObject):
    """A `Pending` of the total outcome. It fails where failures ended the replay; earlier resends were reported.

    Args:
        source: Of the dead letters.
        job: Runs the replay; idle.
        folder: Of the journal; does not exist yet.
        letters: At least one, all of one group.
        order: What is asked for.
        production: Typed name of the production cluster; empty where it is none.
        sent: See `Sent`.
        ended: Called with every outcome.
        owner: Qt's owner; its end cancels what has not begun.

    Signals:
        progressed: Carries how many the broker stored.
    """

    progressed = Signal(int)

    def __init__(
        self,
        source: ClusterSource,
        job: MessageJob,
        folder: Path,
        letters: Sequence[DeadLetter],
        order: ResendOrder,
        *,
        production: str,
        sent: Sent,
        ended: Done,
        owner: QObject,
    ) -> None:
        super().__init__(owner)
        self._source, self._job, self._folder = source, job, folder
        self._letters, self._order, self._production = letters, order, production
        self._sent, self._ended = sent, ended
        self._rows: list[dict[str, Any]] = []
        self._message_ids: list[str] = []
        """Ids of the rows, in the order in which the replay numbers them."""
        self._unread: list[tuple[str, str]] = []
        """Unreadable dead letters, and why."""
        self._in_a_row = self._read = self._noted = 0
        self._is_stopped = self._is_reading_receipt = False
        self._done: Done = _ignored
        self._failed: Callable[[OrbitError], None] = _ignored

    def then(self, done: Done, failed: Callable[[OrbitError], None]) -> None:
        """Begin."""
        self._done, self._failed = done, failed
        self._go_on()

    def cancel(self) -> None:
        """Stop, and report nothing."""
        self._done = self._failed = self._ended = _ignored
        self.stop()

    def stop(self) -> None:
        """Stop after the letter in progress; the rest is not tried."""
        self._is_stopped = True
        self._job.cancel()

    def _go_on(self) -> None:
        if self._is_stopped or self._in_a_row >= self._order.failures_max:
            self._end(ResendReceipt(ResendOutcome(left=tuple(row["offsetMsgId"] for row in self._rows))))
        elif self._read == len(self._letters):
            self._write()
        else:
            letter = self._letters[self._read]
            self._read += 1
            pending = self._source.ask(ReadMessage(letter.physical_offset))
            pending.then(partial(self._take_letter, letter), partial(self._take_unread, letter))

    def _take_letter(self, letter: DeadLetter, detail: MessageDetail) -> None:
        self._in_a_row = 0
        self._rows.append(resent_row(detail, letter, self._order))
        # In another turn of the loop, because immediate answers would deepen the stack.
        next_turn(self, self._go_on)

    def _take_unread(self, letter: DeadLetter, error: OrbitError) -> None:
        self._in_a_row += 1
        self._unread.append((letter.offset_message_id, error.message))
        next_turn(self, self._go_on)

    def _write(self) -> None:
        if not self._rows:
            self._end(ResendReceipt(ResendOutcome()))
            return
        self._message_ids = replay_order(self._rows)
        call = BackgroundCall(self)
        call.done.connect(lambda _answer: self._start())
        call.failed.connect(
            lambda error: self._end(ResendReceipt(ResendOutcome(left=tuple(self._message_ids)), last_reason=str(error)))
        )
        call.start(partial(_write_rows, self._folder, self._rows))

    def _start(self) -> None:
        ready = self._source.ready
        name_server = "" if ready is None else ready.name_server
        self._job.changed.connect(self._follow)
        self._job.start(self._replay(name_server).arguments(dry_run=False), self._source.connect_details, can_pause=True)

    def _replay(self, name_server: str) -> ReplayOrder:
        order = self._order
        goal = {ResendTarget.GROUP: Goal.GROUP, ResendTarget.TOPIC: Goal.ORIGIN, ResendTarget.OTHER: Goal.TOPIC}[order.target]
        return ReplayOrder(
            details=details_arguments(self._source), file=str(self._folder / LETTERS_FILE), journal=str(self._folder),
            goal=goal, name=order.topic if goal is Goal.TOPIC else self._letters[0].group, name_server=name_server,
            production=self._production, speed=Speed.RATE, pace=order.rate, born_now=True, without_delay=True,
            any_queue=True, one_by_one=True, failures_max=order.failures_max,
        )  # fmt: skip

    def _follow(self) -> None:
        """Read the receipt; a running replay reports about once a second that it has grown."""
        if self._is_reading_receipt:
            return
        self._is_reading_receipt, is_over = True, not self._job.is_running
        call = BackgroundCall(self)
        call.done.connect(partial(self._take_receipt, is_over))
        call.failed.connect(partial(self._unreadable, is_over))
        for over in (call.done, call.failed):
            over.connect(lambda _answer: call.deleteLater())
        call.start(partial(_read, self._folder, self._message_ids, is_over=is_over))

    def _unreadable(self, is_over: bool, error: Exception) -> None:
        """An unreadable receipt leaves every letter doubtful, because each may have been sent."""
        self._is_reading_receipt = False
        if is_over:
            self._end(ResendReceipt(ResendOutcome(doubtful=tuple((one, str(error)) for one in self._message_ids))))
        elif not self._job.is_running:
            self._follow()

    def _take_receipt(self, is_over: bool, receipt: ResendReceipt) -> None:
        self._is_reading_receipt = False
        new, self._noted = receipt.copies[self._noted :], len(receipt.copies)
        if new:
            state = self._source.state
            queues = (shown_queue(state, one.broker, one.queue_id) for one in new)
            notes = (
                LetterNote(RESENT, "", one.topic, queue, one.queue_offset, one.at_ms)
                for one, queue in zip(new, queues, strict=True)
            )
            self._sent(dict(zip((one.message_id for one in new), notes, strict=True)))
            self.progressed.emit(self._noted)
        if is_over:
            self._end(receipt)
        elif not self._job.is_running:
            self._follow()

    def _end(self, receipt: ResendReceipt) -> None:
        found = receipt.outcome
        unread = tuple(letter.offset_message_id for letter in self._letters[self._read :])
        outcome = ResendOutcome(found.sent, (*self._unread, *found.refused), found.doubtful, (*found.left, *unread))
        self._ended(outcome)
        is_stopped = self._is_stopped or self._job.state is JobState.CANCELLED
        has_failed = max(receipt.failures, self._in_a_row) >= self._order.failures_max or bool(outcome.left)
        if not is_stopped and (has_failed or self._job.state is JobState.FAILED):
            self._failed(RemoteError(self._failure_text(outcome, receipt.last_reason)))
        else:
            self._done(outcome)

    def _failure_text(self, outcome: ResendOutcome, reason: str) -> str:
        """The result after failures, in English like other errors: the window translates it where it is shown."""
        unread = self._unread[-1][1] if self._unread else ""
        why = reason or self._job.last.removeprefix("orbit replay: ") or unread
        doubt = f", {len(outcome.doubtful):,} without an answer may be there" if outcome.doubtful else ""
        return f"{len(outcome.sent):,} sent again{doubt}, {len(outcome.left) + len(outcome.refused):,} not: {why}"


def _write_rows(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    for old in sorted(folder.parent.glob(f"*{RESEND_MARK}*"))[:-RESENDS_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / LETTERS_FILE).write_text(text, encoding="utf-8")


def _read(folder: Path, message_ids: Sequence[str], *, is_over: bool) -> ResendReceipt:
    if is_over:
        (folder / LETTERS_FILE).unlink(missing_ok=True)
        with suppress(OSError):  # a folder with a journal is not empty and stays
            folder.rmdir()
    try:
        with (folder / RECEIPT_FILE).open(encoding="utf-8", newline="\n") as lines:
            return read_receipt(lines, message_ids)
    except FileNotFoundError:
        return read_receipt((), message_ids)


def _ignored(_value: object) -> None:
    """Do nothing."""
