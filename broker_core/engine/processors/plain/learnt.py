from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Generic, TypeVar

KNOWN_MAX = 4096
"""Parts remembered in each table, and parts that were met once; the next one empties the table."""
ALIKE_BYTES_MAX = 1024
"""Longer parts are not remembered."""

Key = TypeVar("Key", bound=Sized)
Meaning = TypeVar("Meaning")


class LearntParts(dict[Key, Meaning | None], Generic[Key, Meaning]):
    """The meaning of a part of a frame, by its bytes; None for a part that is not plain. It is read on demand, mostly twice.

    It is kept when it is met again, because a producer that sends once to each of 4,000 queues would leave 1 MiB of them.
    ``read`` reads a part, ``size_of`` returns its bytes.
    """

    def __init__(self, read: Callable[[Key], Meaning | None], size_of: Callable[[Key], int] = len) -> None:
        super().__init__()
        self._read = read
        self._size_of = size_of
        self._met_once: set[int] = set()
        """Hashes of parts. Two parts with the same hash are no harm: one of them is kept early."""

    def again(self, part: Key) -> Meaning | None:
        """The meaning of a part that was met before; None for another."""
        return self[part] if part in self or hash(part) in self._met_once else None

    def __missing__(self, part: Key) -> Meaning | None:
        if self._size_of(part) > ALIKE_BYTES_MAX:
            return None
        meaning, mark = self._read(part), hash(part)
        if mark not in self._met_once:
            if len(self._met_once) >= KNOWN_MAX:
                self._met_once.clear()
            self._met_once.add(mark)
            return meaning
        self._met_once.discard(mark)
        if len(self) >= KNOWN_MAX:
            self.clear()
        self[part] = meaning
        return meaning
