"""Rows of the reset dialog and of the list of snapshots. Pure: no widget, no I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gui.models.consumers import PositionRow
from gui.models.table import Move
from gui.models.topics import queue_rows
from monitoring.admin.offsets import OffsetSnapshot, QueueMove, QueueStand
from monitoring.state import ClusterState


@dataclass(frozen=True, slots=True)
class MoveSums:
    """Effect of a reset on all queues together. -1 is unknown: the position in some queue is not known."""

    queues: int
    repeated: int
    skipped: int
    lag_after: int
    unknown: int
    """Queues that stay because their target is not known."""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A snapshot in the list; ``number`` is its place among those of its group."""

    number: int
    snapshot: OffsetSnapshot


def queue_stands(state: ClusterState, topic: str, positions: Sequence[PositionRow]) -> list[QueueStand]:
    """The current queues of a topic, with a group's positions of ``positions``."""
    offsets = {row.queue_id: row.group_offset for row in positions if row.topic == topic}
    return [
        QueueStand(queue.queue_id, queue.min_offset, queue.max_offset, offsets.get(queue.queue_id, -1))
        for queue in queue_rows(state, topic)
    ]


SCALE_PARTS = 3
"""The range of a move takes at least a third of its line."""
SCALE_MESSAGES_MIN = 60


def scale_low(move: QueueMove) -> int:
    """Begin of the line that shows a move; it ends with the queue. A whole queue would hide a small move."""
    known = [offset for offset in (move.now, move.after) if offset >= 0]
    reach = max([move.max_offset - offset for offset in known], default=0)
    return max(0, move.min_offset, move.max_offset - SCALE_PARTS * max(reach, SCALE_MESSAGES_MIN))


def shares_of(move: QueueMove, low: int) -> Move:
    """A move as shares of the line from ``low`` to the end of its queue."""
    length = max(1, move.max_offset - low)

    def share(offset: int) -> float:
        return min(1.0, max(0.0, (offset - low) / length)) if offset >= 0 else math.nan

    return Move(share(move.now), share(move.after))


def offset_at(move: QueueMove, low: int, share: float) -> int:
    """The offset at a share of the line from ``low`` to the end of its queue."""
    return low + round(min(1.0, max(0.0, share)) * max(0, move.max_offset - low))


def sums_of(moves: Sequence[QueueMove]) -> MoveSums:
    """Sum of the moves; queues that stay where they are add only their lag."""
    moving = [move for move in moves if move.moves]
    known = all(move.now >= 0 for move in moving)
    lags = [move.lag_after if move.after >= 0 else _lag_now(move) for move in moves]
    return MoveSums(
        queues=len(moving),
        repeated=sum(move.repeated for move in moving) if known else -1,
        skipped=sum(move.skipped for move in moving) if known else -1,
        lag_after=sum(lags) if all(lag >= 0 for lag in lags) else -1,
        unknown=sum(move.after < 0 for move in moves),
    )


def _lag_now(move: QueueMove) -> int:
    known = move.now >= 0 and move.max_offset >= 0
    return max(0, move.max_offset - max(move.now, move.min_offset)) if known else -1


def undo_moves(snapshot: OffsetSnapshot, stands: Sequence[QueueStand]) -> list[QueueMove]:
    """The moves that restore a snapshot, as far as the queues still hold those messages."""
    before = dict(snapshot.offsets)
    return [
        QueueMove(
            stand.queue_id, stand.min_offset, stand.max_offset, stand.group_offset,
            max(before[stand.queue_id], stand.min_offset) if stand.queue_id in before else -1,
        )
        for stand in stands
    ]  # fmt: skip


def snapshot_rows(snapshots: Sequence[OffsetSnapshot]) -> list[SnapshotRow]:
    return [SnapshotRow(number, snapshot) for number, snapshot in enumerate(snapshots)][::-1]
