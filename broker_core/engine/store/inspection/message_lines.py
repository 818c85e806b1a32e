"""Records as lines of JSON: the message columns of the golden stores' descriptions, plus topic and queue.

Built by hand from the columns of the heads: 7 µs a record; decoding it and `json.dumps` take 26.
"""

from __future__ import annotations

import hashlib
from binascii import b2a_base64
from collections.abc import Iterator
from json.encoder import encode_basestring
from zlib import crc32

from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.engine.store.inspection.log_reader import CheckedWindow
from broker_core.errors import CodecError
from broker_core.protocol.message.body import decompress_body
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.properties import decode_properties
from broker_core.protocol.message.sys_flag import BORN_HOST_V6, COMPRESSED, STORE_HOST_V6

BODY_SHOWN_BYTES = 48
"""Longer bodies get their SHA-256 too, as in the descriptions of golden stores."""

_BORN_HOST_POSITION = 48
_V4_BYTES, _V6_BYTES = 8, 20
_KNOWN_MAX = 10_000


class MessageLines:
    """Makes lines, and adds the bodies that do not decompress to ``findings``."""

    def __init__(self, findings: list[StoreFinding]) -> None:
        self._findings = findings
        self._hosts: dict[bytes, tuple[str, str]] = {}

    def of_window(self, window: CheckedWindow, topics: dict[int, str], codes: memoryview) -> Iterator[str]:
        """Lines of records, in order of physical offset.

        Args:
            window: Their window.
            topics: Topics of the rows that are shown, ascending.
            codes: Tags codes of all records.
        """
        heads, buffer = window.heads, window.buffer
        columns = (
            heads.position, heads.size, heads.body_crc, heads.queue_id, heads.flag, heads.queue_offset, heads.physical_offset,
            heads.sys_flag, heads.born_ms, heads.store_ms, heads.reconsume, heads.prepared_offset, heads.body_position,
            heads.body_bytes, heads.properties_position, codes,
        )  # fmt: skip
        names = {topic: encode_basestring(topic) for topic in set(topics.values())}
        for row, topic in topics.items():
            values = [column[row] for column in columns]
            position, size = values[:2]
            yield self._line(names[topic], buffer[position : position + size], *values)

    def _line(  # noqa: PLR0917  the columns of a record, in a hot loop
        self,
        topic: str,
        record: bytes,
        position: int,
        size: int,
        body_crc: int,
        queue_id: int,
        flag: int,
        queue_offset: int,
        physical: int,
        sys_flag: int,
        born_ms: int,
        store_ms: int,
        reconsume: int,
        prepared: int,
        body_position: int,
        stored_bytes: int,
        properties_position: int,
        code: int,
    ) -> str:
        start = body_position - position
        body = record[start : start + stored_bytes]
        if sys_flag & COMPRESSED:
            body = self._decompressed(sys_flag, body, physical)
        digest = f'"{hashlib.sha256(body).hexdigest()}"' if len(body) > BODY_SHOWN_BYTES else "null"
        store_at = _BORN_HOST_POSITION + (_V6_BYTES if sys_flag & BORN_HOST_V6 else _V4_BYTES)
        born, _ = self._host(record[_BORN_HOST_POSITION:store_at])
        store_at += 8
        store, store_hex = self._host(record[store_at : store_at + (_V6_BYTES if sys_flag & STORE_HOST_V6 else _V4_BYTES)])
        return (
            f'{{"topic":{topic},"queueId":{queue_id},"queueOffset":{queue_offset},"physicalOffset":{physical},'
            f'"storeSize":{size},"bodyCrc":{body_crc},"sysFlag":{sys_flag},"flag":{flag},"bornTimestamp":{born_ms},'
            f'"bornHost":"{born}","storeTimestamp":{store_ms},"storeHost":"{store}","reconsumeTimes":{reconsume},'
            f'"preparedTransactionOffset":{prepared},"properties":{_properties(record[properties_position - position :])},'
            f'"storedBodyLength":{stored_bytes},"bodyLength":{len(body)},'
            f'"body":"{b2a_base64(body, newline=False).decode("ascii")}","bodySha256":{digest},"tagsCode":{code},'
            f'"recordCrc32":{crc32(record)},"offsetMsgId":"{store_hex}{physical & 0xFFFFFFFFFFFFFFFF:016X}"}}'
        )

    def _decompressed(self, sys_flag: int, body: bytes, physical: int) -> bytes:
        try:
            return decompress_body(sys_flag, body)
        except CodecError as error:
            self._findings.append(StoreFinding("commitlog", physical, f"the body is given as stored: {error}"))
            return body

    def _host(self, packed: bytes) -> tuple[str, str]:
        """Text and hexadecimal digits of a host, cached because few differ."""
        found = self._hosts.get(packed)
        if found is None:
            if len(self._hosts) >= _KNOWN_MAX:
                self._hosts.clear()
            found = self._hosts[packed] = str(HostAddress.from_packed(packed)), packed.hex().upper()
        return found


def _properties(data: bytes) -> str:
    items = decode_properties(data).items()
    return "{" + ",".join([f"{encode_basestring(name)}:{encode_basestring(value)}" for name, value in items]) + "}"
