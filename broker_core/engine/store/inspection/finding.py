from __future__ import annotations

from typing import NamedTuple


class StoreFinding(NamedTuple):
    """An inconsistency, or a note.

    Attributes:
        file: Relative to the store directory.
        position: Byte position in the file.
        text: The fault, with figures.
    """

    file: str
    position: int
    text: str

    def __str__(self) -> str:
        return f"{self.file} at {self.position:,}: {self.text}"
