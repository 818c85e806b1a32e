"""Messages of producers: their checks, and the properties that the store keeps of them.

Source: docs/spec/grpc.md §3.4, §7.1, §7.4.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from broker_core.engine.grpc.message_types import SHARDING_KEY
from broker_core.engine.grpc.outcome import refuse
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.grpc.reserved_properties import RESERVED
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.sys_flag import COMPRESSED, TransactionType

PROPERTIES_MAX: Final = 128
PROPERTIES_CHARS_MAX: Final = 16_384
GROUP_BYTES_MAX: Final = 63
RECOVERY_SECONDS_MAX: Final = 3_600
DELAY_MS_MAX: Final = 86_400_000
TRACE_CONTEXT: Final = "TRACE_CONTEXT"
CHECK_IMMUNITY: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
DELIVER_MS: Final = "TIMER_DELIVER_MS"
PRIORITY: Final = "_SYS_MSG_PRIORITY_"
TRANSACTION_ID: Final = "__transactionId__"

HIDDEN: Final = RESERVED | {TRANSACTION_ID, "TRANSACTION_CHECK_TIMES", CHECK_IMMUNITY, TRACE_CONTEXT}
"""Properties that consumers do not see among the user's."""

_SECONDS_MIN, SECONDS_MAX = -62_135_596_800, 253_402_300_799
"""Begin of the year 1 and end of the year 9999, between which timestamps are."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@dataclass(slots=True)
class IncomingMessage:
    """A checked message of a producer; not frozen, because one is made for each send and freezing doubles that."""

    message_id: str
    message_group: str
    sys_flag: int
    born_ms: int
    reconsume_times: int
    properties: dict[str, str]
    body: bytes


def incoming(message: pb.Message, topic: str, *, address: str, now_ms: int, body_bytes_max: int) -> IncomingMessage:
    """Check a message of a producer, and translate it.

    Args:
        message: As it was sent.
        topic: Checked name of its topic.
        address: ``host:port`` of the client.
        now_ms: Present time.
        body_bytes_max: ``maxMessageSize``.

    Raises:
        CallRefusedError: With the code of the first check that it fails.
    """
    system = message.system_properties
    _check_body(message, body_bytes_max)
    _check_properties(message)
    _check_system(system, now_ms)
    is_half = system.message_type == pb.TRANSACTION
    sys_flag = (COMPRESSED if system.body_encoding == pb.GZIP else 0) | (TransactionType.PREPARED if is_half else 0)
    born_ms = ms_of(system.born_timestamp) if system.HasField("born_timestamp") else now_ms
    properties = dict(message.user_properties)
    properties |= _own_properties(system, topic, system.born_host or address, born_ms, is_half=is_half)
    return IncomingMessage(
        message_id=system.message_id,
        message_group=system.message_group,
        sys_flag=sys_flag,
        born_ms=born_ms,
        reconsume_times=0,
        properties=properties,
        body=message.body,
    )


def _own_properties(system: pb.SystemProperties, topic: str, born_host: str, born_ms: int, *, is_half: bool) -> dict[str, str]:
    found = {
        props.UNIQUE_KEY: system.message_id,
        props.PRODUCER_GROUP: topic,
        props.BORN_HOST: born_host,
        props.BORN_TIMESTAMP: str(born_ms),
    }
    if system.tag:
        found[props.TAGS] = system.tag
    keys = props.KEY_SEPARATOR.join(filter(None, system.keys))
    if keys:
        found[props.KEYS] = keys
    if system.message_group:
        found[SHARDING_KEY] = system.message_group
    if system.HasField("delivery_timestamp"):
        found[DELIVER_MS] = str(ms_of(system.delivery_timestamp))
    if is_half:
        found[props.TRANSACTION_PREPARED] = "true"
        if system.HasField("orphaned_transaction_recovery_duration"):
            found[CHECK_IMMUNITY] = str(system.orphaned_transaction_recovery_duration.seconds)
    if system.delivery_attempt:
        found[props.RECONSUME_TIME] = str(system.delivery_attempt)
    if system.trace_context:
        found[TRACE_CONTEXT] = system.trace_context
    if system.HasField("priority"):
        found[PRIORITY] = str(system.priority)
    return found


def _check_body(message: pb.Message, body_bytes_max: int) -> None:
    size = len(message.body)
    if not size:
        refuse(pb.MESSAGE_BODY_EMPTY, "message body cannot be empty")
    if size > body_bytes_max:
        refuse(pb.MESSAGE_BODY_TOO_LARGE, f"message body cannot exceed the max {body_bytes_max}")
    digest = message.system_properties.body_digest
    if digest.checksum and not _is_digest(digest, message.body):
        refuse(pb.MESSAGE_CORRUPTED, "the body has another digest than the message says: send it again")


def _is_digest(digest: pb.Digest, body: bytes) -> bool:
    """Whether a digest is that of a body; one of an unknown type is not compared."""
    given = digest.checksum.upper()
    if digest.type == pb.MD5:
        return given == hashlib.md5(body, usedforsecurity=False).hexdigest().upper()
    if digest.type == pb.SHA1:
        return given == hashlib.sha1(body, usedforsecurity=False).hexdigest().upper()
    if digest.type == pb.CRC32:
        found = zlib.crc32(body)
        return given.lstrip("0") in (f"{found:X}", str(found)) or found == 0
    return True


def _check_properties(message: pb.Message) -> None:
    system, user = message.system_properties, message.user_properties
    if not user and not system.tag and not system.keys:
        return
    if len(user) > PROPERTIES_MAX:
        refuse(pb.MESSAGE_PROPERTIES_TOO_LARGE, f"too many user properties, max is {PROPERTIES_MAX}")
    for name, value in user.items():
        if name in RESERVED:
            refuse(pb.ILLEGAL_MESSAGE_PROPERTY_KEY, f"property is used by system: {name}")
        _check_text(name, pb.ILLEGAL_MESSAGE_PROPERTY_KEY, "the key of property")
        _check_text(value, pb.ILLEGAL_MESSAGE_PROPERTY_KEY, "the value of property")
        if not name or not value:
            # An empty name or value ends the encoding of properties (docs/spec/store.md §2.3).
            refuse(pb.ILLEGAL_MESSAGE_PROPERTY_KEY, "the key and the value of a property cannot be empty")
    _check_tag(system)
    for key in system.keys:
        if key and not key.strip():
            refuse(pb.ILLEGAL_MESSAGE_KEY, "key cannot be the char sequence of whitespace")
        _check_text(key, pb.ILLEGAL_MESSAGE_KEY, "key")
    texts: Iterable[str] = (*user, *user.values(), system.tag, *system.keys)
    if sum(len(text.encode()) for text in texts) > PROPERTIES_CHARS_MAX:
        text = f"the total size of user property is too large, max is {PROPERTIES_CHARS_MAX}"
        refuse(pb.MESSAGE_PROPERTIES_TOO_LARGE, text)


def _check_tag(system: pb.SystemProperties) -> None:
    if not system.tag:
        return
    if not system.tag.strip():
        refuse(pb.ILLEGAL_MESSAGE_TAG, "tag cannot be the char sequence of whitespace")
    if "|" in system.tag:
        refuse(pb.ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'")
    _check_text(system.tag, pb.ILLEGAL_MESSAGE_TAG, "tag")


def _check_text(text: str, code: pb.Code, what: str) -> None:
    if not text or (text.isascii() and text.isprintable()):
        return
    if _CONTROL.search(text):
        refuse(code, f"{what} cannot contain control character")


def _check_system(system: pb.SystemProperties, now_ms: int) -> None:
    if not system.message_id.strip():
        refuse(pb.ILLEGAL_MESSAGE_ID, "message id cannot be empty")
    _check_text(system.message_id, pb.ILLEGAL_MESSAGE_ID, "message id")
    _check_text(system.trace_context, pb.BAD_REQUEST, "trace context")
    _check_text(system.born_host, pb.BAD_REQUEST, "born host")
    if not _SECONDS_MIN <= system.born_timestamp.seconds <= SECONDS_MAX:
        refuse(pb.BAD_REQUEST, f"the born timestamp is no time: {system.born_timestamp.seconds} s")
    recovery = system.orphaned_transaction_recovery_duration.seconds
    if system.message_type == pb.TRANSACTION and recovery > RECOVERY_SECONDS_MAX:
        refuse(pb.BAD_REQUEST, f"the max transaction recovery time of message is too large, max is {RECOVERY_SECONDS_MAX}")
    if system.HasField("delivery_timestamp") and ms_of(system.delivery_timestamp) - now_ms > DELAY_MS_MAX:
        refuse(pb.ILLEGAL_DELIVERY_TIME, f"the max delay time of message is too large, max is {DELAY_MS_MAX}")
    if system.message_group:
        if not system.message_group.strip():
            refuse(pb.ILLEGAL_MESSAGE_GROUP, "message group cannot be the char sequence of whitespace")
        if len(system.message_group.encode()) > GROUP_BYTES_MAX:
            refuse(pb.ILLEGAL_MESSAGE_GROUP, f"message group exceed the max size {GROUP_BYTES_MAX + 1}")
        _check_text(system.message_group, pb.ILLEGAL_MESSAGE_GROUP, "message group")


def ms_of(value: Timestamp | Duration) -> int:
    """A time in ms since the epoch, or a duration in ms."""
    return value.seconds * 1000 + value.nanos // 1_000_000
