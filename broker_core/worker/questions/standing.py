"""Where a group stands in a queue: what it still has to read, what was deleted before, how far it is beyond the end.

`monitoring.standing` computes the same for columns of positions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Standing(NamedTuple):
    """Messages of a position, or of a group's positions; None is unknown.

    Attributes:
        waiting: From the position to the end of the queue. Unknown beyond the end, because nobody can tell where a group goes
            on from there: a client decides it at its next pull.
        lost: Deleted before the group read them.
        beyond: How far the position is beyond the end: the topic was made anew, or an offset was committed that is none.
    """

    waiting: int | None
    lost: int | None
    beyond: int | None


def standing(offset: int, low: int, high: int) -> Standing:
    """The standing of a position.

    Args:
        offset: Next offset of the group; -1 unknown.
        low: Min offset of its queue, likewise.
        high: Max offset of its queue, likewise.
    """
    if offset < 0 or high < 0:
        return Standing(None, None, None)
    waiting = max(high - max(offset, low), 0) if offset <= high else None
    return Standing(waiting, max(min(low, high) - offset, 0) if low >= 0 else None, max(offset - high, 0))


def summed(standings: Iterable[Standing]) -> Standing:
    """The standing of a group: what is known of its positions, summed; None where nothing is.

    What waits is unknown for a group that is beyond the end of any queue.
    """
    columns = zip(*standings, strict=True)
    known = ([figure for figure in column if figure is not None] for column in columns)
    waiting, lost, beyond = [sum(figures) if figures else None for figures in known] or [None, None, None]
    return Standing(None if beyond else waiting, lost, beyond)
