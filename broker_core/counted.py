"""How much of something there is, in English: ``1 queue``, ``8 queues``; the window knows both (`words.text.spoken_forms`)."""

from __future__ import annotations


def counted(count: int, one: str, several: str = "") -> str:
    """A count with its words.

    Args:
        count: Any.
        one: What stands behind 1.
        several: What stands behind all other counts; left out: ``one`` with an s.
    """
    return f"{count:,} {one}" if count == 1 else f"{count:,} {several or one + 's'}"
