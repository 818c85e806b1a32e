"""Reset of a group's offsets: the new offset of each queue, its consequences, and the requests. Pure.

Source: docs/spec/remoting.md §2.2.4 (15), §2.2.5 (29), §2.5.7 (222), docs/spec/broker.md §12.3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum

from broker_core.api import RequestCode
from broker_core.outside import read_json
from broker_core.worker.questions.administration import AskBroker

TO_THE_END = -1
"""Timestamp of a reset to the end of the queue."""


class ResetKind(Enum):
    TIME = "time"
    EARLIEST = "earliest"
    LATEST = "latest"
    SHIFT = "shift"
    OFFSET = "offset"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class QueueStand:
    """A queue before a reset. -1 is unknown."""

    queue_id: int
    min_offset: int
    max_offset: int
    group_offset: int


@dataclass(frozen=True, slots=True)
class QueueMove:
    """The effect of a reset on one queue. -1 is unknown."""

    queue_id: int
    min_offset: int
    max_offset: int
    now: int
    after: int
    """New offset of the group; -1: unknown, the queue keeps its offset."""

    @property
    def moves(self) -> bool:
        return self.after >= 0 and self.after != self.now

    @property
    def repeated(self) -> int:
        """Messages that are delivered again; -1 if an offset is unknown."""
        return max(0, self.now - max(self.after, self.min_offset)) if self._is_known else -1

    @property
    def skipped(self) -> int:
        """Messages that are never delivered; -1 if an offset is unknown."""
        return max(0, self.after - max(self.now, self.min_offset)) if self._is_known else -1

    @property
    def lag_after(self) -> int:
        """Messages pending after the reset; -1 if unknown."""
        if self.after < 0 or self.max_offset < 0:
            return -1
        return max(0, self.max_offset - max(self.after, self.min_offset))

    @property
    def _is_known(self) -> bool:
        return self.now >= 0 and self.after >= 0


def plan_moves(
    stands: Sequence[QueueStand],
    kind: ResetKind,
    *,
    shift: int = 0,
    offset: int = 0,
    found: Mapping[int, int] | None = None,
    own: Mapping[int, int] | None = None,
) -> list[QueueMove]:
    """The effect of a reset on each queue: one move a queue, its offset limited to the range of the queue.

    Args:
        stands: The queues before the reset.
        kind: How the new offsets are chosen.
        shift: Messages forward, negative back; for `ResetKind.SHIFT`.
        offset: For `ResetKind.OFFSET`.
        found: Offset by queue id, of a time or of the other group; a queue that is missing here keeps its offset.
        own: Offset by queue id that the user set for single queues; overrides all others.
    """
    moves = []
    for stand in stands:
        wanted = (own or {}).get(stand.queue_id, _wanted(stand, kind, shift, offset, found or {}))
        after = -1 if wanted is None else _within(stand, wanted)
        moves.append(QueueMove(stand.queue_id, stand.min_offset, stand.max_offset, stand.group_offset, after))
    return moves


def _wanted(stand: QueueStand, kind: ResetKind, shift: int, offset: int, found: Mapping[int, int]) -> int | None:
    match kind:
        case ResetKind.EARLIEST:
            return stand.min_offset if stand.min_offset >= 0 else None
        case ResetKind.LATEST:
            return stand.max_offset if stand.max_offset >= 0 else None
        case ResetKind.SHIFT:
            return stand.group_offset + shift if stand.group_offset >= 0 else None
        case ResetKind.OFFSET:
            return offset
        case ResetKind.TIME | ResetKind.GROUP:
            wanted = found.get(stand.queue_id, -1)
            return wanted if wanted >= 0 else None


def _within(stand: QueueStand, offset: int) -> int:
    low, high = max(0, stand.min_offset), stand.max_offset
    return max(low, min(offset, high)) if high >= low else max(low, offset)


# ---- requests ----------------------------------------------------------------------------------------------------------


def ask_offset_of_time(topic: str, queue_id: int, timestamp_ms: int) -> AskBroker:
    """Request where a reset by time of the whole topic takes a queue, exact or not. Answer: `read_offset`."""
    fields = {"topic": topic, "queueId": str(queue_id), "timestamp": str(timestamp_ms)}
    return AskBroker(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, fields)


def online_requests(group: str, topic: str, moves: Sequence[QueueMove], timestamp_ms: int | None = None) -> list[AskBroker]:
    """Requests that make the online members of a group continue at new offsets.

    Args:
        group: The consumer group.
        topic: Its topic.
        moves: One for each queue that moves.
        timestamp_ms: Set when all queues of the topic move to this time, or to `TO_THE_END`. A single request then moves
            them all, and members stop once instead of once a queue.
    """
    base = {"topic": topic, "group": group, "isForce": "true"}
    if timestamp_ms is not None:
        return [AskBroker(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, base | {"timestamp": str(timestamp_ms)})]
    return [
        AskBroker(
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
            base | {"timestamp": "0", "queueId": str(move.queue_id), "offset": str(move.after)},
        )
        for move in moves
    ]


def offline_requests(group: str, topic: str, moves: Sequence[QueueMove]) -> list[AskBroker]:
    return [
        AskBroker(
            RequestCode.UPDATE_CONSUMER_OFFSET,
            {"consumerGroup": group, "topic": topic, "queueId": str(move.queue_id), "commitOffset": str(move.after)},
        )
        for move in moves
    ]


def ask_group_offset(group: str, topic: str, queue_id: int) -> AskBroker:
    """Request the offset of a group in a queue. Answer: `read_offset`."""
    fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue_id)}
    return AskBroker(RequestCode.QUERY_CONSUMER_OFFSET, fields)


def strayed(moves: Sequence[QueueMove], stands: Mapping[int, int], *, to_the_end: bool) -> list[tuple[QueueMove, int]]:
    """Moves whose queue stands elsewhere by the broker's own account, with where it stands; -1 where it does not tell.

    ``to_the_end``: the broker found the ends itself, so messages that came meanwhile are behind the group, too.
    """
    told = [(move, stands.get(move.queue_id, -1)) for move in moves]
    return [(move, at) for move, at in told if not (at >= move.after if to_the_end else at == move.after)]


# ---- snapshots ---------------------------------------------------------------------------------------------------------

SNAPSHOTS_MAX = 20


@dataclass(frozen=True, slots=True)
class OffsetSnapshot:
    """Offsets of a group on a topic before a reset."""

    group: str
    topic: str
    taken_ms: int
    offsets: tuple[tuple[int, int], ...]
    """Queue id and offset; queues with an unknown offset are left out."""
    reason: str
    """The change that followed: a member of `ResetKind`, or ``undo``."""


def snapshot_of(group: str, topic: str, taken_ms: int, moves: Sequence[QueueMove], reason: str) -> OffsetSnapshot:
    """The current offsets of the queues of a reset."""
    offsets = tuple((move.queue_id, move.now) for move in moves if move.moves and move.now >= 0)
    return OffsetSnapshot(group, topic, taken_ms, offsets, reason)


def snapshots_to_text(snapshots: Sequence[OffsetSnapshot]) -> str:
    """Snapshots as JSON, the last `SNAPSHOTS_MAX` of them."""
    return json.dumps([asdict(snapshot) for snapshot in snapshots[-SNAPSHOTS_MAX:]])


def snapshots_from_text(text: str) -> list[OffsetSnapshot]:
    """Parse snapshots; invalid entries are left out."""
    try:
        items = read_json(text or "[]")
    except ValueError:
        return []
    return [made for item in items if (made := _snapshot(item)) is not None] if isinstance(items, list) else []


def _snapshot(item: object) -> OffsetSnapshot | None:
    try:
        assert isinstance(item, dict)
        offsets = tuple((int(queue), int(offset)) for queue, offset in item["offsets"])
        return OffsetSnapshot(
            str(item["group"]), str(item["topic"]), int(item["taken_ms"]), offsets, str(item.get("reason", ""))
        )
    except (AssertionError, KeyError, TypeError, ValueError, OverflowError):
        return None
