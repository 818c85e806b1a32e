"""Where groups stand in their queues, as `broker_core.worker.questions.standing` defines it, for columns of positions.

Figures, alerts and history use it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Standings(NamedTuple):
    """Messages by position, float64 [P]; NaN is unknown.

    Attributes:
        waiting: From the position to the end of the queue; unknown beyond the end.
        lost: Deleted before the group read them.
        beyond: How far the position is beyond the end.
    """

    waiting: Floats
    lost: Floats
    beyond: Floats

    def summed(self, group: ArrayLike, count: int) -> Standings:
        """The same by group, whose numbers are given by position; NaN where no position is known.

        What waits is unknown for a group that is beyond the end of any queue.
        """
        groups = np.asarray(group, np.int64)
        waiting, lost, beyond = (_sum_known(values, groups, count) for values in self)
        return Standings(np.where(beyond > 0, np.nan, waiting), lost, beyond)


def standings(offset: ArrayLike, low: ArrayLike, high: ArrayLike) -> Standings:
    """The standing of positions.

    Args:
        offset: Next offset of the group by position, int64 [P]; -1 unknown.
        low: Min offset of its queue, likewise.
        high: Max offset of its queue, likewise.
    """
    at, first, end = (np.asarray(values, np.int64) for values in (offset, low, high))
    known = (at >= 0) & (end >= 0)
    return Standings(
        waiting=np.where(known & (at <= end), np.maximum(end - np.maximum(at, first), 0), np.nan),
        lost=np.where(known & (first >= 0), np.maximum(np.minimum(first, end) - at, 0), np.nan),
        beyond=np.where(known, np.maximum(at - end, 0), np.nan),
    )


def _sum_known(values: Floats, owner: NDArray[np.int64], count: int) -> Floats:
    known = ~np.isnan(values)
    sums = np.bincount(owner[known], weights=values[known], minlength=count)
    return np.where(np.bincount(owner[known], minlength=count) > 0, sums, np.nan)
