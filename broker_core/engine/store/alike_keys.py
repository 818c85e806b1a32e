"""Keys of records that follow each other and are laid out alike: one size, one topic, the same properties of the same lengths.

What one producer sends is mostly of this kind. Such records are looked at as columns of 64-bit words with a stride of one
record: one pass over the words tells that all are like the first, another hashes eight characters of a key at a time.

Measured with bodies of 128 bytes and two keys a message: 0.2 µs a message, where `broker_core.engine.store.index_keys`, which
takes records of any kind, needs 0.8.

Loads numpy.

Source: docs/spec/store.md §2.1, §5.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.key_batch import POWERS, Hashes, KeyBatch, absolute
from broker_core.protocol.message.properties import KEYS, UNIQUE_KEY
from broker_core.protocol.message.record import (
    BODY_LENGTH_POSITION_V4,
    HEAD_BYTES,
    MAGIC_V1,
    PHYSICAL_OFFSET_POSITION,
    SIZE,
    SIZE_AND_MAGIC,
    SMALLEST_RECORD,
    STORE_TIMESTAMP_POSITION_V4,
    SYS_FLAG_POSITION,
)
from broker_core.protocol.message.sys_flag import HOST_V6_MASK, TRANSACTION_MASK, TransactionType

Words = npt.NDArray[np.uint64]

ALIKE_MIN = 32
"""Fewer records are as fast otherwise."""
_PROBES = range(1, ALIKE_MIN, 6)
"""Records looked at first, before all of them are."""

_ROWS_AT_A_TIME = 512
"""Their words stay in the processor's cache."""
_WORD_BYTES = 8
_ITEM_END, _NAME_END = b"\x02", b"\x01"
_KEY_NAMES = (UNIQUE_KEY.encode(), KEYS.encode())
"""In the order in which the index has them."""
_LOWEST_OF_VALUE, _LOWEST_OF_KEY = 0x03, 0x21
"""Separators end a value, and several keys have spaces between them."""

# Little-endian words: the character that comes first is the lowest byte, and has the highest power of 31.
_EVEN_BYTES, _EVEN_PAIRS, _LOW_HALF = (np.uint64(mask) for mask in (0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF, 0xFFFFFFFF))
_31, _31_2, _31_4 = (np.uint64(31**power) for power in (1, 2, 4))


class _Field(NamedTuple):
    """Bytes of every record, by their place in it."""

    start: int
    end: int


class _Layout(NamedTuple):
    """Where the parts of records are.

    Attributes:
        size: Of a record.
        topic: Its topic.
        values: Values of its properties.
        keys: Those of them that are keys, in the order of the index.
    """

    size: int
    topic: bytes
    values: list[_Field]
    keys: list[_Field]


def read_alike(data: bytes, offset: int) -> KeyBatch | None:
    """Keys of the records at the start of ``data`` that are laid out as its first; None if there are too few of them.

    Args:
        data: Records; the first starts with it.
        offset: Physical offset of its first byte.
    """
    layout = _layout_of_first(data)
    if layout is None:
        return None
    count = _alike(data, offset, layout)
    if count < ALIKE_MIN:
        return None
    size = layout.size
    shape = (count, len(layout.keys))
    hashes = np.empty(shape, dtype=np.uint32)
    prefix = _hash_of(layout.topic + b"#")
    words, bounds = _key_words(data, layout, count)
    eights = _hashes_of_eights(words)
    for number, key in enumerate(layout.keys):
        start = np.uint32(prefix * int(POWERS[key.end - key.start]) & 0xFFFFFFFF)
        hashes[:, number] = _joined(eights[bounds[number] : bounds[number + 1]]) + start
    physical = np.arange(offset, offset + count * size, size)
    store_ms = _column(data, ">i8", STORE_TIMESTAMP_POSITION_V4, size, count)
    return KeyBatch(
        absolute(hashes.reshape(-1)),
        np.repeat(physical, shape[1]),
        np.repeat(store_ms.astype(np.int64), shape[1]),
        offset + count * size,
    )


def _layout_of_first(data: bytes) -> _Layout | None:
    """Layout of the first record; None where it, or what follows, is better looked at by itself."""
    if len(data) < SMALLEST_RECORD:
        return None
    size, magic = SIZE_AND_MAGIC.unpack_from(data)
    if magic != MAGIC_V1 or size < SMALLEST_RECORD or len(data) < size * ALIKE_MIN:
        return None
    if any(data[number * size : number * size + 8] != data[:8] for number in _PROBES):
        return None
    (sys_flag,) = SIZE.unpack_from(data, SYS_FLAG_POSITION)
    (body_bytes,) = SIZE.unpack_from(data, BODY_LENGTH_POSITION_V4)
    if sys_flag & HOST_V6_MASK or sys_flag & TRANSACTION_MASK == TransactionType.ROLLBACK or body_bytes < 0:
        return None
    topic_at = HEAD_BYTES[0] + body_bytes + 1
    topic = data[topic_at : topic_at + data[topic_at - 1]] if topic_at <= size else b""
    start = topic_at + len(topic) + 2
    if not topic or start + int.from_bytes(data[start - 2 : start], signed=True) != size:
        return None
    properties = data[start:size]
    if not topic.isascii() or not properties.isascii():
        return None
    return _with_properties(size, topic, start, properties)


def _with_properties(size: int, topic: bytes, start: int, properties: bytes) -> _Layout | None:
    keys: dict[bytes, _Field] = {}
    values: list[_Field] = []
    for item in properties.split(_ITEM_END):
        name, separator, value = item.partition(_NAME_END)
        at = start + len(name) + 1
        start += len(item) + 1
        if (item and not separator) or name in keys:
            return None
        if value:
            values.append(_Field(at, at + len(value)))
            if name in _KEY_NAMES:
                keys[name] = values[-1]
    return _Layout(size, topic, values, [keys[name] for name in _KEY_NAMES if name in keys])


def _alike(data: bytes, offset: int, layout: _Layout) -> int:
    """How many records from the first on have its layout, values of plain ASCII, and no spaces in their keys."""
    size = layout.size
    count = len(data) // size
    is_other = _column(data, ">i8", PHYSICAL_OFFSET_POSITION, size, count) != np.arange(offset, offset + count * size, size)
    for dtype, position in (("<u8", 0), ("<u4", SYS_FLAG_POSITION), ("<u4", BODY_LENGTH_POSITION_V4)):
        column = _column(data, dtype, position, size, count)
        is_other |= column != column[0]
    (body_bytes,) = SIZE.unpack_from(data, BODY_LENGTH_POSITION_V4)
    is_other |= _tails_differ(data, layout, HEAD_BYTES[0] + body_bytes, count)
    return int(is_other.argmax()) if is_other.any() else count


def _tails_differ(data: bytes, layout: _Layout, start: int, count: int) -> npt.NDArray[np.bool_]:
    """Records that differ, from the length of the topic on, in what is no value, or have odd bytes in a value."""
    size = layout.size
    words = -(-(size - start) // _WORD_BYTES)
    first = size - words * _WORD_BYTES
    equal, lowest, highest = (bytearray(size) for _ in range(3))
    equal[start:] = b"\xff" * (size - start)
    for field in layout.values:
        is_key, length = field in layout.keys, field.end - field.start
        # Values are plain ASCII if their highest bits are as in those of the first record.
        equal[field.start : field.end] = b"\x80" * length
        lowest[field.start : field.end] = bytes((_LOWEST_OF_KEY if is_key else _LOWEST_OF_VALUE,)) * length
        highest[field.start : field.end] = b"\x80" * length
    equal_words, lowest_words, highest_words = (
        np.frombuffer(mask, dtype="<u8", offset=first).reshape(-1, 1) for mask in (equal, lowest, highest)
    )
    found = np.empty(count, dtype=np.bool_)
    row: Words = _words_view(data, first, size, words, 1)
    for at in range(0, count, _ROWS_AT_A_TIME):
        part = found[at : at + _ROWS_AT_A_TIME]
        # Copied in any case: numpy takes a view of a single record for contiguous, and the log must not be written to.
        table = _words_view(data, first + at * size, size, words, len(part)).copy()
        # Taking away the lowest byte allowed sets the highest bit of those below it; a borrow reaches others only then.
        below = table - lowest_words
        below &= highest_words
        table ^= row
        table &= equal_words
        below |= table
        np.not_equal(np.bitwise_or.reduce(below, axis=0), 0, out=part)
    return found


def _key_words(data: bytes, layout: _Layout, count: int) -> tuple[Words, list[int]]:
    """Words of all keys, and where those of each begin. What lies before a key in its first word is zero."""
    lengths = [key.end - key.start for key in layout.keys]
    bounds = [0]
    for length in lengths:
        bounds.append(bounds[-1] - (-length // _WORD_BYTES))
    words: Words = np.empty((bounds[-1], count), dtype=np.uint64)
    for number, (key, length) in enumerate(zip(layout.keys, lengths, strict=True)):
        part = words[bounds[number] : bounds[number + 1]]
        part[:] = _words_view(data, key.end - len(part) * _WORD_BYTES, layout.size, len(part), count)
        over = -length % _WORD_BYTES
        part[0] &= np.uint64((1 << 64) - (1 << 8 * over))
    return words, bounds


def _hashes_of_eights(words: Words) -> Words:
    """Hash of the eight characters of each word, in its lower half."""
    pairs = (words & _EVEN_BYTES) * _31
    words >>= np.uint64(8)
    words &= _EVEN_BYTES
    pairs += words
    fours = (pairs & _EVEN_PAIRS) * _31_2
    pairs >>= np.uint64(16)
    pairs &= _EVEN_PAIRS
    fours += pairs
    eights: Words = (fours & _LOW_HALF) * _31_4
    fours >>= np.uint64(32)
    eights += fours
    return eights


def _joined(eights: Words) -> Hashes:
    """Hash of a whole text from those of its words."""
    powers = POWERS[(len(eights) - 1) * _WORD_BYTES :: -_WORD_BYTES].astype(np.uint64)
    joined: Words = (eights * powers.reshape(-1, 1)).sum(axis=0, dtype=np.uint64)
    return joined.astype(np.uint32)


def _hash_of(text: bytes) -> int:
    result = 0
    for octet in text:
        result = (result * 31 + octet) & 0xFFFFFFFF
    return result


def _column(data: bytes, dtype: str, position: int, size: int, count: int) -> npt.NDArray[np.int64]:
    """One field of all records."""
    column: npt.NDArray[np.int64] = np.ndarray((count,), dtype=dtype, buffer=data, offset=position, strides=(size,))
    return column


def _words_view(data: bytes, position: int, size: int, words: int, count: int) -> Words:
    view: Words = np.ndarray((words, count), dtype="<u8", buffer=data, offset=position, strides=(_WORD_BYTES, size))
    return view
