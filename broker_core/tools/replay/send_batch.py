"""Messages of one queue that share a request, for replays and copies. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from broker_core.client.message import RawMessage, SendResult
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.batch import FRAME_BYTES, BatchMember, encode_batch
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.rewrite import Outgoing

BATCH_MESSAGES_MAX = 64
BATCH_BYTES_MAX = 128 * 1024


class RawSender(Protocol):
    """The part of a producer that sends encoded messages."""

    async def send_raw(self, message: RawMessage, queue: MessageQueue, *, timeout_ms: int | None = None) -> SendResult:
        """As `Producer.send_raw`."""


class ReadyMessage(NamedTuple):
    """A message ready to send, with its properties encoded; ``number`` is its sender's number of it."""

    number: int
    item: ReplayItem
    message: Outgoing
    properties: bytes

    @property
    def bytes(self) -> int:
        return FRAME_BYTES + len(self.message.body) + len(self.properties)


@dataclass(slots=True)
class SendBatch:
    """One request: a message, or a batch of messages that were born in the same millisecond."""

    queue: MessageQueue
    messages: list[ReadyMessage] = field(default_factory=list)
    bytes: int = 0

    def takes(self, ready: ReadyMessage) -> bool:
        if not self.messages:
            return True
        first, message = self.messages[0].message, ready.message
        fits = len(self.messages) < BATCH_MESSAGES_MAX and self.bytes + ready.bytes <= BATCH_BYTES_MAX
        alike = first.born_timestamp_ms == message.born_timestamp_ms
        return fits and alike and first.can_be_batched and message.can_be_batched

    def add(self, ready: ReadyMessage) -> None:
        self.messages.append(ready)
        self.bytes += ready.bytes

    def raw(self) -> RawMessage:
        first = self.messages[0]
        topic, born_ms = first.message.topic, first.message.born_timestamp_ms
        if len(self.messages) > 1:
            members = [BatchMember(ready.message.flag, ready.message.body, ready.properties) for ready in self.messages]
            return RawMessage(topic=topic, body=encode_batch(members), born_timestamp_ms=born_ms, is_batch=True)
        return RawMessage(
            topic=topic,
            body=first.message.body,
            properties=first.properties,
            flag=first.message.flag,
            sys_flag=first.message.sys_flag,
            born_timestamp_ms=born_ms,
        )
