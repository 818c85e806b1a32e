from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Generic, TypeVar

KNOWN_MAX = 4096
"""Parts remembered in each table; the next one empties the table."""
ALIKE_BYTES_MAX = 1024
"""Longer parts are not remembered."""

Key = TypeVar("Key", bound=Sized)
Meaning = TypeVar("Meaning")


class LearntParts(dict[Key, Meaning | None], Generic[Key, Meaning]):
    """The meaning of a part of a frame, by its bytes; None for a part that is not plain. Each part is read once, on demand.

    ``read`` reads a part, ``size_of`` returns its bytes.
    """

    def __init__(self, read: Callable[[Key], Meaning | None], size_of: Callable[[Key], int] = len) -> None:
        super().__init__()
        self._read = read
        self._size_of = size_of

    def __missing__(self, part: Key) -> Meaning | None:
        if self._size_of(part) > ALIKE_BYTES_MAX:
            return None
        if len(self) >= KNOWN_MAX:
            self.clear()
        meaning = self[part] = self._read(part)
        return meaning
