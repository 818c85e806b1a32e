"""Acks, batches of acks, and changes of the invisible time (Source: docs/spec/broker.md §6.7, docs/spec/remoting.md §2.6.2)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from broker_core.engine.processors.pop.checkpoint import MESSAGES_MAX, CheckpointKey, PopCheckpoint
from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.order_info import OrderInfo, OrderRecord
from broker_core.engine.processors.pop.outstanding import Outstanding
from broker_core.engine.processors.pop.request import INVISIBLE_MS_MAX, find_topic, queue_remark, refuse
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.fields import int_field, long_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import parse_object
from broker_core.protocol.message.receipt_handle import ORDER_REVIVE_QUEUE, ReceiptHandle, parse_handle, real_topic

RENEWAL = "renewal"
"""Header field of a change that the broker makes by itself for a client that keeps its handle."""

ACKS_MAX = 10_000
"""Bound on the entries of one batch of acks."""

_BITS_MAX = 1 << 16
_BATCH_FIELDS = {
    "b": "bitSet", "c": "consumerGroup", "it": "invisibleTime", "pt": "popTime", "q": "queueId", "r": "retry",
    "rq": "reviveQueueId", "so": "startOffset", "t": "topic",
}  # fmt: skip


class AckProcessor:
    """Serves ACK_MESSAGE, BATCH_ACK_MESSAGE and CHANGE_MESSAGE_INVISIBLETIME.

    It calls ``freed`` with topic and group when the block of a queue that is popped in order ends, or will end at another time.
    """

    def __init__(
        self, state: BrokerState, outstanding: Outstanding, orders: OrderInfo, *, freed: Callable[[str, str], None]
    ) -> None:
        self._state = state
        self._outstanding = outstanding
        self._orders = orders
        self._freed = freed

    # ---- ack ----

    def ack(self, peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Note that one message is consumed."""
        handle, queue, offset = self._message(peer, command)
        self._check_offset(queue, offset)
        if handle.is_order:
            self._ack_in_order(queue, offset, handle.pop_time_ms)
        else:
            revive_time_ms = handle.pop_time_ms + handle.invisible_ms
            self._outstanding.ack(_key(queue, handle), (offset,), handle.revive_queue, revive_time_ms)
        return command.reply()

    def batch_ack(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Note that several messages are consumed; offsets outside of the queue and of finished pops are ignored."""
        entries = parse_object(command.body).get("acks")
        if not isinstance(entries, list) or not entries or len(entries) > ACKS_MAX:
            refuse(ResponseCode.MESSAGE_ILLEGAL, f"a batch of acks has 1 to {ACKS_MAX:,} entries in “acks”")
        for entry in [_entry(item) for item in entries]:
            self._ack_entry(entry)
        return command.reply()

    def _ack_entry(self, entry: Mapping[str, Any]) -> None:
        topic = real_topic(entry["c"], entry["t"], entry["r"])
        queue = QueueOf(topic, entry["c"], entry["q"])
        first, last = self._bounds(queue)
        offsets = tuple(entry["so"] + bit for bit in _bits(entry["b"]) if first <= entry["so"] + bit <= last)
        if topic not in self._state.topics or not offsets:
            return
        if entry["rq"] == ORDER_REVIVE_QUEUE:
            for offset in offsets:
                self._ack_in_order(queue, offset, entry["pt"])
            return
        key = CheckpointKey(*queue, entry["so"], entry["pt"])
        self._outstanding.ack(key, offsets, entry["rq"], entry["pt"] + entry["it"])

    def _ack_in_order(self, queue: QueueOf, offset: int, pop_time_ms: int) -> None:
        committed = self._state.offsets.get(queue.group, queue.topic, queue.queue_id)
        if offset < committed:
            return  # acked already
        record = self._orders.get(queue, committed)
        if record is None or record.pop_time_ms != pop_time_ms or offset not in record.offsets:
            return  # of a pop that is over: its messages were handed out again
        former_ms = record.blocked_until()
        next_offset = record.next_after(offset)
        if next_offset > committed >= 0:
            self._outstanding.done_in_order(queue, committed, next_offset, record.pop_time_ms)
        self._orders.ack(queue, record, offset)
        self._state.offsets.commit(queue.group, queue.topic, queue.queue_id, next_offset)
        self._tell_held(queue, record, former_ms)

    # ---- change of the invisible time ----

    def change_invisible_time(self, peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Change when a message becomes visible again; its old handle is void afterwards.

        A void handle is refused. 5.3.3 accepts it and then sends a message again that was acked. The handle of a delivery that
        the broker renews by itself (`RENEWAL`) goes on to name it (`renewed`), because its client has no other.
        """
        invisible_ms = long_field(command.ext_fields, "invisibleTime")
        if not 0 <= invisible_ms <= INVISIBLE_MS_MAX:
            remark = f"invisibleTime is {invisible_ms} ms, allowed are 0 to {INVISIBLE_MS_MAX}"
            refuse(ResponseCode.INVALID_PARAMETER, remark)
        handle, queue, offset = self._message(peer, command)
        self._check_offset(queue, offset)
        if handle.is_order:
            pop_time_ms, invisible_ms = self._postpone_in_order(queue, offset, handle, invisible_ms)
        else:
            is_renewal = command.ext_fields.get(RENEWAL) == "true"
            pop_time_ms = self._postpone(queue, offset, handle, invisible_ms, is_renewal=is_renewal)
        fields = {
            "popTime": str(pop_time_ms),
            "invisibleTime": str(invisible_ms),
            "reviveQid": str(handle.revive_queue),
        }
        return command.reply(ext_fields=fields)

    def renewed(self, group: str, topic: str, handle: ReceiptHandle) -> ReceiptHandle | None:
        """The present handle of a delivery that the broker renewed, from its first one; None for another delivery.

        It is known over a kill, because the checkpoint of each renewal names the first one.
        """
        queue = QueueOf(real_topic(group, topic, handle.flag), group, handle.queue_id)
        found = self._outstanding.ledger.renewed(_key(queue, handle), handle.offset)
        if found is None:
            return None
        key = found.key
        return replace(
            handle, start_offset=key.start_offset, pop_time_ms=key.pop_time_ms, invisible_ms=found.invisible_ms,
            revive_queue=found.revive_queue,
        )  # fmt: skip

    def _postpone(self, queue: QueueOf, offset: int, handle: ReceiptHandle, invisible_ms: int, *, is_renewal: bool) -> int:
        ledger = self._outstanding.ledger
        old = ledger.get(_key(queue, handle))
        if old is None or offset not in old.pending():
            refuse(ResponseCode.NO_MESSAGE, f"the handle is void, the message was acked or has come again: {handle}")
        # Later than the pop itself, so that the new checkpoint's key differs from the old one's.
        pop_time_ms = max(self._state.clock(), handle.pop_time_ms + 1)
        while ledger.get(CheckpointKey(*queue, offset, pop_time_ms)) is not None:
            pop_time_ms += 1
        new = PopCheckpoint(CheckpointKey(*queue, offset, pop_time_ms), invisible_ms, (offset,), old.revive_queue)
        new.first = (old.first or old.key) if is_renewal else None
        if not self._outstanding.hand_out(new, replaces=old):
            why = self._state.store.write_refusal or "too many messages are out"
            refuse(ResponseCode.SYSTEM_ERROR, f"the new invisible time cannot be stored: {why}")
        self._outstanding.settle(old, (offset,))
        return pop_time_ms

    def _postpone_in_order(self, queue: QueueOf, offset: int, handle: ReceiptHandle, invisible_ms: int) -> tuple[int, int]:
        committed = self._state.offsets.get(queue.group, queue.topic, queue.queue_id)
        record = self._orders.get(queue, committed)
        if record is None or record.pop_time_ms != handle.pop_time_ms or offset not in record.pending:
            refuse(ResponseCode.NO_MESSAGE, f"the handle is void, the message was acked or has come again: {handle}")
        former_ms, visible_ms = record.blocked_until(), self._state.clock() + invisible_ms
        self._orders.postpone(record, offset, visible_ms)
        self._tell_held(queue, record, former_ms)
        return record.pop_time_ms, visible_ms - record.pop_time_ms

    def _tell_held(self, queue: QueueOf, record: OrderRecord, former_ms: int) -> None:
        """Have held pops tried whose queue is free at another time than ``former_ms``, when they would be tried else."""
        if record.blocked_until() != former_ms:
            self._freed(queue.topic, queue.group)

    # ---- checks ----

    def _message(self, peer: Peer, command: RemotingCommand) -> tuple[ReceiptHandle, QueueOf, int]:
        fields = command.ext_fields
        group, topic = text_field(fields, "consumerGroup"), text_field(fields, "topic")
        queue_id, offset = int_field(fields, "queueId"), long_field(fields, "offset")
        find_topic(self._state, topic)
        try:
            handle = parse_handle(fields.get("extraInfo", ""))
        except CodecError as error:
            raise RequestRefusedError(error.message, code=ResponseCode.MESSAGE_ILLEGAL) from error
        config = find_topic(self._state, real_topic(group, topic, handle.flag))
        queue = QueueOf(config.name, group, queue_id)
        # A queue with messages may have been readable at the pop. 5.3.3 refuses these acks, and the messages come again.
        if queue_id < 0 or (queue_id >= config.read_queues and self._bounds(queue)[1] <= 0):
            refuse(ResponseCode.MESSAGE_ILLEGAL, queue_remark(config, queue_id, peer))
        return handle, queue, offset

    def _check_offset(self, queue: QueueOf, offset: int) -> None:
        first, last = self._bounds(queue)
        if not first <= offset <= last:
            remark = f"offset is illegal, key:{queue.topic}@{queue.queue_id}, commit:{offset}, store:{first}~{last}"
            refuse(ResponseCode.NO_MESSAGE, remark)

    def _bounds(self, queue: QueueOf) -> tuple[int, int]:
        store = self._state.store
        return store.min_offset(queue.topic, queue.queue_id), store.max_offset(queue.topic, queue.queue_id)


def _key(queue: QueueOf, handle: ReceiptHandle) -> CheckpointKey:
    return CheckpointKey(*queue, handle.start_offset, handle.pop_time_ms)


def _entry(item: object) -> dict[str, Any]:
    if not isinstance(item, dict):
        refuse(ResponseCode.MESSAGE_ILLEGAL, "an entry of a batch of acks is no object")
    entry = {short: item.get(short, item.get(long)) for short, long in _BATCH_FIELDS.items()}
    numbers = ("it", "pt", "q", "rq", "so")
    if not all(isinstance(entry[name], int) for name in numbers) or not all(entry[name] for name in ("c", "t", "b")):
        refuse(ResponseCode.MESSAGE_ILLEGAL, f"an entry of a batch of acks lacks something: {str(item)[:200]}")
    return entry | {name: str(entry[name]) for name in ("c", "t", "b")} | {"r": str(entry["r"] or "0")}


def _bits(text: str) -> list[int]:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        refuse(ResponseCode.MESSAGE_ILLEGAL, f"the bit set “{text[:80]}” of a batch of acks is not base64")
    if len(data) * 8 > _BITS_MAX:
        refuse(
            ResponseCode.MESSAGE_ILLEGAL, f"a bit set of a batch of acks has {len(data) * 8:,} bits, allowed are {_BITS_MAX:,}"
        )
    bits = [8 * place + bit for place, byte in enumerate(data) if byte for bit in range(8) if byte >> bit & 1]
    if len(bits) > MESSAGES_MAX:
        # One pop hands out no more of a queue; each ack that names none in memory costs a record in the log.
        refuse(
            ResponseCode.MESSAGE_ILLEGAL, f"an entry of a batch of acks names {len(bits):,} messages, a pop has {MESSAGES_MAX}"
        )
    return bits
