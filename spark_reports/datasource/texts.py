"""Short texts in a buffer, numbered: equal ones have one number, and each is compared as a few words of 8 bytes.

A log has millions of topics and some hundred different ones. Cutting out each and comparing them as texts takes four times as
long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from broker_core.engine.store.layout import Bytes, Int64s, at_every_byte

Words = npt.NDArray[np.uint64]

_WORD_BYTES = 8
_TEXT_BYTES_MAX = 64
"""Longer texts are cut out and compared."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)


class Numbered(NamedTuple):
    """A column as one number a row, and the values by number."""

    numbers: Int64s
    values: pa.Array

    def rows(self) -> pa.Array:
        return self.values.take(pa.array(self.numbers))


def numbered(data: Bytes, starts: Int64s, lengths: Int64s) -> Numbered:
    """Numbers of texts in the order of first occurrence; ``starts`` ascend, texts do not overlap, ``data`` is under 2 GiB."""
    ends = starts + lengths
    if not len(starts) or int(lengths.max()) > _TEXT_BYTES_MAX or int(ends[0]) < _WORD_BYTES:
        return _compared(data, starts, ends)
    columns = [lengths.astype(np.uint64), *_words(data, starts, ends, lengths)]
    key = columns[0]
    for column in columns[1:]:
        key = (key ^ column) * _MIX
        key ^= key >> _FOLD
    coded = pa.array(key.view(np.int64)).dictionary_encode()
    numbers = coded.indices.to_numpy()
    first = np.empty(len(coded.dictionary), dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # the last write of several rows stays
    if not all(bool((column == column[first][numbers]).all()) for column in columns):
        return _compared(data, starts, ends)  # two texts have one key
    return Numbered(numbers, cut(data, starts[first], ends[first]))


def _compared(data: Bytes, starts: Int64s, ends: Int64s) -> Numbered:
    coded = cut(data, starts, ends).dictionary_encode()
    return Numbered(coded.indices.to_numpy(), coded.dictionary)


def _words(data: Bytes, starts: Int64s, ends: Int64s, lengths: Int64s) -> list[Words]:
    """Texts as words, from their ends on; a text is identified by its words and its length."""
    every_word = at_every_byte(data, np.dtype("V8"))  # the void type is copied in a third of the time
    shortest, longest = int(lengths.min()), int(lengths.max())
    found = []
    for behind in range(0, longest, _WORD_BYTES):
        at = ends - (behind + _WORD_BYTES)
        if behind and shortest < behind + _WORD_BYTES:
            at = np.minimum(np.maximum(at, starts), ends - _WORD_BYTES)  # the last of a text overlaps the one before
        word: Words = every_word[at].view("<u8")
        if not behind and shortest < _WORD_BYTES:
            word >>= (8 * np.maximum(_WORD_BYTES - lengths, 0)).astype(np.uint64)
        elif behind and shortest <= behind:
            word[lengths <= behind] = 0
        found.append(word)
    return found


def cut(data: Bytes, starts: Int64s, stops: Int64s) -> pa.Array:
    """Pieces of a buffer as a binary column, copied once; ``starts`` ascend, pieces do not overlap, ``data`` is under 2 GiB."""
    count = len(starts)
    if not count:
        return pa.array([], type=pa.binary())
    # Pieces and the gaps between them make one column without copying; taking every second entry copies the pieces.
    offsets = np.empty(2 * count, dtype=np.int32)
    offsets[0::2] = starts
    offsets[1::2] = stops
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    interleaved = pa.Array.from_buffers(pa.binary(), 2 * count - 1, buffers)
    return interleaved.take(pa.array(np.arange(0, 2 * count, 2)))


def text_array(values: pa.Array) -> pa.Array:
    """Binary column as text; invalid UTF-8 becomes replacement characters, as in Java."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if item is None else item.decode(errors="replace") for item in values.to_pylist()], pa.string())
