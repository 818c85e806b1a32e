"""Messages that consumers hold: handed out, acked, postponed or revived (Source: docs/spec/broker.md §6.7).

With ``enablePopBufferMerge`` a checkpoint stays in memory first. When all of its messages are acked within
``popCkStayBufferTime`` it is never written. Meanwhile the group's offset in ``consumerOffset.json`` is held back, so that the
messages are sent again after a crash.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

from broker_core.engine.processors.pop.checkpoint import CheckpointKey, PopCheckpoint
from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.ledger import PopLedger
from broker_core.engine.processors.pop.revive_log import ACK_WAIT_MS, EARLY_ACK_MS, ReviveLog
from broker_core.engine.tables.consumer_offsets import SEPARATOR, ConsumerOffsets
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode

_NEVER_SYNCED = 1 << 62


class Outstanding:
    """The ledger of live checkpoints, and the revive topic as its log."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self.ledger = PopLedger()
        self.log = ReviveLog(state, self.ledger)
        self._leaving: list[tuple[int, int, CheckpointKey]] = []
        self._new: set[QueueOf] = set()
        self._count = 0

    def begins(self, queue: QueueOf) -> None:
        """A group has had no offset in a queue: its first checkpoint there is written at once.

        After a kill before the offsets were written, a start finds the group's offset by the first checkpoint in the log.
        """
        self._new.add(queue)

    def hand_out(self, checkpoint: PopCheckpoint, *, replaces: PopCheckpoint | None = None) -> bool:
        """Add the checkpoint of a pop; False when it cannot be stored, and its messages must not be sent.

        If ``replaces``, the message's former checkpoint, is in the log, the new one is written at once: the offset file may
        already count the message as handed out, and the caller acks it next.
        """
        now_ms = self._state.clock()
        if self.ledger.is_full or self.ledger.get(checkpoint.key) is not None:
            return False
        checkpoint.due_ms = checkpoint.revive_time_ms
        checkpoint.popped_before = self._state.store.commit_log_max_offset
        self.ledger.add(checkpoint, now_ms)
        in_log = replaces is not None and replaces.log_offset >= 0
        if not in_log and self._may_buffer(checkpoint):
            self._buffer(checkpoint)
        elif not self.log.write_checkpoint(checkpoint):
            self.ledger.finish(checkpoint, 0)
            return False
        self._new.discard(checkpoint.key.queue)
        return True

    def _may_buffer(self, checkpoint: PopCheckpoint) -> bool:
        config = self._state.config
        if not config.pop_buffer_merge or len(self._leaving) >= config.pop_buffer_size_max or checkpoint.key.queue in self._new:
            return False
        return checkpoint.invisible_ms > config.pop_buffer_leave_ms

    def _buffer(self, checkpoint: PopCheckpoint) -> None:
        config = self._state.config
        leave_ms = min(
            checkpoint.key.pop_time_ms + config.pop_buffer_stay_ms, checkpoint.revive_time_ms - config.pop_buffer_leave_ms
        )
        self._count += 1
        heapq.heappush(self._leaving, (leave_ms, self._count, checkpoint.key))
        self.ledger.unsafe(checkpoint, _NEVER_SYNCED)

    def write_buffered(self, until_ms: int | None = None) -> None:
        """Write checkpoints whose time in memory ended by ``until_ms``; all without a time."""
        while self._leaving and (until_ms is None or self._leaving[0][0] <= until_ms):
            _, _, key = self._leaving[0]
            checkpoint = self.ledger.get(key)
            if checkpoint is not None and checkpoint.log_offset < 0 and not self.log.write_checkpoint(checkpoint):
                return  # the store takes nothing now: the next tick tries again
            heapq.heappop(self._leaving)

    def ack(self, key: CheckpointKey, offsets: tuple[int, ...], revive_queue: int, revive_time_ms: int) -> None:
        """Settle messages that were consumed. A repeated or late ack changes nothing.

        Raises:
            RequestRefusedError: The store refuses the ack; the messages will be sent again.
        """
        checkpoint = self.ledger.get(key)
        if checkpoint is None:
            self._ack_unknown(key, offsets, revive_queue, revive_time_ms)
            return
        pending = set(checkpoint.pending())
        new = tuple(offset for offset in offsets if offset in pending)
        if new:
            self.settle(checkpoint, new)

    def _ack_unknown(self, key: CheckpointKey, offsets: tuple[int, ...], revive_queue: int, revive_time_ms: int) -> None:
        """The checkpoint is settled, or still in the timer of a store taken over."""
        now_ms = self._state.clock()
        if now_ms >= revive_time_ms + ACK_WAIT_MS or not self.log.reads(revive_queue):
            return
        config = self._state.config.store
        in_timer = config.timer_wheel and 0 < revive_time_ms - now_ms <= config.timer_max_delay_seconds * 1_000
        if self.log.write_ack(key, offsets, revive_queue, deliver_ms=revive_time_ms if in_timer else None) is None:
            self._refuse_ack(key.queue)
        self.ledger.ack_early(key, frozenset(offsets), now_ms + EARLY_ACK_MS)

    def settle(self, checkpoint: PopCheckpoint, offsets: tuple[int, ...]) -> None:
        """Settle messages of a live checkpoint: acked, or stored again as copies.

        Raises:
            RequestRefusedError: The store refuses the ack; nothing has changed.
        """
        end: int | None = 0
        if checkpoint.log_offset >= 0:
            end = self.log.write_ack(checkpoint.key, offsets, checkpoint.revive_queue)
        if end is None:
            self._refuse_ack(checkpoint.key.queue)
            return
        for offset in offsets:
            checkpoint.mark(offset)
        if checkpoint.is_done:
            self.ledger.finish(checkpoint, end)

    def done_in_order(self, queue: QueueOf, begin: int, end: int, pop_time_ms: int) -> None:
        """Keep over a kill that a group that consumes in order has done with these offsets.

        Raises:
            RequestRefusedError: The store refuses that.
        """
        if not self.log.write_progress(queue, begin, end, pop_time_ms):
            self._refuse_ack(queue)

    def _refuse_ack(self, queue: QueueOf) -> None:
        remark = (
            f"the ack of topic {queue.topic} queue {queue.queue_id} for group {queue.group} cannot be stored "
            f"({self._state.store.write_refusal}); the messages will come again"
        )
        raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)

    def drop(self, checkpoint: PopCheckpoint) -> None:
        """Remove a checkpoint of a deleted topic or group."""
        self.ledger.finish(checkpoint, self._state.store.commit_log_max_offset)

    # ---- what the offset file may say ----

    def offsets_to_write(self, offsets: ConsumerOffsets) -> Mapping[str, Any]:
        """Content of ``consumerOffset.json`` with no offset after a checkpoint that is not on disk."""
        self.ledger.synced(self._state.store.flushed_offset)
        self._new = {queue for queue in self._new if offsets.get(queue.group, queue.topic, queue.queue_id) >= 0}
        content = offsets.to_json()
        table: dict[str, dict[str, int]] = content["offsetTable"]
        for queue, offset in self.ledger.held_offsets().items():
            queues = table.get(queue.topic + SEPARATOR + queue.group)
            name = str(queue.queue_id)
            if queues is not None and queues.get(name, -1) > offset:
                queues[name] = offset
        return content
