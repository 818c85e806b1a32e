"""A found message under the names that descriptions of golden stores and `store dump` use."""

from __future__ import annotations

import base64
import hashlib
from zlib import crc32

from broker_core.errors import CodecError
from broker_core.protocol.message.body import decompress_body
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.tools.search.results import Hit
from broker_core.tools.search.row_names import NAMES, Row

BODY_SHOWN_BYTES = 48
"""Longer bodies have their SHA-256 in the row."""


def message_row(hit: Hit, tags_code: int) -> tuple[Row, str]:
    """A message by `NAMES`, with the tags code of its queue unit, and why its body is written as it is stored, if so."""
    stored, fault = hit.message, ""
    try:
        body = decompress_body(stored.sys_flag, stored.body)
    except CodecError as error:
        body, fault = stored.body, f"the body at {stored.physical_offset:,} is given as it is stored: {error.message}"
    values = (
        stored.topic, stored.queue_id, stored.queue_offset, stored.physical_offset, stored.store_size, stored.body_crc,
        stored.sys_flag, stored.flag, stored.born_timestamp_ms, str(stored.born_host), stored.store_timestamp_ms,
        str(stored.store_host), stored.reconsume_times, stored.prepared_transaction_offset, stored.properties,
        len(stored.body), len(body), base64.b64encode(body).decode(),
        hashlib.sha256(body).hexdigest() if len(body) > BODY_SHOWN_BYTES else None, tags_code, crc32(hit.record),
        offset_message_id(stored.store_host, stored.physical_offset),
    )  # fmt: skip
    return dict(zip(NAMES, values, strict=True)), fault
