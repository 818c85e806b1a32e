"""Requests of producers with atomic transactions; codes and fields of Orbit's own (Source: docs/spec/kafka.md §3.8).

INIT_ATOMIC_PRODUCER  tid?, timeoutMs, pid?, epoch?          → pid, epoch
SEND_ATOMIC_MESSAGE   a send's short fields, kp, ke, ks, kt? → as a send
ADD_ATOMIC_OFFSETS    tid, pid, epoch, group, clientId       body: {"offsets": [[topic, queueId, offset], …]}
END_ATOMIC            tid, pid, epoch, commit                → pid, epoch for the next transaction
LIST_ATOMIC           tid?                                   body of the answer: {"transactions": […]}
PULL_UNCOMMITTED      topic, queueId, queueOffset, maxMsgNums → as a pull, open and aborted messages too; never held
LET_TOPIC_TAKE_PART   topic, queues?                         a topic that is not there is made
STABLE_OFFSET         consumerGroup, topic, queueId          → offset; refused while a transaction may change it
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from broker_core.engine.atomic.sequences import StoredBatch
from broker_core.engine.processors.atomic_service import ATTRIBUTE, ATTRIBUTE_VALUE, AtomicService
from broker_core.engine.processors.client_commits import commit_fault
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.send_header import parse_send_header
from broker_core.engine.processors.send_processor import SendProcessor
from broker_core.engine.processors.topic_processor import TopicProcessor
from broker_core.engine.store.results import GetStatus, PutStatus
from broker_core.engine.tables.peer import Peer, host_of
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.atomic import (
    PROPERTY,
    AtomicRefusedError,
    Identity,
    OffsetKey,
    QueueKey,
    Refusal,
    Stamp,
    Transactional,
)
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.fields import bool_field, int_field, long_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, emit, parse_object
from broker_core.protocol.message.batch import decode_batch
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.properties import append_properties

OFFSETS_MAX = 10_000
_PULL_CODES = {GetStatus.FOUND: ResponseCode.SUCCESS, GetStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED}

Serve = Callable[[Peer, RemotingCommand], RemotingCommand | None]


class AtomicProcessor:
    """Serves producers with atomic transactions; ``durable`` is None where answers need not wait for the disk."""

    def __init__(
        self,
        state: BrokerState,
        service: AtomicService,
        send: SendProcessor,
        topics: TopicProcessor,
        durable: DurableAnswers | None,
    ) -> None:
        self._state = state
        self._service = service
        self._send = send
        self._topics = topics
        self._durable = durable

    def table(self) -> dict[RequestCode, Serve]:
        serve: dict[RequestCode, Serve] = {
            RequestCode.INIT_ATOMIC_PRODUCER: self.init_producer,
            RequestCode.SEND_ATOMIC_MESSAGE: self.send,
            RequestCode.ADD_ATOMIC_OFFSETS: self.add_offsets,
            RequestCode.END_ATOMIC: self.end,
            RequestCode.LIST_ATOMIC: self.describe,
            RequestCode.PULL_UNCOMMITTED: self.pull_uncommitted,
            RequestCode.STABLE_OFFSET: self.stable_offset,
            RequestCode.LET_TOPIC_TAKE_PART: self.let_topic_take_part,
        }
        return {code: partial(_refusing, handle) for code, handle in serve.items()}

    # ---- producers ----

    def init_producer(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Give an identity."""
        fields = command.ext_fields
        known = _identity(command) if "pid" in fields else None
        self._service.coordinator.init_producer(
            fields.get("tid"), int_field(fields, "timeoutMs", 0), partial(_tell, peer, command), known=known
        )
        return None

    def send(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Store messages of a producer once, however often it sends them."""
        fields = command.ext_fields
        header = parse_send_header(command)
        target = self._send.admission.admit(header)
        name = fields.get("kt")
        if target.topic != header.topic:
            text = "delayed, half and repeated messages take no part in atomic transactions: send without, or in another way"
            raise AtomicRefusedError(Refusal.NOT_ATOMIC_TOPIC, text)
        queue = QueueKey(target.topic, target.queue_id)
        messages = len(decode_batch(command.body)) if header.batch else 1
        identity = Identity(long_field(fields, "kp"), int_field(fields, "ke"))
        base_sequence = int_field(fields, "ks")
        repeated = self._service.coordinator.admit(name, identity, queue, base_sequence, messages)
        if repeated is not None:
            return self._stored_answer(command, queue, repeated)
        stamp = Stamp(*identity, base_sequence, messages, name is not None)
        stamped = target._replace(properties=append_properties(target.properties, f"{PROPERTY}\x01{stamp.text()}".encode()))
        coordinator = self._service.coordinator
        first = self._state.store.stored_max_offset(*queue)
        with coordinator.state.arriving(queue, first) if stamp.transactional else nullcontext():
            result = self._send.store(header, stamped, command.body, host_of(peer))
            if result.status is not PutStatus.PUT_OK:
                raise AtomicRefusedError(Refusal.NOT_STORED, self._send.put_remark(result))
            coordinator.stored(queue, result.queue_offset, result.physical_offsets, stamp, result.store_timestamp_ms)
        self._state.counters.put(target.topic, result.message_count, result.wrote_bytes)
        batch = StoredBatch(base_sequence, messages, result.queue_offset, result.physical_offset, result.store_timestamp_ms)
        answer = self._stored_answer(command, queue, batch)
        if self._durable is None:
            return answer
        end = result.physical_offset + result.wrote_bytes
        self._durable.wait(end, lambda durable: _send_when(peer, command, answer, durable=durable))
        return None

    def _stored_answer(self, command: RemotingCommand, queue: QueueKey, batch: StoredBatch) -> RemotingCommand:
        fields = {
            "msgId": offset_message_id(self._state.store_host, batch.physical),
            "queueId": str(queue.queue_id),
            "queueOffset": str(batch.offset),
        }
        return command.reply(ext_fields=fields)

    def add_offsets(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Let consumer positions join a transaction; only for queues that no other client consumes for the group."""
        fields = command.ext_fields
        group, client_id = text_field(fields, "group"), text_field(fields, "clientId")
        items = parse_object(command.body).get("offsets")
        if not isinstance(items, list) or not items or len(items) > OFFSETS_MAX:
            raise RequestRefusedError(f"the request needs offsets: 1 to {OFFSETS_MAX:,} of [topic, queueId, offset]")
        offsets = [self._offset(group, item) for item in items]
        for key, _ in offsets:
            self._check_owner(key, client_id)
        self._service.coordinator.add_offsets(text_field(fields, "tid"), _identity(command), offsets)
        return command.reply()

    def _offset(self, group: str, item: object) -> tuple[OffsetKey, int]:
        is_read = isinstance(item, list) and len(item) == 3 and all(isinstance(part, int) for part in item[1:])
        if not isinstance(item, list) or not is_read or self._state.topics.get(str(item[0])) is None:
            raise RequestRefusedError(f"an offset is [topic, queueId, offset] of a topic that exists, not {str(item)[:100]}")
        fault = commit_fault(self._state, *item)
        if fault is not None:
            raise RequestRefusedError(fault)
        return OffsetKey(group, str(item[0]), item[1]), item[2]

    def _check_owner(self, key: OffsetKey, client_id: str) -> None:
        """Refuse positions of a consumer that has lost its queue (Source: docs/spec/kafka.md §3.6)."""
        queue = MessageQueue(key.topic, self._state.config.broker_name, key.queue_id)
        holder = self._state.locks.holder(key.group, queue, now_ms=self._state.clock())
        if holder is not None and holder != client_id:
            text = f"queue {key.queue_id} of {key.topic} is consumed by {holder} for {key.group} now, not by {client_id}"
            raise AtomicRefusedError(Refusal.NOT_OWNER, text)
        group = self._state.consumers.group(key.group)
        if holder is None and group is not None and group.client_ids and client_id not in group.client_ids:
            text = f"{client_id} is no member of {key.group}: its queues are consumed by others"
            raise AtomicRefusedError(Refusal.NOT_OWNER, text)

    def end(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Commit or abort."""
        fields = command.ext_fields
        self._service.coordinator.end(
            text_field(fields, "tid"),
            _identity(command),
            commit=bool_field(fields, "commit"),
            answered=partial(_tell, peer, command),
        )
        return None

    def let_topic_take_part(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Mark a topic; from then on readers see decided messages only.

        The answer waits for the disk (`WrittenAnswers`), so that the mark survives a crash once the producer has the answer.
        """
        name = text_field(command.ext_fields, "topic")
        queues = int_field(command.ext_fields, "queues", 4)
        known = self._state.topics.get(name)
        topic = TopicConfig(name, queues, queues) if known is None else known
        self._topics.put(replace(topic, attributes={**topic.attributes, ATTRIBUTE: ATTRIBUTE_VALUE}))
        return command.reply()

    # ---- readers ----

    def pull_uncommitted(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Read a queue with all its stored messages, open and aborted ones too."""
        fields = command.ext_fields
        topic, queue_id = text_field(fields, "topic"), int_field(fields, "queueId")
        config = self._state.topics.get(topic)
        if config is None or not config.readable:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] does not exist or may not be read")
        offset = long_field(fields, "queueOffset")
        result = self._state.store.get_stored_messages(topic, queue_id, offset, int_field(fields, "maxMsgNums", 32))
        answer = {
            "nextBeginOffset": str(result.next_offset),
            "minOffset": str(result.min_offset),
            "maxOffset": str(result.max_offset),
            "suggestWhichBrokerId": "0",
        }
        code = _PULL_CODES.get(result.status, ResponseCode.PULL_NOT_FOUND)
        return command.reply(code, result.status.value, answer, body_slices=result.records)

    def stable_offset(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """A group's position, once no open transaction may change it."""
        fields = command.ext_fields
        key = OffsetKey(text_field(fields, "consumerGroup"), text_field(fields, "topic"), int_field(fields, "queueId"))
        if self._service.coordinator.state.pending_offset(key):
            raise AtomicRefusedError(Refusal.UNSTABLE_OFFSET, "an open transaction may change this position: ask again")
        offset = self._state.offsets.get(key.group, key.topic, key.queue_id)
        return command.reply(ext_fields={"offset": str(offset)})

    def describe(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Describe one or all transactional ids."""
        wanted = command.ext_fields.get("tid")
        entries = self._service.coordinator.state.ids
        found = [entry for name, entry in sorted(entries.items()) if wanted is None or name == wanted]
        return command.reply(body=emit({"transactions": [self._described(entry) for entry in found]}))

    def _described(self, entry: Transactional) -> dict[str, Any]:
        store = self._state.store
        queues = [
            {
                "topic": queue.topic,
                "queueId": queue.queue_id,
                "firstOffset": opened.first_offset,
                "heldBack": store.stored_max_offset(*queue) - opened.first_offset,
            }
            for queue, opened in entry.queues.items()
        ]
        return {
            "tid": entry.name,
            "pid": entry.producer_id,
            "epoch": entry.epoch,
            "state": entry.state.name,
            "deciding": entry.deciding,
            "timeoutMs": entry.timeout_ms,
            "startMs": entry.start_ms,
            "updateMs": entry.update_ms,
            "queues": queues,
            "offsets": len(entry.offsets),
        }


def _refusing(handle: Serve, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
    try:
        return handle(peer, command)
    except AtomicRefusedError as refusal:
        return command.reply(int(refusal.refusal), refusal.message)


def _identity(command: RemotingCommand) -> Identity:
    return Identity(long_field(command.ext_fields, "pid"), int_field(command.ext_fields, "epoch"))


def _tell(peer: Peer, command: RemotingCommand, outcome: Identity | AtomicRefusedError) -> None:
    if isinstance(outcome, AtomicRefusedError):
        peer.send(command.reply(int(outcome.refusal), outcome.message))
    else:
        peer.send(command.reply(ext_fields={"pid": str(outcome.producer_id), "epoch": str(outcome.epoch)}))


def _send_when(peer: Peer, command: RemotingCommand, answer: RemotingCommand, *, durable: bool) -> None:
    if not durable:
        answer = command.reply(int(Refusal.NOT_STORED), "the message is stored, the disk has not confirmed it in time")
    peer.send(answer)
