"""`SampleBlocks`: one row of figures a sample, stored in blocks in which a constant figure takes one number.

Most topics and groups of a large cluster are idle, and nearly all figures are constant over a minute, except for moments in
which they are unknown. Columns and samples have numbers here, no names and times.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BLOCK_SAMPLES = 60
ODD_RUNS_MAX = 40
"""A column with more odd runs than this is stored in full: a run takes 12 bytes, all samples of a column 480."""
_COLUMNS_MAX = np.iinfo(np.int16).max
assert np.iinfo(np.uint8).max >= BLOCK_SAMPLES


@dataclass(slots=True)
class _SampleBlock:
    """Samples ``first`` to ``first + count`` (exclusive). A column beyond ``usual`` was added later and is unknown.

    A column that moved has all its samples in ``moved``; one that moved rarely only the runs that differ from ``usual``.
    """

    first: int
    count: int
    usual: Floats  # [columns]
    moved_columns: NDArray[np.int16]  # [m], rising
    moved: Floats  # [count, m]
    odd_columns: NDArray[np.int16]  # [n], rising: where a run is another than the usual sample
    odd_begins: NDArray[np.uint8]  # [n], rows, rising within a column
    odd_ends: NDArray[np.uint8]  # [n], exclusive
    odd: Floats  # [n], the sample

    @property
    def end(self) -> int:
        return self.first + self.count

    @property
    def size(self) -> int:
        odd = (self.odd_columns, self.odd_begins, self.odd_ends, self.odd)
        return sum(column.nbytes for column in (self.usual, self.moved_columns, self.moved, *odd))

    def column(self, column: int) -> Floats | float:
        """All samples of a column: float64 [count], or one number that stands for them all."""
        if column >= len(self.usual):
            return float("nan")
        place, after = _places(self.moved_columns, column)
        if place < after:
            return self.moved[:, place]
        low, high = _places(self.odd_columns, column)
        if low == high:
            return float(self.usual[column])
        values = np.full(self.count, self.usual[column])
        for run in range(low, high):
            values[self.odd_begins[run] : self.odd_ends[run]] = self.odd[run]
        return values

    def rows(self) -> Floats:
        """The whole samples, float64 [count, columns]."""
        rows = np.repeat(self.usual[None, :], self.count, axis=0)
        rows[:, self.moved_columns] = self.moved
        begins, ends = self.odd_begins.astype(np.int64), self.odd_ends.astype(np.int64)
        lengths = ends - begins
        numbers = np.arange(lengths.sum()) + np.repeat(ends - lengths.cumsum(), lengths)
        rows[numbers, np.repeat(self.odd_columns, lengths)] = np.repeat(self.odd, lengths)
        return rows

    def with_columns(self, kept: Ints) -> _SampleBlock:
        """The block with only some columns; ``kept`` rises."""
        kept = kept[kept < len(self.usual)]
        moving, odd = np.isin(self.moved_columns, kept), np.isin(self.odd_columns, kept)
        return _SampleBlock(
            self.first,
            self.count,
            self.usual[kept],
            np.searchsorted(kept, self.moved_columns[moving]).astype(np.int16),
            self.moved[:, moving],
            np.searchsorted(kept, self.odd_columns[odd]).astype(np.int16),
            self.odd_begins[odd],
            self.odd_ends[odd],
            self.odd[odd],
        )


def _places(columns: NDArray[np.int16], column: int) -> tuple[int, int]:
    """Range of a column's entries among rising ones, the end exclusive."""
    return int(columns.searchsorted(column)), int(columns.searchsorted(column, side="right"))


def _closed(first: int, rows: Floats) -> _SampleBlock:
    # The newest one, unless it is unknown for a moment.
    usual = np.where(np.isnan(rows[-1]), rows[0], rows[-1])
    # Compared as bits, because a NaN differs from itself as a number.
    bits = np.ascontiguousarray(rows).view(np.int64)
    begins = bits != usual.view(np.int64)
    ends = begins.copy()
    changed = bits[1:] != bits[:-1]
    begins[1:] &= changed
    ends[:-1] &= changed
    moving = begins.sum(axis=0) > ODD_RUNS_MAX
    begins[:, moving] = ends[:, moving] = False
    columns, odd_begins = np.nonzero(begins.T)
    odd_ends = np.nonzero(ends.T)[1] + 1
    return _SampleBlock(
        first,
        len(rows),
        usual,
        np.flatnonzero(moving).astype(np.int16),
        rows[:, moving],
        columns.astype(np.int16),
        odd_begins.astype(np.uint8),
        odd_ends.astype(np.uint8),
        rows[odd_begins, columns],
    )


class SampleBlocks:
    """Rows by the number of their sample. Not thread-safe.

    Above ``bytes_max`` of closed blocks the oldest is dropped. The newest of them and the open rows, 60 samples, stay.
    """

    def __init__(self, *, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._blocks: deque[_SampleBlock] = deque()
        self._open = np.empty((BLOCK_SAMPLES, 0))
        self._open_first = 0
        self._open_count = 0

    @property
    def first(self) -> int:
        """Number of the oldest sample; that of the next one if there is none."""
        return self._blocks[0].first if self._blocks else self._open_first

    def append(self, number: int, row: Floats) -> None:
        """Add sample ``number``, the one after the newest; ``row`` float64 [columns] has at least the columns of that."""
        assert len(row) <= _COLUMNS_MAX
        if self._open_count == BLOCK_SAMPLES:
            self._close()
        if not self._open_count:
            self._open_first = number
        more = len(row) - self._open.shape[1]
        if more > 0:
            self._open = np.pad(self._open, ((0, 0), (0, more)), constant_values=np.nan)
        self._open[self._open_count] = row
        self._open_count += 1

    def forget_from(self, number: int) -> None:
        """Drop sample ``number`` and those after it."""
        while self._open_first >= number and self._blocks:
            # Opened again, because a swinging clock would leave blocks of one sample.
            block = self._blocks.pop()
            self._bytes -= block.size
            rows = block.rows()
            self._open = np.full((BLOCK_SAMPLES, rows.shape[1]), np.nan)
            self._open[: block.count] = rows
            self._open_first, self._open_count = block.first, block.count
        self._open_count = max(0, min(self._open_count, number - self._open_first))

    def forget_before(self, number: int) -> None:
        """Drop blocks whose samples are all before ``number``."""
        while self._blocks and self._blocks[0].end <= number:
            self._bytes -= self._blocks.popleft().size

    def keep_columns(self, kept: Ints) -> None:
        """Drop all other columns; the kept ones, int64 and rising, are renumbered from 0."""
        self._blocks = deque(block.with_columns(kept) for block in self._blocks)
        self._bytes = sum(block.size for block in self._blocks)
        self._open = self._open[:, kept[kept < self._open.shape[1]]]

    def column(self, column: int, first: int, last: int) -> Floats:
        """Samples ``first`` to ``last`` (exclusive) of a column, NaN if unknown."""
        values = np.full(max(0, last - first), np.nan)
        if column < self._open.shape[1]:
            _put(values, first, self._open_first, self._open[: self._open_count, column])
        for block in reversed(self._blocks):
            if block.end <= first:
                break
            _put(values, first, block.first, block.column(column), block.count)
        return values

    def _close(self) -> None:
        block = _closed(self._open_first, self._open[: self._open_count])
        self._blocks.append(block)
        self._bytes += block.size
        self._open[:] = np.nan
        self._open_count = 0
        while self._bytes > self._bytes_max and len(self._blocks) > 1:
            self._bytes -= self._blocks.popleft().size


def _put(values: Floats, first: int, begin: int, found: Floats | float, count: int = 0) -> None:
    """Copy a block's values, from sample ``begin`` on, into the values of the samples from ``first`` on."""
    count = len(found) if isinstance(found, np.ndarray) else count
    low, high = max(first, begin), min(first + len(values), begin + count)
    if low < high:
        values[low - first : high - first] = found[low - begin : high - begin] if isinstance(found, np.ndarray) else found
