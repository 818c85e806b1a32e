"""Keys of many records at once: from a piece of the commit log to the hashes that the index files hold.

Machine code finds them in 0.1 µs a message. Without it, and for text that is not ASCII, each record is looked at by itself; the
hashes of its keys are then made of whole arrays, because one in plain Python takes longer than the put of its message.

Source: docs/spec/store.md §5.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.key_batch import POWERS, Hashes, KeyBatch, absolute
from broker_core.engine.store.layout import Int64s, RecordHeads, at_every_byte, scan_records
from broker_core.native.key_scan import KeyScan
from broker_core.native.keys import HASH, KEY_COLUMNS, OFFSET, STORE_MS
from broker_core.native.library import Library
from broker_core.protocol.message.properties import KEY_SEPARATOR, KEYS, UNIQUE_KEY, find_property_bytes, property_marker
from broker_core.protocol.message.record import MAGIC_V1, MAGIC_V2, SIZE, SIZE_AND_MAGIC, SMALLEST_RECORD
from broker_core.protocol.message.sys_flag import TRANSACTION_MASK, TransactionType

_UNIQUE_KEY, _KEYS = property_marker(UNIQUE_KEY), property_marker(KEYS)
_SEPARATOR = KEY_SEPARATOR.encode()


class KeyReader:
    """Reads the keys of records. For one thread at a time.

    Args:
        library: The machine code; None: there is none.
    """

    def __init__(self, library: Library | None) -> None:
        self._scan = None if library is None else KeyScan(library)

    def read(self, data: bytes | memoryview, offset: int) -> KeyBatch:
        """Keys of the whole records in a piece of one commit log file.

        Args:
            data: The piece; starts with a record, may end within one.
            offset: Physical offset of its first byte.
        """
        view = memoryview(data)
        if self._scan is None:
            return _read_singly(view, offset)
        batches, at = [], 0
        while True:
            found = self._scan.keys(view, offset, at)
            batches.append(_batch_of(found.table, offset + found.end))
            at, before = found.end, at
            if found.is_odd:
                end = at + SIZE.unpack_from(view, at)[0]
                batches.append(_read_singly(view[at:end], offset + at))
                at = end
            elif at == before:
                break
        if not _is_cut_off(view[at:]):
            batches.append(_read_singly(view[at:], offset + at))
        return _joined(batches)


def _is_cut_off(rest: memoryview) -> bool:
    """Whether there is not more than the beginning of one record."""
    if len(rest) < SMALLEST_RECORD:
        return True
    size, magic = SIZE_AND_MAGIC.unpack_from(rest)
    return magic in (MAGIC_V1, MAGIC_V2) and size > len(rest)


def _batch_of(table: bytes, end: int) -> KeyBatch:
    rows = np.frombuffer(table, dtype=np.int64).reshape(-1, KEY_COLUMNS)
    return KeyBatch(rows[:, HASH], rows[:, OFFSET], rows[:, STORE_MS], end)


def _joined(batches: list[KeyBatch]) -> KeyBatch:
    last = batches[-1]
    filled = [batch for batch in batches if len(batch)] or [last]
    return KeyBatch(
        np.concatenate([batch.key_hash for batch in filled]),
        np.concatenate([batch.physical_offset for batch in filled]),
        np.concatenate([batch.store_ms for batch in filled]),
        last.end,
    )


def _read_singly(data: memoryview, offset: int) -> KeyBatch:
    """As `KeyReader.read`, record by record; damaged places are passed over."""
    heads = scan_records(data, offset, 0, len(data))
    names: list[bytes] = []
    rows: list[int] = []
    for row, record_names in _names(data, heads):
        names += record_names
        rows += [row] * len(record_names)
    return KeyBatch(key_hashes(names), heads.physical_offset[rows], heads.store_ms[rows], offset + heads.end)


def _names(data: memoryview, heads: RecordHeads) -> Iterator[tuple[int, list[bytes]]]:
    """The texts that are hashed for each record: topic, “#” and key; the unique key first."""
    columns = (heads.topic_position, heads.topic_bytes, heads.properties_position, heads.properties_bytes, heads.sys_flag)
    for row, place in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        topic_at, topic_bytes, properties_at, properties_bytes, flags = place
        if flags & TRANSACTION_MASK != TransactionType.ROLLBACK:
            properties = bytes(data[properties_at : properties_at + properties_bytes])
            prefix = bytes(data[topic_at : topic_at + topic_bytes]) + b"#"
            words = (find_property_bytes(properties, _KEYS) or b"").split(_SEPARATOR)
            keys = [find_property_bytes(properties, _UNIQUE_KEY) or b"", *words]
            yield row, [prefix + key for key in keys if key]


def key_hashes(names: list[bytes]) -> Int64s:
    """Hash of each UTF-8 text as index files hold it: the absolute value of Java's, 0 where that overflows."""
    width = 1 if all(map(bytes.isascii, names)) else 2
    texts = names if width == 1 else [_wide(name) for name in names]
    octets = np.frombuffer(b"".join(texts), dtype=np.uint8)
    length = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    start, length = np.cumsum(length) - length, length // width
    result: Hashes = np.zeros(len(texts), dtype=np.uint32)
    for size in np.flatnonzero(np.bincount(length)).tolist():
        rows = np.flatnonzero(length == size)
        if size:
            text = at_every_byte(octets, f"V{size * width}")[start[rows]].view(f"<u{width}").reshape(-1, size)
            result[rows] = _polynomials(text)
    return absolute(result)


def _polynomials(text: npt.NDArray[Any]) -> Hashes:
    """Sum of character × 31^(characters behind it) over each row, modulo 2^32."""
    powers = np.ascontiguousarray(POWERS[text.shape[1] - 1 :: -1])
    # Three times as fast as the product of matrices, which numpy does not vectorise for whole numbers.
    result: Hashes = np.einsum("ij,j->i", text.astype(np.uint32), powers)
    return result


def _wide(name: bytes) -> bytes:
    return name.decode("utf-8", "replace").encode("utf-16-le", "surrogatepass")
