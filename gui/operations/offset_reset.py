"""`OffsetReset`: stores the offsets of a group, resets them through its members or directly, and reads them back.

`OffsetsOfTime`: the offset of each queue at a time, and the time with which a reset of the whole topic leads to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from broker_core.api import (
    NetworkError,
    OrbitError,
    RemoteError,
    RequestCode,
    ResponseCode,
    read_consume_stats,
    read_offset,
    read_reset_offsets,
)
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer
from broker_core.worker.questions.stored_messages import FindOffset, FoundOffset
from gui.models.queue_window import queue_text
from gui.operations.requests import ReadAnswer, RequestChain, Steps
from gui.operations.snapshots import OffsetSnapshots
from gui.words.broker_words import broker_text
from gui.words.text import count_text, tr
from monitoring.admin.offsets import (
    TO_THE_END,
    OffsetSnapshot,
    QueueMove,
    ask_group_offset,
    ask_offset_of_time,
    offline_requests,
    online_requests,
    snapshot_of,
    strayed,
)
from monitoring.sources.base import ClusterSource

_EARLIER_MS = (0, 1)
"""A broker that searches the nearest message finds the first of several of one millisecond from the millisecond before."""


@dataclass(frozen=True, slots=True)
class TimedOffsets:
    """The offsets of queues at a time.

    Attributes:
        offsets: Queue id → the first offset stored at or after the time; the end of the queue if there is none.
        request_ms: The time with which one request to the broker resets every queue to these offsets; None if none is known.
    """

    offsets: dict[int, int]
    request_ms: int | None


class OffsetsOfTime(Steps[TimedOffsets]):
    """A `Pending` of `TimedOffsets`; ``has_members`` also looks for the time of one request for the whole topic."""

    def __init__(self, source: ClusterSource, topic: str, queue_ids: Sequence[int], at_ms: int, *, has_members: bool) -> None:
        super().__init__()
        self._source = source
        self._topic = topic
        self._queue_ids = queue_ids
        self._at_ms = at_ms
        self._times = [at_ms - earlier for earlier in _EARLIER_MS] if has_members else []
        self._found: dict[int, int] = {}

    def _begin(self) -> None:
        self._ask(
            RequestChain(self._source, [FindOffset(self._topic, one, self._at_ms) for one in self._queue_ids]), self._take
        )

    def _take(self, answers: list[FoundOffset]) -> None:
        self._found = {queue: answer.offset for queue, answer in zip(self._queue_ids, answers, strict=True)}
        self._try_next()

    def _try_next(self) -> None:
        if not self._times:
            self._done(TimedOffsets(self._found, None))
            return
        at_ms = self._times.pop(0)
        asked = RequestChain(self._source, [ask_offset_of_time(self._topic, one, at_ms) for one in self._queue_ids])
        self._ask(ReadAnswer(asked, _offsets), lambda offsets: self._compare(at_ms, offsets))

    def _compare(self, at_ms: int, offsets: list[int]) -> None:
        if dict(zip(self._queue_ids, offsets, strict=True)) == self._found:
            self._done(TimedOffsets(self._found, at_ms))
        else:
            self._try_next()


def _offsets(answers: list[BrokerAnswer]) -> list[int]:
    return [read_offset(answer.fields) for answer in answers]


@dataclass(frozen=True, slots=True)
class ResetOrder:
    """A reset.

    Attributes:
        group: The group.
        topic: The topic.
        moves: One a queue that moves.
        timestamp_ms: Set when the whole topic goes to this time, or to the end; see `online_requests`.
        has_members: Whether clients of the group are online.
        reason: For the snapshot.
        now_ms: The broker's clock.
    """

    group: str
    topic: str
    moves: Sequence[QueueMove]
    timestamp_ms: int | None
    has_members: bool
    reason: str
    now_ms: int


@dataclass(frozen=True, slots=True)
class ResetResult:
    """The offsets before the reset, and whether the members of the group applied it."""

    snapshot: OffsetSnapshot
    by_members: bool


class OffsetReset(Steps[ResetResult]):
    """A `Pending` of a `ResetResult`. The broker records each request that changes something before it acts.

    It succeeds where the broker's report matches the order: the offsets that it sent to the members, or those that it stores.
    """

    def __init__(self, source: ClusterSource, snapshots: OffsetSnapshots, order: ResetOrder) -> None:
        super().__init__()
        self._source = source
        self._snapshots = snapshots
        self._order = order
        self._snapshot: OffsetSnapshot | None = None

    def _begin(self) -> None:
        fields = {"consumerGroup": self._order.group, "topic": self._order.topic}
        stats = self._source.ask(AskBroker(RequestCode.GET_CONSUME_STATS, fields))
        self._ask(ReadAnswer(stats, self._current_offsets), self._store)

    def _current_offsets(self, answer: BrokerAnswer) -> dict[int, int]:
        if answer.notice:
            # Offsets that could not be read could not be restored.
            text = tr("Nothing was changed, as not all offsets could be kept for an undo. {reason}",
                      reason=broker_text(answer.notice))  # fmt: skip
            raise NetworkError(text)
        stats = read_consume_stats(answer.body)
        return {queue.queue_id: one.consumer_offset for queue, one in stats.items() if queue.topic == self._order.topic}

    def _store(self, offsets: dict[int, int]) -> None:
        order = self._order
        # The broker returns 0 for a missing offset, which must not be restored.
        moves = [replace(move, now=offsets.get(move.queue_id, move.now) if move.now >= 0 else -1) for move in order.moves]
        self._snapshot = snapshot_of(order.group, order.topic, order.now_ms, moves, order.reason)
        self._snapshots.add(self._snapshot)
        self._move(by_members=order.has_members)

    def _move(self, *, by_members: bool) -> None:
        order = self._order
        if by_members:
            chain = RequestChain(self._source, online_requests(order.group, order.topic, order.moves, order.timestamp_ms))
            self._ask(
                ReadAnswer(chain, self._sent_offsets), lambda offsets: self._judge(offsets, by_members=True), self._refused
            )
        else:
            chain = RequestChain(self._source, offline_requests(order.group, order.topic, order.moves))
            self._ask(chain, lambda _answers: self._read_back())

    def _sent_offsets(self, answers: list[BrokerAnswer]) -> dict[int, int]:
        """Queue id → the offset that the broker sent to the members."""
        tables = [read_reset_offsets(answer.body) for answer in answers]
        return {queue.queue_id: at for table in tables for queue, at in table.items() if queue.topic == self._order.topic}

    def _read_back(self) -> None:
        order = self._order
        ids = [move.queue_id for move in order.moves]
        asked = RequestChain(self._source, [ask_group_offset(order.group, order.topic, queue_id) for queue_id in ids])
        self._ask(ReadAnswer(asked, _offsets), lambda found: self._judge(dict(zip(ids, found, strict=True)), by_members=False))

    def _judge(self, offsets: dict[int, int], *, by_members: bool) -> None:
        moves = self._order.moves
        elsewhere = strayed(moves, offsets, to_the_end=by_members and self._order.timestamp_ms == TO_THE_END)
        if elsewhere:
            move, at = elsewhere[0]
            queue = queue_text(self._source.state, move.queue_id)
            self._failed(RemoteError(strayed_text(move, queue, at, len(elsewhere), len(moves)), topic=self._order.topic))
        else:
            assert self._snapshot is not None
            self._done(ResetResult(self._snapshot, by_members))

    def _refused(self, error: OrbitError) -> None:
        if error.context.get("code") == ResponseCode.CONSUMER_NOT_ONLINE:
            # The last member has left meanwhile, so that no member can apply the reset.
            self._move(by_members=False)
        else:
            self._failed(error)


def strayed_text(move: QueueMove, queue: str, at: int, count: int, all_count: int) -> str:
    """Says that queues are at other offsets than ordered, with the first of them as an example."""
    place = count_text(at) if at >= 0 else tr("an unknown offset")
    return tr(
        "{count} of {all} went elsewhere: queue {queue} is at {at}, not at {after}. The former offsets are saved: "
        "the tab Offsets restores them.",
        count=count, all=all_count, queue=queue, at=place, after=count_text(move.after),
    )  # fmt: skip


def result_text(result: ResetResult, group: str) -> str:
    if result.by_members:
        words = "The members of {group} were notified; each stops for about 10 s and continues from the new offsets"
        return tr(words, group=group)
    return tr("{group} starts at the new offsets when its next client comes", group=group)
