"""`OffsetReset`: keeps the offsets of a group, moves it through its members or directly, and reads back where it went.

`OffsetsOfTime`: the offset of each queue at a time, and the time that a reset of the whole topic would need for them.
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
"""A broker that goes to the nearest message finds the first of many of one millisecond from the millisecond before."""


@dataclass(frozen=True, slots=True)
class TimedOffsets:
    """The queues at a time.

    Attributes:
        offsets: Queue id → the first offset stored at or after the time; the end of the queue if there is none.
        request_ms: The time for which the broker itself moves every queue to these offsets; None where no such is known.
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
    """The offsets of before, and whether members moved the group."""

    snapshot: OffsetSnapshot
    by_members: bool


class OffsetReset(Steps[ResetResult]):
    """A `Pending` of a `ResetResult`. The broker records each request that changes something before it acts.

    It succeeds where the broker's own account agrees with the order: what it told the members, or the offsets it keeps.
    """

    def __init__(self, source: ClusterSource, snapshots: OffsetSnapshots, order: ResetOrder) -> None:
        super().__init__()
        self._source = source
        self._snapshots = snapshots
        self._order = order
        self._snapshot: OffsetSnapshot | None = None

    def _begin(self) -> None:
        fields = {"consumerGroup": self._order.group, "topic": self._order.topic}
        standing = self._source.ask(AskBroker(RequestCode.GET_CONSUME_STATS, fields))
        self._ask(ReadAnswer(standing, self._standing), self._keep)

    def _standing(self, answer: BrokerAnswer) -> dict[int, int]:
        if answer.notice:
            # Offsets that could not be read could not be restored.
            text = tr("Nothing was changed, as not all offsets could be kept for an undo. {reason}",
                      reason=broker_text(answer.notice))  # fmt: skip
            raise NetworkError(text)
        stats = read_consume_stats(answer.body)
        return {queue.queue_id: one.consumer_offset for queue, one in stats.items() if queue.topic == self._order.topic}

    def _keep(self, standing: dict[int, int]) -> None:
        order = self._order
        # The broker returns 0 for a missing offset, which must not be restored.
        moves = [replace(move, now=standing.get(move.queue_id, move.now) if move.now >= 0 else -1) for move in order.moves]
        self._snapshot = snapshot_of(order.group, order.topic, order.now_ms, moves, order.reason)
        self._snapshots.add(self._snapshot)
        self._move(by_members=order.has_members)

    def _move(self, *, by_members: bool) -> None:
        order = self._order
        if by_members:
            chain = RequestChain(self._source, online_requests(order.group, order.topic, order.moves, order.timestamp_ms))
            self._ask(ReadAnswer(chain, self._told), lambda stands: self._judge(stands, by_members=True), self._refused)
        else:
            chain = RequestChain(self._source, offline_requests(order.group, order.topic, order.moves))
            self._ask(chain, lambda _answers: self._read_back())

    def _told(self, answers: list[BrokerAnswer]) -> dict[int, int]:
        tables = [read_reset_offsets(answer.body) for answer in answers]
        return {queue.queue_id: at for table in tables for queue, at in table.items() if queue.topic == self._order.topic}

    def _read_back(self) -> None:
        order = self._order
        ids = [move.queue_id for move in order.moves]
        asked = RequestChain(self._source, [ask_group_offset(order.group, order.topic, queue_id) for queue_id in ids])
        self._ask(ReadAnswer(asked, _offsets), lambda found: self._judge(dict(zip(ids, found, strict=True)), by_members=False))

    def _judge(self, stands: dict[int, int], *, by_members: bool) -> None:
        moves = self._order.moves
        elsewhere = strayed(moves, stands, to_the_end=by_members and self._order.timestamp_ms == TO_THE_END)
        if elsewhere:
            move, at = elsewhere[0]
            queue = queue_text(self._source.state, move.queue_id)
            self._failed(RemoteError(strayed_text(move, queue, at, len(elsewhere), len(moves)), topic=self._order.topic))
        else:
            assert self._snapshot is not None
            self._done(ResetResult(self._snapshot, by_members))

    def _refused(self, error: OrbitError) -> None:
        if error.context.get("code") == ResponseCode.CONSUMER_NOT_ONLINE:
            # The last member left meanwhile: no member is left to move the group.
            self._move(by_members=False)
        else:
            self._failed(error)


def strayed_text(move: QueueMove, queue: str, at: int, count: int, all_count: int) -> str:
    """That queues went elsewhere, with the first of them as an example."""
    place = count_text(at) if at >= 0 else tr("an unknown offset")
    return tr(
        "{count} of {all} went elsewhere: queue {queue} is at {at}, not at {after}. The offsets of before are saved: "
        "the tab Offsets puts them back.",
        count=count, all=all_count, queue=queue, at=place, after=count_text(move.after),
    )  # fmt: skip


def result_text(result: ResetResult, group: str) -> str:
    if result.by_members:
        return tr("The members of {group} were told; each stops for about 10 s and goes on from the new offsets", group=group)
    return tr("{group} starts at the new offsets when its next client comes", group=group)
