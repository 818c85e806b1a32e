"""Resolution and retention of the tiers, and the byte format of samples. Pure.

Every sample has a slot of its tier: slot ``n`` of a tier of ``step_ms`` covers ``[n * step_ms, (n + 1) * step_ms)``
since the epoch. A row of the database holds consecutive slots of one subject; `encode` writes its numbers, a matrix of n slots
and c columns with NaN for unknown values (docs/history.md, “Data of a row”).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from monitoring.series import Floats

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


@dataclass(frozen=True, slots=True)
class Tier:
    """One resolution. ``number`` is its number in the database."""

    number: int
    step_ms: int
    row_ms: int
    """Time that a row of a changing subject covers; rows begin at multiples of it, except at the begin of a run."""
    kept_ms: int

    @property
    def is_raw(self) -> bool:
        """Whether a row holds the samples themselves, not the smallest, largest and last of each slot."""
        return self.number == 0


TIERS = (
    Tier(0, SECOND_MS, MINUTE_MS, DAY_MS),
    Tier(1, 10 * SECOND_MS, HOUR_MS, 7 * DAY_MS),
    Tier(2, MINUTE_MS, DAY_MS, 366 * DAY_MS),
    Tier(3, HOUR_MS, 32 * DAY_MS, 366 * DAY_MS),
)
"""The last tier makes a chart of a year cheap: it reads some thousands of points instead of half a million."""

RAW_SLOTS = TIERS[0].row_ms // TIERS[0].step_ms
GAP_MS = 5 * SECOND_MS
"""Time without a sample after which a run ends, and a line is interrupted."""

_LOW_BITS = np.uint64((1 << 28) - 1)


def encode(matrix: Floats) -> bytes:
    """Bytes of a matrix, float64 [n, c]."""
    bits = np.ascontiguousarray(matrix.T, "<f8").view(np.uint64)
    delta = bits.copy()
    delta[:, 1:] ^= bits[:, :-1]
    shuffled = np.ascontiguousarray(delta.view(np.uint8).reshape(-1, 8).T)
    return zlib.compress(shuffled.tobytes(), 1)


def decode(data: bytes, columns: int) -> Floats:
    """Read the bytes of `encode`: float64 [n, columns]. Raises `ValueError` if they are invalid."""
    try:
        raw = zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(f"a row of the history cannot be unpacked: {error}") from error
    if not columns or len(raw) % (8 * columns):
        raise ValueError(f"a row of the history has {len(raw)} bytes, which are no {columns} columns of numbers")
    shuffled = np.frombuffer(raw, np.uint8).reshape(8, -1)
    delta = np.ascontiguousarray(shuffled.T).reshape(-1).view("<u8").reshape(columns, -1)
    values: Floats = np.bitwise_xor.accumulate(delta, axis=1).view(np.float64).T
    return values


def rounded(values: Floats) -> Floats:
    """Clear the last 28 of 52 bits: the rest is exact to 6 parts in 100 million and compresses to half the size."""
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64) & ~_LOW_BITS
    return bits.view(np.float64)
