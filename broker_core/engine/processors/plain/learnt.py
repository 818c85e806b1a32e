"""Bounded memory of what recurring parts of frames mean."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Generic, TypeVar

KNOWN_MAX = 4096
"""Parts remembered, in each table; when there are more all are forgotten."""
ALIKE_BYTES_MAX = 1024
"""Longer parts are not remembered."""

Key = TypeVar("Key", bound=Sized)
Meaning = TypeVar("Meaning")


class LearntParts(dict[Key, Meaning | None], Generic[Key, Meaning]):
    """What a part of a frame means, by its bytes; None for what is not plain. A part is read once, when it is looked up.

    Args:
        read: Reads a part.
        size_of: Bytes of a part.
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
