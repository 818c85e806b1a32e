"""`ListFilter`: the line above a table with a search field and a choice of a few, and which rows pass both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.models.table import ColumnTableModel
from gui.text import UNKNOWN, count_text, tr
from gui.theme.manager import ThemeManager
from gui.widgets.inputs import SearchField, SegmentedControl

R = TypeVar("R")


class ListFilter(QWidget, Generic[R]):
    """Filters a `ColumnTableModel`. The first choice takes every row.

    Signals:
        changed: Other rows pass; the model knows it already.
    """

    changed = Signal()

    def __init__(
        self,
        theme: ThemeManager,
        model: ColumnTableModel[R],
        choices: Mapping[str, str],
        *,
        accepts: Callable[[R, str], bool],
        text_of: Callable[[R], str],
        parent: QWidget | None = None,
    ) -> None:
        """Create the line.

        Args:
            theme: Colours.
            model: What is filtered.
            choices: Key → English name with ``{count}``.
            accepts: Whether a row passes a choice, by its key; not asked for the first.
            text_of: What is searched of a row; all words must be in it, whatever their case.
            parent: Qt's owner.
        """
        super().__init__(parent)
        self._model = model
        self._choices = choices
        self._accepts = accepts
        self._text_of = text_of
        self._words: list[str] = []
        self.is_known = False
        """Whether the rows were read; until then nobody knows how many there are."""
        self.search = SearchField(theme, " ", "funnel")
        self.choice = SegmentedControl([(key, " ") for key in choices])
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(self.search, 1)
        line.addWidget(self.choice)
        self.search.searched.connect(self._searched)
        self.choice.chosen.connect(lambda _key: self.apply())

    @property
    def is_active(self) -> bool:
        """Whether some rows may be left out."""
        return bool(self._words) or self.choice.current != self._all

    @property
    def _all(self) -> str:
        return next(iter(self._choices))

    def search_for(self, text: str) -> None:
        """Search for a text, as if it had been typed."""
        self.search.setText(text)
        self._searched(text)

    def show_all(self) -> None:
        """Leave nothing out."""
        self.search.clear()
        self._words = []
        self.choice.choose(self._all)
        self.apply()

    def focus(self) -> None:
        """Put the focus into the search field."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def apply(self) -> None:
        """Filter anew, e.g. because what a choice takes has changed."""
        self._model.set_filter(self._passes if self.is_active else None)
        self.changed.emit()

    def write_counts(self) -> None:
        """Write how many rows each choice takes."""
        rows = self._model.rows
        for key, name in self._choices.items():
            count = len(rows) if key == self._all else sum(self._accepts(row, key) for row in rows)
            self.choice.set_text(key, tr(name, count=count_text(count) if self.is_known else UNKNOWN))

    def write_hint(self, text: str) -> None:
        """Say in the field what is searched."""
        self.search.setPlaceholderText(text)
        self.search.setAccessibleName(text)

    def _searched(self, text: str) -> None:
        self._words = text.casefold().split()
        self.apply()

    def _passes(self, row: R) -> bool:
        key = self.choice.current
        if key != self._all and not self._accepts(row, key):
            return False
        text = self._text_of(row).casefold()
        return all(word in text for word in self._words)
