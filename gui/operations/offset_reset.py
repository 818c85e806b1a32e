"""`OffsetReset`: keeps the offsets of a group, moves it through its members or directly, and reads back where it went.

`OffsetsOfTime`: the offset of each queue at a time, and the time that a reset of the whole topic would need for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from broker_core.api import (
    JsonBodyError,
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
from gui.operations.requests import RequestChain
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
from monitoring.sources.base import ClusterSource, Pending

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


class OffsetsOfTime:
    """A `Pending` of `TimedOffsets`; ``has_members`` also looks for the time of one request for the whole topic."""

    def __init__(self, source: ClusterSource, topic: str, queue_ids: Sequence[int], at_ms: int, *, has_members: bool) -> None:
        self._source = source
        self._topic = topic
        self._queue_ids = queue_ids
        self._at_ms = at_ms
        self._times = [at_ms - earlier for earlier in _EARLIER_MS] if has_members else []
        self._found: dict[int, int] = {}
        self._open: RequestChain[Any] | None = None
        self._callbacks: tuple[Callable[[TimedOffsets], None], Callable[[OrbitError], None]] | None = None

    def then(self, done: Callable[[TimedOffsets], None], failed: Callable[[OrbitError], None]) -> None:
        self._callbacks = (done, failed)
        exact = RequestChain(self._source, [FindOffset(self._topic, one, self._at_ms) for one in self._queue_ids])
        self._open = exact
        exact.then(self._take, self._failed)

    def cancel(self) -> None:
        """Ask no more."""
        self._callbacks = None
        if self._open is not None:
            self._open.cancel()

    def _take(self, answers: list[FoundOffset]) -> None:
        self._found = {queue: answer.offset for queue, answer in zip(self._queue_ids, answers, strict=True)}
        self._try_next()

    def _try_next(self) -> None:
        if not self._times:
            self._done(None)
            return
        at_ms = self._times.pop(0)
        asked = RequestChain(self._source, [ask_offset_of_time(self._topic, one, at_ms) for one in self._queue_ids])
        self._open = asked
        asked.then(lambda answers: self._compare(at_ms, answers), self._failed)

    def _compare(self, at_ms: int, answers: list[BrokerAnswer]) -> None:
        try:
            told = {queue: read_offset(answer.fields) for queue, answer in zip(self._queue_ids, answers, strict=True)}
        except JsonBodyError as error:
            self._failed(error)
            return
        if told == self._found:
            self._done(at_ms)
        else:
            self._try_next()

    def _done(self, request_ms: int | None) -> None:
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            callbacks[0](TimedOffsets(self._found, request_ms))

    def _failed(self, error: OrbitError) -> None:
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            callbacks[1](error)


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


class OffsetReset:
    """A `Pending` of a `ResetResult`. The broker records each request that changes something before it acts.

    It succeeds where the broker's own account agrees with the order: what it told the members, or the offsets it keeps.
    """

    def __init__(self, source: ClusterSource, snapshots: OffsetSnapshots, order: ResetOrder) -> None:
        self._source = source
        self._snapshots = snapshots
        self._order = order
        self._open: Pending[BrokerAnswer] | RequestChain[BrokerAnswer] | None = None
        self._snapshot: OffsetSnapshot | None = None
        self._callbacks: tuple[Callable[[ResetResult], None], Callable[[OrbitError], None]] | None = None

    def then(self, done: Callable[[ResetResult], None], failed: Callable[[OrbitError], None]) -> None:
        self._callbacks = (done, failed)
        fields = {"consumerGroup": self._order.group, "topic": self._order.topic}
        standing = self._source.ask(AskBroker(RequestCode.GET_CONSUME_STATS, fields))
        self._open = standing
        standing.then(self._keep, self._failed)

    def cancel(self) -> None:
        """Send no more requests; the broker still executes those already sent."""
        self._callbacks = None
        if self._open is not None:
            self._open.cancel()

    def _keep(self, answer: BrokerAnswer) -> None:
        order = self._order
        if answer.notice:
            # Offsets that could not be read could not be restored.
            text = tr("Nothing was changed, as not all offsets could be kept for an undo. {reason}",
                      reason=broker_text(answer.notice))  # fmt: skip
            self._failed(NetworkError(text))
            return
        try:
            stats = read_consume_stats(answer.body)
        except JsonBodyError as error:
            self._failed(error)
            return
        standing = {queue.queue_id: told.consumer_offset for queue, told in stats.items() if queue.topic == order.topic}
        # The broker returns 0 for a missing offset, which must not be restored.
        moves = [replace(move, now=standing.get(move.queue_id, move.now) if move.now >= 0 else -1) for move in order.moves]
        self._snapshot = snapshot_of(order.group, order.topic, order.now_ms, moves, order.reason)
        self._snapshots.add(self._snapshot)
        self._move(by_members=order.has_members)

    def _move(self, *, by_members: bool) -> None:
        order = self._order
        if by_members:
            requests = online_requests(order.group, order.topic, order.moves, order.timestamp_ms)
        else:
            requests = offline_requests(order.group, order.topic, order.moves)
        chain = self._open = RequestChain(self._source, requests)
        if by_members:
            chain.then(self._members_told, self._refused)
        else:
            chain.then(lambda _answers: self._read_back(), self._failed)

    def _members_told(self, answers: list[BrokerAnswer]) -> None:
        try:
            tables = [read_reset_offsets(answer.body) for answer in answers]
        except JsonBodyError as error:
            self._failed(error)
            return
        topic = self._order.topic
        stands = {queue.queue_id: at for table in tables for queue, at in table.items() if queue.topic == topic}
        self._judge(stands, by_members=True)

    def _read_back(self) -> None:
        order = self._order
        asked = [ask_group_offset(order.group, order.topic, move.queue_id) for move in order.moves]
        chain = self._open = RequestChain(self._source, asked)
        chain.then(self._stands_read, self._failed)

    def _stands_read(self, answers: list[BrokerAnswer]) -> None:
        try:
            found = [read_offset(answer.fields) for answer in answers]
        except JsonBodyError as error:
            self._failed(error)
            return
        ids = [move.queue_id for move in self._order.moves]
        self._judge(dict(zip(ids, found, strict=True)), by_members=False)

    def _judge(self, stands: dict[int, int], *, by_members: bool) -> None:
        moves = self._order.moves
        elsewhere = strayed(moves, stands, to_the_end=by_members and self._order.timestamp_ms == TO_THE_END)
        if elsewhere:
            move, at = elsewhere[0]
            self._failed(RemoteError(strayed_text(move, at, len(elsewhere), len(moves)), topic=self._order.topic))
        else:
            self._done(by_members=by_members)

    def _refused(self, error: OrbitError) -> None:
        if error.context.get("code") == ResponseCode.CONSUMER_NOT_ONLINE:
            # The last member left meanwhile: no member is left to move the group.
            self._move(by_members=False)
        else:
            self._failed(error)

    def _done(self, *, by_members: bool) -> None:
        callbacks, self._callbacks = self._callbacks, None
        assert self._snapshot is not None
        if callbacks is not None:
            callbacks[0](ResetResult(self._snapshot, by_members))

    def _failed(self, error: OrbitError) -> None:
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            callbacks[1](error)


def strayed_text(move: QueueMove, at: int, count: int, all_count: int) -> str:
    """That queues went elsewhere, with the first of them as an example."""
    place = count_text(at) if at >= 0 else tr("an unknown offset")
    return tr(
        "{count} of {all} went elsewhere: queue {queue} is at {at}, not at {after}. The offsets of before are saved: "
        "the tab Offsets puts them back.",
        count=count, all=all_count, queue=move.queue_id, at=place, after=count_text(move.after),
    )  # fmt: skip


def result_text(result: ResetResult, group: str) -> str:
    if result.by_members:
        return tr("The members of {group} were told; each stops for about 10 s and goes on from the new offsets", group=group)
    return tr("{group} starts at the new offsets when its next client comes", group=group)
