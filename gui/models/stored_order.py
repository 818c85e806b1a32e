"""`StoredOrder`: store order of hits that arrive from many queues at once. Pure: no widget, no I/O."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Keys = npt.NDArray[np.bytes_]

_KEY = "S16"
"""Two big-endian numbers of 8 bytes, which sort as bytes."""


def _keys(store_ms: Int64s, places: Int64s) -> Keys:
    return np.stack((store_ms, places), axis=1).astype(">i8").view(_KEY).reshape(-1)


class StoredOrder:
    """Numbers of hits by store time; those of one millisecond by their place in the log.

    A search of a store runs along its log, so its hits arrive in this order and nothing is stored. Queues of a cluster answer
    in any order: their hits are inserted between earlier ones, 24 bytes each. With a million hits an insertion takes some
    hundredths of a second.
    """

    def __init__(self) -> None:
        self.numbers: Int64s | None = None
        """Numbers of the hits, first to last; None: as they arrived."""
        self._keys: Keys = np.empty(0, dtype=_KEY)
        """Keys of ``numbers``, in their order."""
        self._count = 0
        self._last = b""

    def take_in(self, store_ms: Int64s, places: Int64s) -> None:
        """Insert the hits that arrived since the last call.

        Args:
            store_ms: Of all hits, also those of earlier calls; ms since the epoch, not below 0.
            places: Of the same hits, not below 0.
        """
        before, self._count = self._count, len(places)
        fresh = _keys(store_ms[before:], places[before:])
        if not len(fresh):
            return
        if self.numbers is None:
            if fresh[0] >= self._last and bool(np.all(fresh[1:] >= fresh[:-1])):
                self._last = bytes(fresh[-1])
                return
            self.numbers, self._keys = np.arange(before), _keys(store_ms[:before], places[:before])
        among = np.argsort(fresh, kind="stable")
        at = np.searchsorted(self._keys, fresh[among], side="right")
        self._keys = np.insert(self._keys, at, fresh[among])
        self.numbers = np.insert(self.numbers, at, among + before)
