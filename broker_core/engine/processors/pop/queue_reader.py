"""Reads one queue for a pop: first offset, messages, checkpoint (Source: docs/spec/broker.md §6.7 steps 3 to 5)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from broker_core.engine.processors.message_filter import EVERYTHING
from broker_core.engine.processors.pop import handle as names
from broker_core.engine.processors.pop.checkpoint import CheckpointKey, PopCheckpoint
from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.order_info import OrderInfo, OrderRecord
from broker_core.engine.processors.pop.outstanding import Outstanding
from broker_core.engine.processors.pop.request import PopRequest
from broker_core.engine.store.results import GetResult, GetStatus
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.frame import Buffer
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.popped import POP_HANDLE
from broker_core.protocol.message.receipt_handle import FLAG_NORMAL, ORDER_REVIVE_QUEUE, ReceiptHandle, flag_of
from broker_core.protocol.message.record import decode_record, encode_record, read_head

SCANS_MAX = 16
"""Reads of one queue by one pop whose filter accepts nothing; each reads 800 messages or more."""

ANSWER_BYTES_MAX = 4 * 1024 * 1024
"""A pop that has so many bytes reads no further queue, because clients take frames of at most 16 MiB."""

_MOVED = (GetStatus.OFFSET_TOO_SMALL, GetStatus.OFFSET_OVERFLOW_BADLY, GetStatus.OFFSET_FOUND_NULL)
_SKIPPED = (GetStatus.NO_MATCHED_MESSAGE, GetStatus.MESSAGE_WAS_REMOVING, GetStatus.OFFSET_FOUND_NULL)


@dataclass(slots=True)
class PopAnswer:
    """What one pop has collected.

    Attributes:
        size: Bytes of the records.
        rest: Known number of messages that were not taken.
        is_behind: The filter has accepted nothing yet, and there are more messages to read.
        free_ms: When the first of the blocked queues is free; 0 when none is blocked.
    """

    pop_time_ms: int
    revive_queue: int
    records: list[Buffer] = field(default_factory=list)
    size: int = 0
    rest: int = 0
    is_behind: bool = False
    free_ms: int = 0
    start_offsets: list[str] = field(default_factory=list)
    message_offsets: list[str] = field(default_factory=list)
    order_counts: list[str] = field(default_factory=list)


class PopQueueReader:
    """Reads queues of a group and notes the messages that it hands out.

    A message counts as in memory up to ``memory_bytes`` from the end of the commit log.
    """

    def __init__(self, state: BrokerState, outstanding: Outstanding, orders: OrderInfo, *, memory_bytes: int) -> None:
        self._state = state
        self._store = state.store
        self._outstanding = outstanding
        self._orders = orders
        self._memory_bytes = memory_bytes

    # ---- where to begin ----

    def offset(self, request: PopRequest, queue: QueueOf) -> int:
        """The group's offset in a queue. A group without one gets one first."""
        committed = self._state.offsets.get(queue.group, queue.topic, queue.queue_id)
        if committed >= 0:
            return committed
        offset = self._first_offset(request, queue)
        self._commit(queue, offset)
        if not request.order:  # which has no checkpoints
            self._outstanding.begins(queue)
        return offset

    def _first_offset(self, request: PopRequest, queue: QueueOf) -> int:
        first = max(self._store.min_offset(queue.topic, queue.queue_id), 0)
        if request.from_min or queue.topic != request.topic or (first == 0 and self._first_is_in_memory(queue)):
            return first
        return max(self._store.max_offset(queue.topic, queue.queue_id) - 1, 0)

    def _first_is_in_memory(self, queue: QueueOf) -> bool:
        """Whether the topic is young: then a group that begins with the newest messages gets all of them, as in 5.3.3."""
        records = self._store.get_messages(queue.topic, queue.queue_id, 0, 1).records
        if not records:
            return False
        return self._store.commit_log_max_offset - read_head(records[0], 0).physical_offset <= self._memory_bytes

    def _commit(self, queue: QueueOf, offset: int) -> None:
        self._state.offsets.commit(queue.group, queue.topic, queue.queue_id, offset)

    def has_message(self, request: PopRequest, queue: QueueOf) -> bool:
        """Whether a pop without a filter would find a message."""
        committed = self._state.offsets.get(queue.group, queue.topic, queue.queue_id)
        begin = committed if committed >= 0 else max(self._store.min_offset(queue.topic, queue.queue_id), 0)
        if request.order and self._block_ms(request, queue, committed):
            return False
        return self._store.max_offset(queue.topic, queue.queue_id) > begin

    def _block_ms(self, request: PopRequest, queue: QueueOf, committed: int) -> int:
        """When a queue popped in order is free; 0 when it is free now."""
        record = self._orders.get(queue, committed)
        if record is None or (request.attempt_id is not None and request.attempt_id == record.attempt_id):
            return 0
        until = record.blocked_until()
        return until if until > self._state.clock() else 0

    # ---- reading ----

    def read(self, request: PopRequest, topic: str, queue_id: int, answer: PopAnswer) -> None:
        """Add the queue's messages to the answer, up to the pop's limit."""
        queue = QueueOf(topic, request.group, queue_id)
        offset = self.offset(request, queue)
        end = self._store.max_offset(topic, queue_id)
        if len(answer.records) >= request.count_max or answer.size >= ANSWER_BYTES_MAX:
            answer.rest += max(end - offset, 0)
            return
        if offset == end:
            return
        blocked_ms = self._block_ms(request, queue, offset) if request.order else 0
        if blocked_ms:
            answer.free_ms = min(answer.free_ms, blocked_ms) if answer.free_ms else blocked_ms
            return
        result, begin = self._find(request, queue, offset, answer)
        if not result.records or not self._give(request, queue, begin, result, answer):
            return
        answer.rest += max(result.max_offset - result.next_offset, 0)

    def _find(self, request: PopRequest, queue: QueueOf, offset: int, answer: PopAnswer) -> tuple[GetResult, int]:
        """Read until a message is accepted or the queue ends; the group's offset advances over messages that are not."""
        filtered = request.wanted if queue.topic == request.topic else EVERYTHING
        for _ in range(SCANS_MAX):
            wanted = request.count_max - len(answer.records)
            result = self._store.get_messages(
                queue.topic, queue.queue_id, offset, wanted, accepts=filtered.accepts, matches=filtered.matches
            )
            if result.status in _MOVED or result.status in _SKIPPED:
                if result.next_offset == offset:
                    break
                offset = result.next_offset
                self._commit(queue, offset)
                continue
            return result, offset
        answer.is_behind = offset < self._store.max_offset(queue.topic, queue.queue_id)
        return result, offset

    def _give(self, request: PopRequest, queue: QueueOf, begin: int, result: GetResult, answer: PopAnswer) -> bool:
        records: list[Buffer] = list(result.records)
        if request.order:
            records = self._not_acked(queue, begin, result)
            if not records:
                answer.is_behind = True
                return False
        offsets = [read_head(record, 0).queue_offset for record in records]
        flag = flag_of(queue.group, queue.topic)
        if request.order:
            self._note_order(request, queue, offsets, answer)
        else:
            key = CheckpointKey(queue.topic, queue.group, queue.queue_id, begin, answer.pop_time_ms)
            if not self._outstanding.hand_out(PopCheckpoint(key, request.invisible_ms, tuple(offsets), answer.revive_queue)):
                answer.rest += max(result.max_offset - begin, 0)
                return False
            self._commit(queue, result.next_offset)
        answer.start_offsets.append(names.start_offset_item(flag, queue.queue_id, begin))
        answer.message_offsets.append(names.message_offset_item(flag, queue.queue_id, offsets))
        if flag != FLAG_NORMAL and queue.topic != request.topic:
            handle = ReceiptHandle(
                start_offset=begin,
                pop_time_ms=answer.pop_time_ms,
                invisible_ms=request.invisible_ms,
                revive_queue=answer.revive_queue,
                flag=flag,
                broker_name=self._state.config.broker_name,
                queue_id=queue.queue_id,
                offset=begin,
            )
            records = _with_handles(records, request.topic, handle)
        size = sum(len(record) for record in records)
        answer.records += records
        answer.size += size
        self._state.counters.got(queue.topic, queue.group, len(records), size)
        return True

    def _not_acked(self, queue: QueueOf, begin: int, result: GetResult) -> list[Buffer]:
        """Messages that an orderly pop may hand out: those that were not acked in an earlier pop."""
        former = self._orders.get(queue, begin)
        if former is None:
            return list(result.records)
        left: list[Buffer] = [record for record in result.records if not former.is_acked(read_head(record, 0).queue_offset)]
        if not left:
            self._commit(queue, result.next_offset)
            former.committed = result.next_offset
        return left

    def _note_order(self, request: PopRequest, queue: QueueOf, offsets: list[int], answer: PopAnswer) -> None:
        begin = self._state.offsets.get(queue.group, queue.topic, queue.queue_id)
        record = OrderRecord(answer.pop_time_ms, request.invisible_ms, offsets, request.attempt_id, answer.pop_time_ms)
        self._orders.popped(queue, record, begin)
        flag = flag_of(queue.group, queue.topic)
        answer.order_counts += names.order_count_items(flag, queue.queue_id, record.counts, len(offsets))


def _with_handles(records: list[Buffer], topic: str, handle: ReceiptHandle) -> list[Buffer]:
    """Repeated messages with their handles; all without, if one has no room: clients then make them of the answer's lists."""
    repeated: list[Buffer] = []
    for record in records:
        again = _with_handle(record, topic, handle)
        if again is None:
            return records
        repeated.append(again)
    return repeated


def _with_handle(record: Buffer, topic: str, handle: ReceiptHandle) -> bytes | None:
    """A retried message under its original topic, with the handle that names where it is stored; None without room."""
    message = decode_record(record)
    own = replace(handle, offset=message.queue_offset)
    encoded = props.encode_fitting({props.FIRST_POP_TIME: str(handle.pop_time_ms), **message.properties, POP_HANDLE: str(own)})
    if encoded is None:
        return None
    again = MessageToStore(
        topic=topic,
        queue_id=message.queue_id,
        flag=message.flag,
        sys_flag=message.sys_flag,
        born_timestamp_ms=message.born_timestamp_ms,
        born_host=message.born_host,
        store_host=message.store_host,
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
        body=message.body,
        properties=encoded,
    )
    return encode_record(
        again,
        queue_offset=message.queue_offset,
        physical_offset=message.physical_offset,
        store_timestamp_ms=message.store_timestamp_ms,
    )


def revive_queue_of(request: PopRequest, outstanding: Outstanding) -> int:
    """The revive queue that a pop's handles name."""
    return ORDER_REVIVE_QUEUE if request.order else outstanding.log.next_queue()
