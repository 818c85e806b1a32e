"""All live checkpoints: those with messages that are not settled. Pure state without I/O; the time is an argument.

Until the log is synced past a checkpoint, the ledger holds back the group's offset in ``consumerOffset.json`` and the revive
group's offset, so that a crash forgets no checkpoint.
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
"""Bound on live checkpoints, at about 1 KB each. A pop beyond it is refused."""

EARLY_ACKS_MAX = 10_000
"""Bound on acks read before their checkpoint: a store taken over from RocketMQ still has such a checkpoint in its timer."""


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
    """Live checkpoints by key, by time, and by offset in the revive topic."""

    def __init__(self, *, checkpoints_max: int = CHECKPOINTS_MAX) -> None:
        self._max = checkpoints_max
        self._live: dict[CheckpointKey, PopCheckpoint] = {}
        self._times: list[tuple[int, int, CheckpointKey]] = []
        self._count = 0
        self._in_log: dict[int, OrderedDict[int, None]] = {}
        self._finished: deque[_Finished] = deque()
        self._unsafe: dict[QueueOf, dict[CheckpointKey, int]] = {}
        self._early: OrderedDict[CheckpointKey, _EarlyAck] = OrderedDict()
        self._renewed: dict[tuple[CheckpointKey, int], PopCheckpoint] = {}

    def __len__(self) -> int:
        return len(self._live)

    @property
    def is_full(self) -> bool:
        return len(self._live) >= self._max

    def get(self, key: CheckpointKey) -> PopCheckpoint | None:
        """The checkpoint with this key, if live."""
        return self._live.get(key)

    def renewed(self, first: CheckpointKey, offset: int) -> PopCheckpoint | None:
        """The live checkpoint of a message whose delivery the broker renewed, by the key of that delivery."""
        return self._renewed.get((first, offset))

    def live(self) -> Iterator[PopCheckpoint]:
        return iter(list(self._live.values()))

    # ---- coming and going ----

    def add(self, checkpoint: PopCheckpoint, now_ms: int) -> bool:
        """Add a checkpoint and apply the acks read before it; False when these settle all of its messages."""
        early = self._early.pop(checkpoint.key, None)
        for offset in early.offsets if early is not None and now_ms < early.forget_ms else ():
            checkpoint.mark(offset)
        if checkpoint.is_done:
            return False
        self._live[checkpoint.key] = checkpoint
        if checkpoint.first is not None:
            self._renewed[checkpoint.first, checkpoint.offsets[0]] = checkpoint
        self.schedule(checkpoint, checkpoint.due_ms)
        if checkpoint.log_offset >= 0:
            self._in_log.setdefault(checkpoint.revive_queue, OrderedDict())[checkpoint.log_offset] = None
        return True

    def schedule(self, checkpoint: PopCheckpoint, due_ms: int) -> None:
        """Set when the checkpoint is due."""
        checkpoint.due_ms = due_ms
        self._count += 1
        heapq.heappush(self._times, (due_ms, self._count, checkpoint.key))

    def written(self, checkpoint: PopCheckpoint, log_offset: int, physical_end: int) -> None:
        """Set the offset of a live checkpoint in the revive topic; its former offset no longer counts."""
        if checkpoint.log_offset >= 0:
            self._finished.append(_Finished(checkpoint.revive_queue, checkpoint.log_offset, physical_end))
        checkpoint.log_offset = log_offset
        self._in_log.setdefault(checkpoint.revive_queue, OrderedDict())[log_offset] = None
        self.unsafe(checkpoint, physical_end)

    def finish(self, checkpoint: PopCheckpoint, physical_end: int) -> None:
        """Remove a checkpoint that is settled according to the log up to ``physical_end``."""
        del self._live[checkpoint.key]
        if checkpoint.first is not None and self._renewed.get((checkpoint.first, checkpoint.offsets[0])) is checkpoint:
            del self._renewed[checkpoint.first, checkpoint.offsets[0]]
        if checkpoint.log_offset >= 0:
            self._finished.append(_Finished(checkpoint.revive_queue, checkpoint.log_offset, physical_end))
        else:
            self.safe(checkpoint)
        if len(self._times) > 2 * len(self._live) + _TIMES_SLACK:
            # Acks long before the invisible time ends leave entries here; without this they would stay until then.
            self._times = [(entry.due_ms, place, entry.key) for place, entry in enumerate(self._live.values())]
            heapq.heapify(self._times)

    def due(self, now_ms: int) -> PopCheckpoint | None:
        """The earliest checkpoint that is due; it stays live, so the caller must finish or schedule it."""
        while self._times and self._times[0][0] <= now_ms:
            due_ms, _, key = heapq.heappop(self._times)
            checkpoint = self._live.get(key)
            if checkpoint is not None and checkpoint.due_ms == due_ms:
                return checkpoint
        return None

    def ack_early(self, key: CheckpointKey, offsets: frozenset[int], forget_ms: int) -> None:
        """Keep an ack whose checkpoint is unknown."""
        known = self._early.pop(key, None)
        self._early[key] = _EarlyAck(offsets | known.offsets if known else offsets, forget_ms)
        if len(self._early) > EARLY_ACKS_MAX:
            self._early.popitem(last=False)

    # ---- what may be written to the disk ----

    def unsafe(self, checkpoint: PopCheckpoint, physical_end: int) -> None:
        """Hold the group's written offset back before this checkpoint until the log is synced up to ``physical_end``."""
        self._unsafe.setdefault(checkpoint.key.queue, {})[checkpoint.key] = physical_end

    def safe(self, checkpoint: PopCheckpoint) -> None:
        """Stop holding the written offset back for this checkpoint."""
        held = self._unsafe.get(checkpoint.key.queue)
        if held is not None and held.pop(checkpoint.key, None) is not None and not held:
            del self._unsafe[checkpoint.key.queue]

    def synced(self, physical_end: int) -> None:
        """Release the offsets held back until the log was synced up to ``physical_end``."""
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
        """Whether an offset is held back until the log is synced."""
        return bool(self._unsafe or self._finished)

    def held_offsets(self) -> dict[QueueOf, int]:
        """Queue → offset that its written offset must not exceed."""
        return {queue: min(key.start_offset for key in held) for queue, held in self._unsafe.items()}

    def front(self, revive_queue: int) -> int | None:
        """Offset of the first checkpoint that a revive queue still needs; None without one."""
        places = self._in_log.get(revive_queue)
        return next(iter(places)) if places else None

    def behind(self, revive_queue: int, log_offset: int, count_max: int) -> list[PopCheckpoint]:
        """Live checkpoints before an offset of a revive queue. A linear search, for the rare case of a front that stays."""
        found = (
            checkpoint
            for checkpoint in self._live.values()
            if checkpoint.revive_queue == revive_queue and 0 <= checkpoint.log_offset < log_offset
        )
        return list(islice(found, count_max))
