"""A message to be sent again: all of it that a producer can set, and where it was.

record of a log ─┐
                 ├─ ReplayItem ── spool (msgpack) ── Outgoing (`rewrite`) ── broker
row of a file  ──┘
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any
from zlib import crc32

import msgpack

from broker_core.errors import CodecError
from broker_core.json_document import without_half_pairs
from broker_core.protocol.message.body import compress_body
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.properties import ITEM_SEPARATOR, NAME_SEPARATOR
from broker_core.protocol.message.sys_flag import COMPRESSED, Compression, compression_number
from broker_core.tools.search.export import body_bytes
from broker_core.tools.search.row_names import MASKED, Row

_CRC_BITS = 0x7FFF_FFFF
_INT32 = (-(1 << 31), (1 << 31) - 1)
_INT64 = (-(1 << 63), (1 << 63) - 1)


@dataclass(frozen=True, slots=True)
class ReplayItem:
    """A message as it was found.

    Attributes:
        topic: Where it is stored, which may be a topic of the broker's own.
        queue_offset: Its offset in the queue; -1 when a file does not have it.
        origin_id: Its offset message id; empty when a file does not have it.
        store_timestamp_ms: Store time, for order and pace.
        body: As stored, compressed if ``sys_flag`` says so.
        properties: As stored, decoded.
    """

    topic: str
    queue_id: int
    queue_offset: int
    origin_id: str
    store_timestamp_ms: int
    born_timestamp_ms: int
    flag: int
    sys_flag: int
    body: bytes
    properties: dict[str, str]

    def pack(self) -> bytes:
        packed: bytes = msgpack.packb(astuple(self))
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> ReplayItem:
        """Item of `pack`'s bytes; raises `CodecError` for other bytes."""
        try:
            return cls(*msgpack.unpackb(data))
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise CodecError(f"{len(data):,} bytes of a replay's spool hold no message: {error}") from error


def item_of_message(message: StoredMessage) -> ReplayItem:
    return ReplayItem(
        message.topic, message.queue_id, message.queue_offset,
        offset_message_id(message.store_host, message.physical_offset), message.store_timestamp_ms,
        message.born_timestamp_ms, message.flag, message.sys_flag, message.body, message.properties,
    )  # fmt: skip


def item_of_row(row: Row, where: str, now_ms: int) -> ReplayItem:
    """Item of an exported row; a row made by hand needs only ``topic`` and ``body``.

    ``where`` names the row in errors; ``now_ms`` is the time of a row without one. Raises `CodecError` when a value is missing,
    or is none that a message can have.
    """
    if row.get(MASKED):
        raise CodecError(
            f"{where} was masked when it was exported ({row[MASKED]}), so it is not the message that was stored: "
            "export it with its originals to send it again"
        )
    topic = row.get("topic")
    if not isinstance(topic, str) or not topic:
        raise CodecError(f"{where} has no topic")
    origin = row.get("offsetMsgId") or ""
    if not isinstance(origin, str):
        raise CodecError(f"the offsetMsgId of {where} is no text")
    stored_ms = _integer(row, "storeTimestamp", where, now_ms, _INT64)
    sys_flag = _integer(row, "sysFlag", where, 0, _INT32)
    return ReplayItem(
        topic,
        _integer(row, "queueId", where, 0, _INT32),
        _integer(row, "queueOffset", where, -1, _INT64),
        origin,
        stored_ms,
        _integer(row, "bornTimestamp", where, stored_ms, _INT64),
        _integer(row, "flag", where, 0, _INT32),
        sys_flag,
        _stored_body(body_bytes(row, where), sys_flag, row.get("bodyCrc"), where),
        _properties(row, where),
    )


def _integer(row: Row, name: str, where: str, default: int, bounds: tuple[int, int]) -> int:
    value = row.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise CodecError(f"the {name} of {where} is no whole number")
    if not bounds[0] <= value <= bounds[1]:
        raise CodecError(f"the {name} of {where} is {value}, outside {bounds[0]} to {bounds[1]}")
    return value


def _properties(row: Row, where: str) -> dict[str, str]:
    found: Any = row.get("properties") or {}
    if not isinstance(found, dict):
        raise CodecError(f"the properties of {where} are no object")
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise CodecError(f"a property of {where} is no text: {str(name)[:40]}")
        text = name + value
        if not name or NAME_SEPARATOR in text or ITEM_SEPARATOR in text:
            raise CodecError(f"a property of {where} cannot be sent: a name is empty, or one holds the bytes 1 or 2")
        if without_half_pairs(text) != text:
            raise CodecError(f"a property of {where} cannot be sent: it holds half of a character of two parts (a surrogate)")
    return found


def _stored_body(body: bytes, sys_flag: int, stored_crc: object, where: str) -> bytes:
    """Body as it was stored: compressed again, or unchanged if it was exported as stored because it did not decompress."""
    if not sys_flag & COMPRESSED or crc32(body) & _CRC_BITS == stored_crc:
        return body
    number = compression_number(sys_flag)
    try:
        compression = Compression(number)
    except ValueError as error:
        raise CodecError(f"the sysFlag of {where} names compression type {number}, and there is none of that number") from error
    return compress_body(body, compression)
