"""Counts in English: ``1 queue``, ``8 queues``; the window translates both forms (`words.text.spoken_forms`)."""

from __future__ import annotations


def counted(count: int, one: str, several: str = "") -> str:
    """A count with its noun: ``one`` after 1, else ``several``, by default ``one`` with an s."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {several or one + 's'}"
