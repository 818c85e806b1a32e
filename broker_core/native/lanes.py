"""Lanes: what is alike in all requests of a client to a queue, found by its bytes. For kernels and for Python.

A lane has a key of two parts of a request, and what a kernel needs to serve it. Python adds lanes
(`broker_core.native.lane_table`), kernels only find them: by a hash with a seed of this start, verified byte by byte.

    state │ lanes: rows of numbers │ slots: row + 1 by hash, 0 for none │ texts: keys, and parts of records and answers
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import Bytes, Table, mix, put8, same, u8

# Columns of the state: what a kernel is given, and what it found.
AT: Final = 0
"""Where the next frame begins; later, the frame in front of which the kernel stopped."""
END: Final = 1
"""Where the bytes of the connection end. The last frame may be cut."""
OUT_AT: Final = 2
"""Where the next answer goes."""
OUT_END: Final = 3
NOW_MS: Final = 4
SEED: Final = 5
SLOT_MASK: Final = 6
"""Slots, a power of 2, less 1."""
TAKEN: Final = 7
"""Requests served."""
TOUCHED: Final = 8
"""Rows in the table of touched queues."""
KEY_AT: Final = 9
"""The parts of the key of the frame."""
KEY_BYTES: Final = 10
SECOND_AT: Final = 11
SECOND_BYTES: Final = 12
KIND: Final = 13
LANE: Final = 14
"""Row of the lane, times `LANE_COLUMNS`; -1 for none."""
VERSION: Final = 15
"""Of the client that sent the last request that was served."""
LANGUAGE: Final = 16
OWN_COLUMNS: Final = 24
"""From here on, the columns of one kernel."""
STATE_COLUMNS: Final = 64

# Columns of a lane.
L_KIND: Final = 0
L_HASH: Final = 1
L_KEY_AT: Final = 2
L_KEY_BYTES: Final = 3
L_SECOND_AT: Final = 4
L_SECOND_BYTES: Final = 5
L_IS_OPEN: Final = 6
"""0 while its requests are Python's."""
L_QUEUE: Final = 7
"""Row of its queue."""
L_PARTS: Final = 8
"""Place and bytes of up to four parts of its answer, between which a kernel writes numbers."""
L_FIELDS_AT: Final = 16
"""Where in the answer the length of its fields stands."""
L_FIELDS_BYTES: Final = 17
"""That length without the digits of numbers."""
L_OWN_COLUMNS: Final = 18
"""From here on, the columns of one kind of lanes."""
LANE_COLUMNS: Final = 32

# Kinds of lanes: the first byte of a header of sends, further numbers for others.
JSON_SEND: Final = 0
BINARY_SEND: Final = 1
BINARY_PULL: Final = 2
JSON_PULL: Final = 3
JSON_SEND_END: Final = 4
"""The end of headers of sends: its own lane, because clients of one group may differ in it."""
BINARY_SEND_END: Final = 5
BATCHES: Final = 6
"""Added to the kinds of sends for those of batches."""

_ZERO: Final = 48
_NINE: Final = 57


def lane_hash(
    seed: int, kind: int, first: Bytes, first_at: int, first_bytes: int, second: Bytes, second_at: int, second_bytes: int
) -> int:
    """The hash of a key."""
    return mix(mix(seed ^ kind, first, first_at, first_bytes), second, second_at, second_bytes)


def find_lane(
    kind: int, data: Bytes, first_at: int, first_bytes: int, second_at: int, second_bytes: int, state: Table, lanes: Table,
    slots: Table, texts: Bytes,
) -> int:  # fmt: skip
    """Row of the lane with a key, times `LANE_COLUMNS`; -1 for none."""
    hashed = lane_hash(state[SEED], kind, data, first_at, first_bytes, data, second_at, second_bytes)
    slot = hashed & state[SLOT_MASK]
    while slots[slot]:
        row = (slots[slot] - 1) * LANE_COLUMNS
        is_alike = lanes[row + L_HASH] == hashed and lanes[row + L_KIND] == kind and lanes[row + L_KEY_BYTES] == first_bytes
        if is_alike and lanes[row + L_SECOND_BYTES] == second_bytes:
            is_first = same(texts, lanes[row + L_KEY_AT], data, first_at, first_bytes)
            if is_first and same(texts, lanes[row + L_SECOND_AT], data, second_at, second_bytes):
                return row
        slot = (slot + 1) & state[SLOT_MASK]
    return -1


def are_digits(data: Bytes, at: int, count: int) -> bool:
    """Whether bytes are decimal digits."""
    place = at
    while place < at + count and _ZERO <= u8(data, place) <= _NINE:
        place += 1
    return place == at + count


def number_at(data: Bytes, at: int, count: int) -> int:
    """A number of up to 18 decimal digits."""
    found = 0
    for place in range(at, at + count):
        found = found * 10 + u8(data, place) - _ZERO
    return found


def digits_of(value: int) -> int:
    """How many decimal digits a number has that is not negative."""
    count = 1
    while value >= 10:
        value //= 10
        count += 1
    return count


def put_digits(data: Bytes, at: int, value: int, count: int) -> None:
    """Write a number in so many decimal digits."""
    for place in range(count - 1, -1, -1):
        rest = value // 10
        put8(data, at + place, _ZERO + value - rest * 10)
        value = rest
