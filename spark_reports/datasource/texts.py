"""Texts in a buffer: numbered, so that equal ones have one number, and cut out.

A log has millions of topics and some hundred different ones. Cutting out each and comparing them takes four times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from broker_core.engine.store.record_heads import HeadScan
from spark_reports.datasource.arrays import Bytes, Int64s, array_of
from spark_reports.datasource.kernels import library


class Numbered(NamedTuple):
    """A column as one number a row, and the values by number."""

    numbers: Int64s
    values: pa.Array

    def rows(self) -> pa.Array:
        return self.values.take(pa.array(self.numbers))


def numbered(data: Bytes, starts: Int64s, lengths: Int64s) -> Numbered:
    """Numbers of texts in the order of first occurrence; ``starts`` ascend, texts do not overlap, ``data`` is under 2 GiB."""
    places = (np.ascontiguousarray(column, dtype=np.int64).data for column in (starts, lengths))
    firsts, numbers = map(array_of, HeadScan(library()).groups(data.data, *places))
    return Numbered(numbers, cut(data, starts[firsts], (starts + lengths)[firsts]))


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
