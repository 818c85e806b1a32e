"""How finely what is kept how long, and how samples become bytes. Pure.

Every sample stands in a slot of its tier: slot ``n`` of a tier of ``step_ms`` covers ``[n * step_ms, (n + 1) * step_ms)``
since the epoch. A row of the database holds consecutive slots of one subject; `encode` writes its numbers.

::

    matrix     float64 [n, c]   n slots, c columns; NaN where nothing was sampled or nothing is known
    column     each column for itself: 64 bits a number, little-endian, each XORed with the one before it (the first with 0)
    shuffle    all columns one after another; first byte 0 of all numbers, then byte 1 of all, … byte 7 of all
    bytes      that, by zlib
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
    """One fineness. ``number`` names it in the database."""

    number: int
    step_ms: int
    row_ms: int
    """What a row of a subject that changes covers; rows begin at multiples of it, but where a run begins."""
    kept_ms: int

    @property
    def is_raw(self) -> bool:
        """Whether a row holds the samples themselves, and not the smallest, largest and last of each slot."""
        return self.number == 0


TIERS = (
    Tier(0, SECOND_MS, MINUTE_MS, DAY_MS),
    Tier(1, 10 * SECOND_MS, HOUR_MS, 7 * DAY_MS),
    Tier(2, MINUTE_MS, DAY_MS, 366 * DAY_MS),
    Tier(3, HOUR_MS, 32 * DAY_MS, 366 * DAY_MS),
)
"""The last one makes a chart of a year cheap: it is read from some thousands of points instead of half a million."""

RAW_SLOTS = TIERS[0].row_ms // TIERS[0].step_ms
GAP_MS = 5 * SECOND_MS
"""Time without a sample after which a run is over, and a line is interrupted."""

_LOW_BITS = np.uint64((1 << 28) - 1)


def encode(matrix: Floats) -> bytes:
    """Write the numbers of a row.

    Args:
        matrix: float64 [n, c].
    """
    bits = np.ascontiguousarray(matrix.T, "<f8").view(np.uint64)
    delta = bits.copy()
    delta[:, 1:] ^= bits[:, :-1]
    shuffled = np.ascontiguousarray(delta.view(np.uint8).reshape(-1, 8).T)
    return zlib.compress(shuffled.tobytes(), 1)


def decode(data: bytes, columns: int) -> Floats:
    """Read what `encode` wrote.

    Returns:
        float64 [n, columns].

    Raises:
        ValueError: These are no such bytes.
    """
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
    """Cut the last 28 of 52 bits off: what is left is exact to 6 parts in 100 million and takes half the room."""
    bits = np.ascontiguousarray(values, np.float64).view(np.uint64) & ~_LOW_BITS
    return bits.view(np.float64)
