"""The console's own pulls from a broker, subtracted from the broker's count.

A broker counts every pulled message, those of the console's pages, tails and searches, too.

Source: docs/spec/remoting.md §2.5.3, ``msgGetTotalTodayNow``.
"""

from __future__ import annotations


class ReadsOfOthers:
    """One broker's count since its start, without the pulls of this process."""

    def __init__(self) -> None:
        self.others = -1
        """Messages that others got; -1: not reported."""
        self._told = 0
        self._own = self._own_at_start = 0

    def take(self, told: int | None, own: int) -> None:
        """Take a report of the broker: messages that all clients got from it, or None, and this process's pulls so far."""
        if told is None:
            self.others = -1
            return
        if told < self._told:
            # It was restarted and counts from 0: pulls since the previous report belong to the new count.
            self.others, self._own_at_start = -1, self._own
        # The broker has counted messages in transit already and this process has not: the count stays until they arrive.
        self.others = max(self.others, told - (own - self._own_at_start), 0)
        self._told, self._own = told, own
