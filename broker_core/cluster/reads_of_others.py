"""What the console itself pulls of a broker, told apart from what others get of it.

A broker counts every message that a pull takes out, those of the console's pages, tails and searches, too.

Source: docs/spec/remoting.md §2.5.3, ``msgGetTotalTodayNow``.
"""

from __future__ import annotations


class ReadsOfOthers:
    """The count of one broker since it started, without what was pulled by this process."""

    def __init__(self) -> None:
        self.others = -1
        """Messages that others got; -1: not told."""
        self._told = 0
        self._own = self._own_at_start = 0

    def take(self, told: int | None, own: int) -> None:
        """Take what the broker tells.

        Args:
            told: Messages that were got of it, by anybody; None: not told.
            own: Messages that this process has pulled of it so far.
        """
        if told is None:
            self.others = -1
            return
        if told < self._told:
            # It was started again, and counts anew: what was pulled since the look before is of the new count.
            self.others, self._own_at_start = -1, self._own
        # What is on its way was counted by the broker already and not here: the count stands still until it has come.
        self.others = max(self.others, told - (own - self._own_at_start), 0)
        self._told, self._own = told, own
