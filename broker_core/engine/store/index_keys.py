"""Keys of many records at once: from a piece of the commit log to the hashes that the index files hold.

A hash of one key in plain Python takes longer than the put of its message, so this works on whole arrays: properties are
found by their separators, keys of one length are hashed as one matrix. What is out of the ordinary (more than one key in
KEYS, text that is not ASCII) is looked at by itself.

Measured with bodies of 128 bytes and two keys a message: 0.8 µs a message; 2.3 with steps of Python for each.

Source: docs/spec/store.md §5.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.alike_keys import read_alike
from broker_core.engine.store.key_batch import POWERS, Hashes, KeyBatch, absolute
from broker_core.engine.store.layout import Bytes, Int64s, RecordHeads, at_every_byte, scan_records
from broker_core.protocol.message.properties import KEY_SEPARATOR, KEYS, UNIQUE_KEY
from broker_core.protocol.message.record import MAGIC_V1, MAGIC_V2, SIZE_AND_MAGIC, SMALLEST_RECORD
from broker_core.protocol.message.sys_flag import TRANSACTION_MASK, TransactionType

_NAME_END = 1
_ITEM_END = 2
_SPACE = ord(KEY_SEPARATOR)
_NOT_ASCII = 0x80
_LENGTHS = {4: ">u4", 8: ">u8"}
_UNIQUE_KEY, _KEYS = UNIQUE_KEY.encode(), KEYS.encode()
assert len(_UNIQUE_KEY) in _LENGTHS
assert len(_KEYS) in _LENGTHS


class _Texts(NamedTuple):
    """Pieces of a buffer, and the record that each belongs to."""

    row: Int64s
    start: Int64s
    length: Int64s


def read_keys(data: bytes, offset: int) -> KeyBatch:
    """Keys of the whole records in a piece of one commit log file.

    Args:
        data: The piece; starts with a record, may end within one.
        offset: Physical offset of its first byte.
    """
    alike = read_alike(data, offset)
    if alike is None:
        return _read_any(data, offset)
    rest = data[alike.end - offset :]
    return alike if _is_cut_off(rest) else _joined(alike, _read_any(rest, alike.end))


def _is_cut_off(rest: bytes) -> bool:
    """Whether there is not more than the beginning of one record."""
    if len(rest) < SMALLEST_RECORD:
        return True
    size, magic = SIZE_AND_MAGIC.unpack_from(rest)
    return magic in (MAGIC_V1, MAGIC_V2) and size > len(rest)


def _joined(first: KeyBatch, second: KeyBatch) -> KeyBatch:
    if not len(second):
        return KeyBatch(first.key_hash, first.physical_offset, first.store_ms, second.end)
    return KeyBatch(
        np.concatenate((first.key_hash, second.key_hash)),
        np.concatenate((first.physical_offset, second.physical_offset)),
        np.concatenate((first.store_ms, second.store_ms)),
        second.end,
    )


def _read_any(data: bytes, offset: int) -> KeyBatch:
    """As `read_keys`, for records of any kind."""
    heads = scan_records(data, offset, 0, len(data))
    octets = np.frombuffer(data, dtype=np.uint8)[: heads.end]
    item_ends = np.flatnonzero(octets == _ITEM_END)
    separators = np.flatnonzero(octets == _NAME_END)
    found = [_values(octets, heads, separators, item_ends, name) for name in (_UNIQUE_KEY, _KEYS)]
    row, start, length = (np.concatenate(columns) for columns in zip(*found, strict=True))
    is_key = np.arange(len(row)) >= len(found[0].row)
    topics, odd_topics = _hashes(octets, heads.topic_position[row], heads.topic_bytes[row])
    hashes, odd = _hashes(octets, start, length)
    # The text of the index is topic, “#” and key: its hash is made of the hashes of the parts.
    hashes += (topics * np.uint32(31) + np.uint32(ord("#"))) * POWERS[length]
    rank = row * 2 + is_key
    odd |= odd_topics
    if odd.any():
        again = _one_by_one(data, heads, _Texts(rank[odd], start[odd], length[odd]))
        hashes = np.concatenate((hashes[~odd], again[1]))
        rank = np.concatenate((rank[~odd], again[0]))
    # The unique key of a record comes before its other keys, and these stay in their order.
    order = np.argsort(rank, kind="stable")
    row = rank[order] >> 1
    kept = (heads.sys_flag[row] & TRANSACTION_MASK) != TransactionType.ROLLBACK
    row = row[kept]
    return KeyBatch(absolute(hashes[order][kept]), heads.physical_offset[row], heads.store_ms[row], offset + heads.end)


def _values(octets: Bytes, heads: RecordHeads, separators: Int64s, item_ends: Int64s, name: bytes) -> _Texts:
    """Values of a property; of several of one record the last that is not empty, as `find_property_bytes` has it.

    Args:
        octets: The records.
        heads: Their heads.
        separators: Where 0x01 stands.
        item_ends: Where 0x02 stands.
        name: Of the property.
    """
    size = len(name)
    separators = separators[int(np.searchsorted(separators, size)) :]
    separators = separators[octets[separators - 1] == name[-1]]
    names = at_every_byte(octets, _LENGTHS[size])[separators - size]
    start = separators[names == int.from_bytes(name)] + 1
    row = np.searchsorted(heads.position, start, side="right") - 1
    record_end = heads.position[row] + heads.size[row]
    end = np.minimum(np.append(item_ends, len(octets))[np.searchsorted(item_ends, start)], record_end)
    name_at, begin = start - 1 - size, heads.properties_position[row]
    # A name that reads on from the separator before it, in the text that properties are: not in a body, not within a value.
    is_value = (name_at >= begin) & (start < end) & ((name_at == begin) | (octets[name_at - 1] == _ITEM_END))
    row, start, end = row[is_value], start[is_value], end[is_value]
    is_last = np.append(row[1:] != row[:-1], np.ones(min(len(row), 1), dtype=np.bool_))
    return _Texts(row[is_last], start[is_last], (end - start)[is_last])


def _hashes(octets: Bytes, start: Int64s, length: Int64s) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """Hash of each text as if it were plain ASCII, and which are not, or have spaces in them."""
    odd = np.zeros(len(start), dtype=np.bool_)
    result: Hashes = np.zeros(len(start), dtype=np.uint32)
    for rows, text in _matrices(octets, start, length, width=1):
        result[rows] = _polynomials(text)
        if text.max() >= _NOT_ASCII or (text == _SPACE).any():
            odd[rows] = ((text >= _NOT_ASCII) | (text == _SPACE)).any(axis=1)
    return result, odd


def _matrices(octets: Bytes, start: Int64s, length: Int64s, *, width: int) -> Iterator[tuple[Any, npt.NDArray[Any]]]:
    """Texts of one length as a matrix, with the places of its rows among all; ``width`` is the bytes of a character."""
    for size in np.flatnonzero(np.bincount(length)).tolist():
        rows = np.flatnonzero(length == size)
        if size:
            text = at_every_byte(octets, f"V{size * width}")[start[rows]].view(f"<u{width}").reshape(-1, size)
            yield rows, text


def _polynomials(text: npt.NDArray[Any]) -> Hashes:
    """Sum of character × 31^(characters behind it) over each row, modulo 2^32."""
    powers = np.ascontiguousarray(POWERS[text.shape[1] - 1 :: -1])
    # Three times as fast as the product of matrices, which numpy does not vectorise for whole numbers.
    result: Hashes = np.einsum("ij,j->i", text.astype(np.uint32), powers)
    return result


def _one_by_one(data: bytes, heads: RecordHeads, odd: _Texts) -> tuple[Int64s, Hashes]:
    """Rank and hash of each key of the odd values: KEYS may hold several, and text that is not ASCII counts in UTF-16."""
    names: list[bytes] = []
    ranks: list[int] = []
    for rank, start, length in zip(*(column.tolist() for column in odd), strict=True):
        topic = int(heads.topic_position[rank >> 1])
        prefix = data[topic : topic + int(heads.topic_bytes[rank >> 1])] + b"#"
        value = data[start : start + length]
        for key in value.split(KEY_SEPARATOR.encode()) if rank & 1 else (value,):
            if key:
                names.append(prefix + key)
                ranks.append(rank)
    return np.array(ranks, dtype=np.int64), _java_hashes(names)


def key_hashes(names: list[bytes]) -> Int64s:
    """Hash of each UTF-8 text as index files hold it: the absolute value of Java's, 0 where that overflows."""
    return absolute(_java_hashes(names))


def _java_hashes(names: list[bytes]) -> Hashes:
    width = 1 if all(map(bytes.isascii, names)) else 2
    texts = names if width == 1 else [_wide(name) for name in names]
    octets = np.frombuffer(b"".join(texts), dtype=np.uint8)
    length = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    result: Hashes = np.zeros(len(texts), dtype=np.uint32)
    for rows, text in _matrices(octets, np.cumsum(length) - length, length // width, width=width):
        result[rows] = _polynomials(text)
    return result


def _wide(name: bytes) -> bytes:
    return name.decode("utf-8", "replace").encode("utf-16-le", "surrogatepass")
