"""Messages as users of the client see them, and the result of a send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from broker_core.errors import UsageError
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message import properties as names
from broker_core.protocol.message.body import decompress_body
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.names import check_topic


@dataclass(frozen=True, slots=True)
class Message:
    """A message to send.

    Attributes:
        body: 1 byte to ``message_bytes_max``.
        tags: One tag, for filters of consumers; empty for none.
        keys: Words to find the message by; a text is one word, or several with spaces between them.
        flag: Any 32-bit number for the application.
    """

    topic: str
    body: bytes
    tags: str = ""
    keys: tuple[str, ...] | str = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    flag: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RawMessage:
    """A message or a batch that is sent unchanged: no addition, compression or check.

    Attributes:
        body: As it will be stored; of a batch, `broker_core.protocol.message.batch.encode_batch` of its members.
        properties: In RocketMQ's encoding; of a batch, what all members get besides their own.
        flag: Of a single message.
        sys_flag: Says how the body is compressed.
        born_timestamp_ms: When it was made; None for the time of the send.
    """

    topic: str
    body: bytes
    properties: bytes = b""
    flag: int = 0
    sys_flag: int = 0
    born_timestamp_ms: int | None = None
    is_batch: bool = False


class SendStatus(StrEnum):
    """In all states the broker has the message; the others than SEND_OK name what is pending."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"


@dataclass(frozen=True, slots=True)
class SendResult:
    """Where a message was stored.

    Attributes:
        status: Whether disk or slave are pending.
        message_id: The unique id of this client; of a batch, comma-joined.
        offset_message_id: The id with the place of the record; of a batch, comma-joined.
        queue_offset: Of a batch, that of the first.
        attempts: How often it was sent; more than 1 may mean duplicates.
    """

    status: SendStatus
    message_id: str
    offset_message_id: str
    queue: MessageQueue
    queue_offset: int
    attempts: int


class ReceivedMessage:
    """A message as a consumer gets it.

    Attributes:
        stored: The record, its body as stored.
        queue: The queue it was read from; its topic differs from `topic` for messages delivered again after a failure.
        attempts: Earlier calls of this consumer's listener with it.
    """

    __slots__ = ("attempts", "queue", "stored")

    def __init__(self, stored: StoredMessage, queue: MessageQueue) -> None:
        self.stored = stored
        self.queue = queue
        self.attempts = 0

    @property
    def topic(self) -> str:
        return self.stored.properties.get(names.RETRY_TOPIC, self.stored.topic)

    @property
    def tags(self) -> str | None:
        return self.stored.properties.get(names.TAGS)

    @property
    def keys(self) -> list[str]:
        return self.stored.properties.get(names.KEYS, "").split()

    @property
    def message_id(self) -> str:
        """The unique id of its producer; empty without one."""
        return self.stored.properties.get(names.UNIQUE_KEY, "")

    @property
    def queue_offset(self) -> int:
        return self.stored.queue_offset

    @property
    def properties(self) -> Mapping[str, str]:
        """All its properties, also those that clients and brokers added."""
        return self.stored.properties

    @property
    def reconsume_times(self) -> int:
        """Earlier attempts to consume it, by any member of the group."""
        return self.stored.reconsume_times + self.attempts

    @property
    def offset_message_id(self) -> str:
        """The id with the place of its record."""
        return offset_message_id(self.stored.store_host, self.stored.physical_offset)

    @property
    def body(self) -> bytes:
        """The body as it was sent, decompressed at each call; raises `CodecError` when it does not decompress."""
        return decompress_body(self.stored.sys_flag, self.stored.body)


def message_properties(message: Message, unique_key: str) -> bytes:
    """Properties of a message to send, in RocketMQ's encoding.

    Raises `UsageError` when a name or value cannot be encoded, or all together are too long.
    """
    check_topic(message.topic)
    values = {**message.properties, names.UNIQUE_KEY: unique_key, names.WAIT: "true"}
    if message.tags:
        values[names.TAGS] = message.tags
    if message.keys:
        keys = message.keys
        values[names.KEYS] = keys if isinstance(keys, str) else names.KEY_SEPARATOR.join(keys)
    for name, value in values.items():
        text = name + value
        if not name or names.NAME_SEPARATOR in text or names.ITEM_SEPARATOR in text:
            raise UsageError(f"property “{name[:40]}” cannot be sent: names are not empty, and \\x01 and \\x02 not allowed")
    encoded = names.encode_properties(values)
    if len(encoded) > names.PROPERTIES_BYTES_MAX:
        raise UsageError(f"the properties have {len(encoded):,} bytes, at most {names.PROPERTIES_BYTES_MAX:,} can be sent")
    return encoded
