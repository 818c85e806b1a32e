"""`AgeNote`: how old the oldest figures of a table are, where its parts were read at different times."""

from __future__ import annotations

from gui.widgets.basic import ElidedLabel
from gui.words.text import duration_text, tr

TOLD_MS = 3_000
"""A round of figures takes a second and the time of its requests: what is younger is of one look."""


def age_text(age_ms: int) -> str:
    """The age of the oldest part in words; empty where all is of one look."""
    if age_ms <= TOLD_MS:
        return ""
    return tr("The oldest of these figures were read {time} ago.", time=duration_text(age_ms // 1_000 * 1_000))


class AgeNote(ElidedLabel):
    """A line below a table; hidden while all of it is of one look."""

    def __init__(self) -> None:
        super().__init__(role="caption")
        self.setContentsMargins(12, 2, 12, 4)
        self.hide()

    def show_age(self, age_ms: int) -> None:
        """Show the age of the oldest part of the table."""
        words = age_text(age_ms)
        self.setText(words)
        self.setVisible(bool(words))
