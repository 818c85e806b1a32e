"""Which messages are out, and when they come again: all checkpoints that are not done with.

Pure state: it reads no store and writes none, the time is an argument. Beside the checkpoints it keeps what must not be
forgotten before it is on the disk: a checkpoint holds back the group's offset that is written to ``consumerOffset.json``, and
the revive group's, until the log has been synced past it.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from broker_core.engine.processors.pop.checkpoint import CheckpointKey, PopCheckpoint
from broker_core.engine.processors.pop.handle import QueueOf

CHECKPOINTS_MAX = 500_000
"""Bound on checkpoints that are not done with; at about 1 KB each. A pop beyond it is refused."""

EARLY_ACKS_MAX = 10_000
"""Bound on acks that came before their checkpoint: those of a store taken over from RocketMQ, whose timer has it still."""


_TIMES_SLACK = 10_000


@dataclass(frozen=True, slots=True)
class _EarlyAck:
    offsets: frozenset[int]
    forget_ms: int


@dataclass(frozen=True, slots=True)
class _Finished:
    revive_queue: int
    log_offset: int
    physical_end: int


class PopLedger:
    """Live checkpoints by key, by time, and by place in the revive topic."""

    def __init__(self, *, checkpoints_max: int = CHECKPOINTS_MAX) -> None:
        self._max = checkpoints_max
        self._live: dict[CheckpointKey, PopCheckpoint] = {}
        self._times: list[tuple[int, int, CheckpointKey]] = []
        self._count = 0
        self._in_log: dict[int, OrderedDict[int, None]] = {}
        self._finished: deque[_Finished] = deque()
        self._unsafe: dict[QueueOf, dict[CheckpointKey, int]] = {}
        self._early: OrderedDict[CheckpointKey, _EarlyAck] = OrderedDict()

    def __len__(self) -> int:
        return len(self._live)

    @property
    def is_full(self) -> bool:
        return len(self._live) >= self._max

    def get(self, key: CheckpointKey) -> PopCheckpoint | None:
        """A checkpoint that is not done with."""
        return self._live.get(key)

    def live(self) -> Iterator[PopCheckpoint]:
        """All checkpoints that are not done with."""
        return iter(list(self._live.values()))

    # ---- coming and going ----

    def add(self, checkpoint: PopCheckpoint, now_ms: int) -> bool:
        """Take in a new checkpoint, with the acks that came before it; False when it is done with already."""
        early = self._early.pop(checkpoint.key, None)
        for offset in early.offsets if early is not None and now_ms < early.forget_ms else ():
            checkpoint.mark(offset)
        if checkpoint.is_done:
            return False
        self._live[checkpoint.key] = checkpoint
        self.schedule(checkpoint, checkpoint.due_ms)
        if checkpoint.log_offset >= 0:
            self._in_log.setdefault(checkpoint.revive_queue, OrderedDict())[checkpoint.log_offset] = None
        return True

    def schedule(self, checkpoint: PopCheckpoint, due_ms: int) -> None:
        """Set when what is not done with comes again."""
        checkpoint.due_ms = due_ms
        self._count += 1
        heapq.heappush(self._times, (due_ms, self._count, checkpoint.key))

    def written(self, checkpoint: PopCheckpoint, log_offset: int, physical_end: int) -> None:
        """Note where in the revive topic a live checkpoint is now; a former place of it no longer counts."""
        if checkpoint.log_offset >= 0:
            self._finished.append(_Finished(checkpoint.revive_queue, checkpoint.log_offset, physical_end))
        checkpoint.log_offset = log_offset
        self._in_log.setdefault(checkpoint.revive_queue, OrderedDict())[log_offset] = None
        self.unsafe(checkpoint, physical_end)

    def finish(self, checkpoint: PopCheckpoint, physical_end: int) -> None:
        """Drop a checkpoint that is done with.

        Args:
            checkpoint: A live one.
            physical_end: The log up to here tells that it is done with.
        """
        del self._live[checkpoint.key]
        if checkpoint.log_offset >= 0:
            self._finished.append(_Finished(checkpoint.revive_queue, checkpoint.log_offset, physical_end))
        else:
            self.safe(checkpoint)
        if len(self._times) > 2 * len(self._live) + _TIMES_SLACK:
            # Those of long invisible times that were acked soon; without this they would stay until then.
            self._times = [(entry.due_ms, place, entry.key) for place, entry in enumerate(self._live.values())]
            heapq.heapify(self._times)

    def due(self, now_ms: int) -> PopCheckpoint | None:
        """A checkpoint whose time is over, the earliest first; it stays live and must be finished or scheduled anew."""
        while self._times and self._times[0][0] <= now_ms:
            due_ms, _, key = heapq.heappop(self._times)
            checkpoint = self._live.get(key)
            if checkpoint is not None and checkpoint.due_ms == due_ms:
                return checkpoint
        return None

    def ack_early(self, key: CheckpointKey, offsets: frozenset[int], forget_ms: int) -> None:
        """Keep an ack whose checkpoint is not known."""
        known = self._early.pop(key, None)
        self._early[key] = _EarlyAck(offsets | known.offsets if known else offsets, forget_ms)
        if len(self._early) > EARLY_ACKS_MAX:
            self._early.popitem(last=False)

    # ---- what may be written to the disk ----

    def unsafe(self, checkpoint: PopCheckpoint, physical_end: int) -> None:
        """Hold the group's written offset back before this checkpoint until the log is synced up to ``physical_end``."""
        self._unsafe.setdefault(checkpoint.key.queue, {})[checkpoint.key] = physical_end

    def safe(self, checkpoint: PopCheckpoint) -> None:
        """Hold nothing back for this checkpoint any more."""
        held = self._unsafe.get(checkpoint.key.queue)
        if held is not None and held.pop(checkpoint.key, None) is not None and not held:
            del self._unsafe[checkpoint.key.queue]

    def synced(self, physical_end: int) -> None:
        """The log is on the disk up to here: let go of what waited for it."""
        while self._finished and self._finished[0].physical_end <= physical_end:
            gone = self._finished.popleft()
            self._in_log[gone.revive_queue].pop(gone.log_offset, None)
        for queue in list(self._unsafe):
            held = self._unsafe[queue]
            for key in [key for key, end in held.items() if end <= physical_end]:
                del held[key]
            if not held:
                del self._unsafe[queue]

    @property
    def is_unsynced(self) -> bool:
        """Whether something waits for the log to be synced."""
        return bool(self._unsafe or self._finished)

    def held_offsets(self) -> dict[QueueOf, int]:
        """Queues whose written offset must not pass the one given."""
        return {queue: min(key.start_offset for key in held) for queue, held in self._unsafe.items()}

    def front(self, revive_queue: int) -> int | None:
        """Place of the first checkpoint of a revive queue that is still needed; None where there is none."""
        places = self._in_log.get(revive_queue)
        return next(iter(places)) if places else None

    def behind(self, revive_queue: int, log_offset: int, count_max: int) -> list[PopCheckpoint]:
        """Live checkpoints of a revive queue before a place in it. Searches; for the rare case that the front stands still."""
        found = (
            checkpoint
            for checkpoint in self._live.values()
            if checkpoint.revive_queue == revive_queue and 0 <= checkpoint.log_offset < log_offset
        )
        return list(islice(found, count_max))
