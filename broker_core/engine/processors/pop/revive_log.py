"""The revive topic: checkpoints and acks as messages, so that a kill and another broker keep them.

    pop                     ck   → revive queue                      ┐
    ack                     ack  → the same queue, after its ck      ├ read at start, from one after the revive group's offset
    message is sent again   ack  → likewise, after its copy's put    │
    ack in order            ck   → of messages that are acked already┘

RocketMQ sends these records through its timer, so that it reads a checkpoint when it is due. Orbit writes them to the
revive queue directly: the ledger in memory knows the times, and records in their true order make a restart exact. Their
TIMER_DELIVER_MS is the time of writing. A RocketMQ that takes the store over uses it as its clock, so it revives due messages
only. Records of a store taken over from RocketMQ arrive here when its timer delivers them. Acks whose checkpoint is still in
the timer are sent through it too, so that a broker reads them after the checkpoint.

The revive group's offset is the last finished one and not the next, because RocketMQ starts one after it.

Source: docs/spec/broker.md §6.7, docs/spec/store.md §7.9.
"""

from __future__ import annotations

import logging

from broker_core.engine.processors.pop import checkpoint as codec
from broker_core.engine.processors.pop.checkpoint import AckRecord, CheckpointKey, PopCheckpoint
from broker_core.engine.processors.pop.handle import QueueOf, revive_topic
from broker_core.engine.processors.pop.ledger import PopLedger
from broker_core.engine.schedule.timer.messages import OUT_MS
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import MessageToStore, StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import REVIVE_GROUP, REVIVE_LOG_PREFIX, WHEEL_TIMER_TOPIC

logger = logging.getLogger(__name__)


TIMER_DELIVER_MS = "TIMER_DELIVER_MS"
TIMER_ENQUEUE_MS = "TIMER_ENQUEUE_MS"

ACK_WAIT_MS = 3_000
"""Wait after a timer delivered a checkpoint, because the timer delivers its acks up to 2 s later."""

EARLY_ACK_MS = 24 * 3_600_000
"""Time for which an ack without its checkpoint is kept."""

GROUPS_SLACK_MS = 1_000
"""Longest time between the content of the file of the groups and the end of its write."""

REWRITE_BEHIND = 20_000
"""A checkpoint with so many records after it is written again at the end, so that a start need not read them all."""

_Popped = tuple[PopCheckpoint, bool]
"""A checkpoint, and whether `ReviveLog.write_progress` wrote it."""
_READ_COUNT = 32
_REWRITE_COUNT = 256


class ReviveLog:
    """Writes checkpoints and acks, and reads them back into the ledger."""

    def __init__(self, state: BrokerState, ledger: PopLedger) -> None:
        self._state = state
        self._store = state.store
        self._ledger = ledger
        self.topic = revive_topic(state.config.cluster_name)
        self._next: dict[int, int] = {}
        self._rotation = 0
        self._offsets_ms = self._groups_ms = -1
        self._popped_later: list[_Popped] | None = None

    @property
    def queue_count(self) -> int:
        """Queues of the revive topic."""
        return max(self._state.config.revive_queue_count, 1)

    def next_queue(self) -> int:
        """The revive queue of the next pop, in turn."""
        queue = self._rotation % self.queue_count
        self._rotation += 1
        return queue

    # ---- writing ----

    def write_checkpoint(self, checkpoint: PopCheckpoint) -> bool:
        """Write a checkpoint; False when the store refuses it."""
        body = codec.encode_checkpoint(checkpoint, self._state.config.broker_name)
        unique = codec.checkpoint_unique_key(checkpoint.key, self._state.config.broker_name)
        result = self._put(checkpoint.revive_queue, codec.CHECKPOINT_TAG, unique, body)
        if result.status is not PutStatus.PUT_OK:
            return False
        self._ledger.written(checkpoint, result.queue_offset, result.physical_offset + result.wrote_bytes)
        return True

    def write_progress(self, queue: QueueOf, begin: int, end: int, pop_time_ms: int) -> bool:
        """Write that a group that consumes in order has done with the offsets from ``begin`` up to ``end``.

        A start moves the group's offset there, which a kill may keep from its file; the last offsets are enough for that.
        RocketMQ finds nothing left to send again.

        Returns:
            False when the store refuses it.
        """
        offsets = tuple(range(max(begin, end - codec.MESSAGES_MAX), end))
        key = CheckpointKey(*queue, offsets[0], pop_time_ms)
        done = PopCheckpoint(key, 0, offsets, self.next_queue(), acked=(1 << len(offsets)) - 1)
        body = codec.encode_checkpoint(done, self._state.config.broker_name)
        unique = codec.checkpoint_unique_key(key, self._state.config.broker_name)
        return self._put(done.revive_queue, codec.CHECKPOINT_TAG, unique, body).status is PutStatus.PUT_OK

    def write_ack(
        self, key: CheckpointKey, offsets: tuple[int, ...], revive_queue: int, *, deliver_ms: int | None = None
    ) -> int | None:
        """Write that messages of a checkpoint are settled; returns the log's end after the record, None after a refusal.

        With ``deliver_ms`` the timer delivers the record to ``revive_queue`` at this time.
        """
        ack = AckRecord(key, offsets)
        name = self._state.config.broker_name
        tag = codec.ACK_TAG if len(offsets) == 1 else codec.BATCH_ACK_TAG
        result = self._put(revive_queue, tag, codec.ack_unique_key(ack, name), codec.encode_ack(ack, name), deliver_ms)
        if result.status is not PutStatus.PUT_OK:
            return None
        return result.physical_offset + result.wrote_bytes

    def _put(self, revive_queue: int, tag: str, unique_key: str, body: bytes, deliver_ms: int | None = None) -> PutResult:
        now_ms = self._state.clock()
        properties = {props.TAGS: tag, props.UNIQUE_KEY: unique_key, TIMER_DELIVER_MS: str(deliver_ms or now_ms)}
        topic, queue = self.topic, revive_queue
        if deliver_ms is not None:
            precision_ms = self._state.config.store.timer_precision_ms
            properties |= {
                OUT_MS: str((deliver_ms - 1) // precision_ms * precision_ms),
                props.REAL_TOPIC: topic,
                props.REAL_QUEUE_ID: str(queue),
            }
            topic, queue = WHEEL_TIMER_TOPIC, 0
        host = self._state.store_host
        encoded = props.encode_properties(properties)
        result = self._store.put(MessageToStore(topic, queue, 0, 0, now_ms, host, host, 0, 0, body, encoded))
        if deliver_ms is None and result.status is PutStatus.PUT_OK and self._next.get(revive_queue) == result.queue_offset:
            self._next[revive_queue] += 1
        return result

    # ---- reading ----

    def reads(self, queue: int) -> bool:
        """Whether the records of a revive queue are read, since `load`."""
        return queue in self._next

    def load(self, offsets_ms: int, groups_ms: int) -> None:
        """Read everything after the revive group's offsets, at start.

        A group whose first pop came after ``groups_ms``, when the file of the groups was written, exists: a kill kept it from
        the file.

        Pops after ``offsets_ms``, when the file of the consumers' offsets was written (-1: never), move these on, because a
        kill keeps them from the file: their messages would be handed out again, acked or not.
        """
        for queue in self._queues():
            self._next[queue] = max(self._finished(queue) + 1, self._store.min_offset(self.topic, queue), 0)
        popped: list[_Popped] = []
        self._offsets_ms, self._groups_ms, self._popped_later = offsets_ms, groups_ms - GROUPS_SLACK_MS, popped
        self.poll()
        self._popped_later = None
        self._move_on(popped)
        if len(self._ledger):
            logger.info("%d pops with messages that are not acked yet are known again", len(self._ledger))

    def _queues(self) -> list[int]:
        """Those of new pops, and those of a time when ``reviveQueueNum`` was larger: a timer may still deliver to them."""
        kept = {queue for topic, queue in self._store.queues() if topic == self.topic}
        config = self._state.topics.get(self.topic)
        return sorted(kept.union(range(self.queue_count), range(0 if config is None else config.read_queues)))

    def clusters_left(self) -> list[str]:
        """Other cluster names under which messages were popped and not acked; their revive topics are not read."""
        others = {topic for topic, _queue in self._store.queues() if topic.startswith(REVIVE_LOG_PREFIX)} - {self.topic}
        return sorted(topic.removeprefix(REVIVE_LOG_PREFIX) for topic in others if self._has_unfinished(topic))

    def _has_unfinished(self, topic: str) -> bool:
        queues = [queue for name, queue in self._store.queues() if name == topic]
        offsets, end = self._state.offsets, self._store.max_offset
        return any(offsets.get(REVIVE_GROUP, topic, queue) + 1 < end(topic, queue) for queue in queues)

    def _finished(self, queue: int) -> int:
        """Offset of the last finished record; -1, so that all are read, where the stored one is not of this queue."""
        finished, end = self._state.offsets.get(REVIVE_GROUP, self.topic, queue), self._store.max_offset(self.topic, queue)
        if finished < 0 or finished < end:
            return finished
        logger.warning("%s queue %d is finished up to %d, and ends at %d; it is read again", self.topic, queue, finished, end)
        self._state.offsets.forget(REVIVE_GROUP, self.topic, queue)
        return -1

    def _move_on(self, popped: list[_Popped]) -> None:
        """Set the offsets of groups behind what they popped; a pop that does not begin at a group's offset changes none.

        Before what `write_progress` wrote, everything is done.
        """
        offsets = self._state.offsets
        for found, is_progress in sorted(popped, key=lambda one: (one[0].key.pop_time_ms, one[0].key.start_offset)):
            key, end = found.key, found.offsets[-1] + 1
            present = offsets.get(key.group, key.topic, key.queue_id)
            if present < 0 or ((is_progress or key.start_offset <= present) and present < end):
                offsets.commit(key.group, key.topic, key.queue_id, end)

    def poll(self) -> None:
        """Read records of other writers: at start the former owner's, later those that a timer delivered."""
        for queue, offset in self._next.items():
            if offset < self._store.max_offset(self.topic, queue):
                self._read(queue)

    def _read(self, queue: int) -> None:
        while True:
            result = self._store.get_messages(self.topic, queue, self._next[queue], _READ_COUNT)
            for record in result.records:
                self._take(queue, record)
            if result.next_offset <= self._next[queue]:
                return
            self._next[queue] = result.next_offset

    def _take(self, queue: int, record: memoryview) -> None:
        try:
            message = decode_record(record)
            tag = message.properties.get(props.TAGS)
            if tag == codec.CHECKPOINT_TAG:
                self._take_checkpoint(queue, message)
            elif tag in (codec.ACK_TAG, codec.BATCH_ACK_TAG):
                self._take_ack(codec.decode_ack(message.body, batch=tag == codec.BATCH_ACK_TAG), message)
        except CodecError as error:
            logger.warning("a record of %s queue %d is left out: %s", self.topic, queue, error.message)

    def _take_checkpoint(self, queue: int, message: StoredMessage) -> None:
        found = codec.decode_checkpoint(message.body, revive_queue=queue, log_offset=message.queue_offset)
        end = message.physical_offset + message.store_size
        if self._popped_later is not None and message.store_timestamp_ms >= self._offsets_ms:
            self._popped_later.append((found, found.is_done))
        if self._popped_later is not None and message.store_timestamp_ms >= self._groups_ms:
            self._state.groups.restore(found.key.group)
        known = self._ledger.get(found.key)
        if known is None and found.is_done:
            return
        if known is not None:
            # The checkpoint was written again, with the acks so far.
            known.acked |= found.acked
            self._ledger.written(known, message.queue_offset, end)
            return
        if TIMER_ENQUEUE_MS in message.properties:
            found.due_ms = max(found.due_ms, message.store_timestamp_ms + ACK_WAIT_MS)
        else:
            found.popped_before = message.physical_offset
        self._ledger.add(found, self._state.clock())

    def _take_ack(self, ack: AckRecord, message: StoredMessage) -> None:
        known = self._ledger.get(ack.key)
        if known is None:
            self._ledger.ack_early(ack.key, frozenset(ack.offsets), message.store_timestamp_ms + EARLY_ACK_MS)
            return
        for offset in ack.offsets:
            known.mark(offset)
        if known.is_done:
            self._ledger.finish(known, message.physical_offset + message.store_size)

    # ---- progress ----

    def commit_fronts(self) -> None:
        """Set the revive group's offset of each queue to the last record that a start need not read again."""
        self._ledger.synced(self._store.flushed_offset)
        for queue, next_offset in self._next.items():
            front = self._ledger.front(queue)
            finished = (next_offset if front is None else front) - 1
            if finished > self._state.offsets.get(REVIVE_GROUP, self.topic, queue):
                self._state.offsets.commit(REVIVE_GROUP, self.topic, queue, finished)
            if front is not None and next_offset - front > REWRITE_BEHIND:
                for checkpoint in self._ledger.behind(queue, next_offset - REWRITE_BEHIND, _REWRITE_COUNT):
                    self.write_checkpoint(checkpoint)
