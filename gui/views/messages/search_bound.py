"""`SearchBound`: a search of the newest or oldest so many messages only."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox

from broker_core.worker.questions.searches import FoundBound
from gui.widgets.said import on_language, said
from gui.words.text import TimeZoneChoice, count_text, tr

COUNTS = (1_000, 10_000, 100_000)


class SearchBound(QComboBox):
    """All messages, the newest so many, or the oldest; see `broker_core.worker.questions.searches.FindBound`."""

    def __init__(self) -> None:
        super().__init__()
        said(self, name="Messages searched", tip="Which messages are searched, by the time of storing")
        for count, oldest in ((0, False), *((count, oldest) for oldest in (False, True) for count in COUNTS)):
            self.addItem("", (count, oldest))
        on_language(self, self._write)

    @property
    def messages(self) -> int:
        """How many messages; 0: all."""
        return int(self.currentData()[0])

    @property
    def oldest(self) -> bool:
        return bool(self.currentData()[1])

    def choose(self, count: int, *, oldest: bool = False) -> None:
        """Choose as the user would."""
        self.setCurrentIndex(next(place for place in range(self.count()) if self.itemData(place) == (count, oldest)))
        self.activated.emit(self.currentIndex())

    def _write(self) -> None:
        for place in range(self.count()):
            count, oldest = self.itemData(place)
            words = tr("Oldest {count}", count=count_text(count)) if oldest else tr("Newest {count}", count=count_text(count))
            self.setItemText(place, words if count else tr("All messages"))


def bound_words(found: FoundBound, times: TimeZoneChoice, *, oldest: bool) -> str:
    """Which messages are searched."""
    count, at = count_text(found.messages), times.full(found.at_ms)
    if oldest:
        return tr("the oldest {count} messages, stored before {time}", count=count, time=at)
    return tr("the newest {count} messages, stored from {time} on", count=count, time=at)
