"""Message properties: their names and RocketMQ's encoding.

    name 0x01 value 0x02 name 0x01 value [0x02]

The last separator depends on the writer's version; both forms are read, and none is written.
Nothing is escaped, so names and values cannot hold 0x01 or 0x02.

Source: docs/spec/store.md §2.6, §2.7.
"""

from __future__ import annotations

from collections.abc import Mapping

NAME_SEPARATOR = "\x01"
ITEM_SEPARATOR = "\x02"
_NAME_END = b"\x01"
_ITEM_END = b"\x02"
_SHORTEST_ITEM = 3

PROPERTIES_BYTES_MAX = 32767

KEYS = "KEYS"
TAGS = "TAGS"
WAIT = "WAIT"
DELAY = "DELAY"
RETRY_TOPIC = "RETRY_TOPIC"
REAL_TOPIC = "REAL_TOPIC"
REAL_QUEUE_ID = "REAL_QID"
TRANSACTION_PREPARED = "TRAN_MSG"
PRODUCER_GROUP = "PGROUP"
MIN_OFFSET = "MIN_OFFSET"
MAX_OFFSET = "MAX_OFFSET"
ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
FIRST_POP_TIME = "1ST_POP_TIME"
DLQ_ORIGIN_TOPIC = "DLQ_ORIGIN_TOPIC"
RECONSUME_TIME = "RECONSUME_TIME"
MESSAGE_REGION = "MSG_REGION"
TRACE_ON = "TRACE_ON"
UNIQUE_KEY = "UNIQ_KEY"
MAX_RECONSUME_TIMES = "MAX_RECONSUME_TIMES"
CONSUME_START_TIME = "CONSUME_START_TIME"
CLUSTER = "CLUSTER"
BORN_HOST = "__BORNHOST"
"""Host of a client of gRPC, as a proxy notes it; clients of remoting have none."""
BORN_TIMESTAMP = "BORN_TIMESTAMP"
INNER_MULTI_DISPATCH = "INNER_MULTI_DISPATCH"
INNER_MULTI_QUEUE_OFFSET = "INNER_MULTI_QUEUE_OFFSET"

KEY_SEPARATOR = " "

SPARE = (
    "TIMER_DEQUEUE_MS", "TIMER_ENQUEUE_MS", "TIMER_ROLL_TIMES", FIRST_POP_TIME, ORIGIN_MESSAGE_ID, WAIT, CLUSTER, TRACE_ON,
    MESSAGE_REGION,
)  # fmt: skip
"""Properties that a broker adds and that delivery does without, in the order in which a copy without room leaves them out."""
DIGITS_MAX = 18
"""Digits of a number that surely fits 64 bits."""


def encode_properties(properties: Mapping[str, str]) -> bytes:
    """Properties as stored; half of a surrogate pair becomes ``?``, as in a Java writer."""
    text = ITEM_SEPARATOR.join([f"{name}{NAME_SEPARATOR}{value}" for name, value in properties.items()])
    return text.encode("utf-8", "replace")


def encode_fitting(properties: Mapping[str, str]) -> bytes | None:
    """Bytes of a copy's properties; where they are longer than a record holds, without as many of `SPARE` as necessary.

    Returns:
        None where they are too long without all of these.
    """
    data, kept = encode_properties(properties), dict(properties)
    for name in SPARE:
        if len(data) <= PROPERTIES_BYTES_MAX:
            break
        if kept.pop(name, None) is not None:
            data = encode_properties(kept)
    return data if len(data) <= PROPERTIES_BYTES_MAX else None


def decode_properties(data: bytes | memoryview) -> dict[str, str]:
    """Properties of stored bytes; items without name or value are left out, later duplicates win.

    Any input parses: bytes that are not UTF-8 become replacement characters, as in a Java reader.
    """
    result: dict[str, str] = {}
    for item in bytes(data).decode("utf-8", "replace").split(ITEM_SEPARATOR):
        name, _, value = item.partition(NAME_SEPARATOR)
        if name and value and len(item) >= _SHORTEST_ITEM:
            result[name] = value
    return result


def find_property_bytes(data: bytes, marker: bytes) -> bytes | None:
    """Value of one property without decoding the others; the last of several wins.

    The caller makes ``marker`` once with `property_marker`: the UTF-8 name followed by 0x01.
    """
    end = len(data)
    while (start := data.rfind(marker, 0, end)) >= 0:
        if start == 0 or data[start - 1] == 2:
            value_start = start + len(marker)
            value_end = data.find(_ITEM_END, value_start)
            value = data[value_start:] if value_end < 0 else data[value_start:value_end]
            if value:
                return value
        end = start + len(marker) - 1
    return None


def property_marker(name: str) -> bytes:
    """The ``marker`` of `find_property_bytes`."""
    return name.encode() + _NAME_END


def find_property(data: bytes, name: str) -> str | None:
    """Value of one property of encoded bytes, None when it is missing or empty."""
    value = find_property_bytes(data, property_marker(name))
    return None if value is None else value.decode("utf-8", "replace")


def number_of(text: str | bytes | None, default: int = -1) -> int:
    """The value of a property that is a whole number of at most `DIGITS_MAX` digits; ``default`` for any other."""
    # ASCII alone: `str.isdigit` takes “²” too, which `int` refuses.
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX else default


def append_properties(data: bytes, more: bytes) -> bytes:
    """Encoded properties followed by others, with one separator between them.

    A broker adds request-level properties to those of a batch member so (Source: docs/spec/store.md §2.9).
    """
    if not data or not more:
        return data or more
    return data + more if data.endswith(_ITEM_END) else data + _ITEM_END + more
