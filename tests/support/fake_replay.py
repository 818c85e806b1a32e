"""A child process that replays a file through a fake source: journal and receipt are real, the source sends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTimer

from broker_core.api import OrbitError
from broker_core.client.send_outcome import may_be_stored
from broker_core.tools.commands.replay_arguments import parser
from broker_core.tools.replay.item import ReplayItem, item_of_row
from broker_core.tools.replay.journal import ReplayJournal, ReplayPlan, Result, Spool
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.rewrite import Outgoing, ReplayTarget, outgoing
from broker_core.tools.search.export import read_rows
from broker_core.worker.questions.stored_messages import SendMessage, SendReceipt
from gui.operations import message_job
from gui.views.dead_letters import resend
from tests.support.fake_child import FakeChild
from tests.support.fake_source import FakeSource

BROKER = "broker-a"


class FakeReplay(FakeChild):
    """Sends one by one, each after the answer of the one before, as `orbit replay --one-by-one` does."""

    def __init__(self, source: FakeSource) -> None:
        super().__init__()
        self._source = source
        self._in_a_row = 0
        self._journal: ReplayJournal | None = None
        self._items: Iterator[tuple[int, int, ReplayItem]] = iter(())
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.send_next)

    def start(self, arguments: Sequence[str], first_line: str = "") -> None:
        super().start(arguments, first_line)
        assert arguments[0] == "replay"
        self.asked = parser().parse_args(arguments[1:])
        assert self.asked.one_by_one
        self._journal = self._begun()
        self._items = self._journal.open_items()
        count = self._journal.plan.count
        self.error_read.emit(f"journal: {self.asked.journal}, {count:,} of {count:,} messages to send")
        self._timer.start(round(1_000 / self.asked.rate))

    def cancel(self) -> None:
        super().cancel()
        if self.is_running:
            self._over(130, cancelled=True)

    def _begun(self) -> ReplayJournal:
        asked = self.asked
        target = ReplayTarget(
            topic=asked.to, group=asked.to_group, to_origin=asked.to_origin, born_now=asked.born_now,
            without_delay=asked.without_delay, any_queue=asked.any_queue,
        )  # fmt: skip
        spool = Spool(asked.journal)
        for number, row in read_rows(asked.from_file):
            spool.add(item_of_row(row, f"message {number}", 0))
        plan = ReplayPlan(
            source="", name_servers=asked.to_ns, target=target, pace=Pace(asked.rate), count=spool.count, body_bytes=0
        )
        spool.finish(plan)
        spool.close()
        return ReplayJournal(asked.journal)

    def send_next(self) -> None:
        """Send the next one at once."""
        assert self._journal is not None
        following = next(self._items, None)
        if following is None or self._in_a_row >= self.asked.failures_max:
            self._over(0 if self._journal.left == 0 else 1)
            return
        number, _order_ms, item = following
        message = outgoing(item, self._journal.plan.target)
        assert isinstance(message, Outgoing)
        self._journal.hand_on([number])
        sent = SendMessage(message.topic, -1, message.body, message.properties, message.flag)
        self._source.ask(sent).then(
            lambda receipt: self._stored(number, item, message, receipt), lambda error: self._refused(number, item, error)
        )
        self.error_read.emit(f"progress: {self._journal.progress}, {self._journal.left:,} left")

    def _stored(self, number: int, item: ReplayItem, message: Outgoing, receipt: SendReceipt) -> None:
        self._in_a_row = 0
        more = {"topic": message.topic, "broker": BROKER, "queueId": receipt.queue_id, "queueOffset": receipt.queue_offset}
        self._note(Result(number, item, "sent", {**more, "sentAt": receipt.store_ms}))

    def _refused(self, number: int, item: ReplayItem, error: OrbitError) -> None:
        self._in_a_row += 1
        self._note(Result(number, item, "unknown" if may_be_stored(error) else "failed", {"reason": error.message}))

    def _note(self, result: Result) -> None:
        if self._journal is not None:
            self._journal.note([result])

    def _over(self, exit_code: int, **how: Any) -> None:
        assert self._journal is not None
        self._timer.stop()
        journal, self._journal = self._journal, None
        journal.__exit__(None, None, None)
        self.error_read.emit(f"{'partial' if exit_code else 'complete'}: {journal.progress}")
        self.end(exit_code, **how)


def replays_of(source: FakeSource, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[FakeReplay]:
    """Have the resends of a page go through a fake source, with their journals in a folder; returns those that were made."""
    made: list[FakeReplay] = []

    def child(_parent: object) -> FakeReplay:
        made.append(FakeReplay(source))
        return made[-1]

    monkeypatch.setattr(message_job, "ChildProcess", child)
    monkeypatch.setattr(resend, "replays_folder", lambda: folder)
    return made
