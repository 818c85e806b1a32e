"""Records of a commit log file to keys of the index, by the kernel of `broker_core.native.keys`."""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple

from broker_core.native import keys as k
from broker_core.native.calls import call
from broker_core.native.library import Library
from broker_core.native.records import FULL, ODD

KEYS_MAX: Final = 1 << 15
"""Found at a time: 768 KiB. A record has at most half of them, because its properties have 32 KiB."""


class ScannedKeys(NamedTuple):
    """Keys of a stretch of records.

    Attributes:
        table: Rows of hash, physical offset and store time (`KEY_COLUMNS`).
        end: Position behind the last record.
        is_odd: Python has to look at the record there.
        is_full: More keys may follow.
    """

    table: array[int]
    end: int
    is_odd: bool
    is_full: bool


class KeyScan:
    """Scans records. For one thread at a time.

    Args:
        library: The machine code; None runs the kernel in Python, which is for tests.
    """

    def __init__(self, library: Library | None) -> None:
        self._library = library
        self._state = array("q", bytes(8 * k.STATE_COLUMNS))
        self._found = array("q", bytes(8 * k.KEY_COLUMNS * KEYS_MAX))

    def keys(self, data: memoryview, base: int, start: int) -> ScannedKeys:
        """Keys of the records from a position on, up to the first place where there is none.

        Args:
            data: The records; where they are part of a file, up to where records may reach.
            base: Physical offset of the first byte.
            start: Position of the first record.
        """
        state = self._state
        state[k.AT], state[k.BASE], state[k.LIMIT], state[k.KEYS_MAX], state[k.KEYS] = start, base, len(data), KEYS_MAX, 0
        reason = call(self._library, k.scan_keys, data, state, self._found)
        return ScannedKeys(self._found[: k.KEY_COLUMNS * state[k.KEYS]], state[k.AT], reason == ODD, reason == FULL)
