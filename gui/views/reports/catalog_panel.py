"""`CatalogPanel`: all reports, as cards in groups."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from gui.models.row_filter import with_words
from gui.theme.manager import ThemeManager
from gui.theme.style import repolish
from gui.widgets.basic import IconLabel, column, label, row
from gui.widgets.said import said, said_label
from spark_reports.catalog import ReportSpec

CARDS_IN_LINE = 3


class CatalogPanel(QWidget):
    """Cards of reports.

    Signals:
        chosen: A card was chosen; carries its `ReportSpec`.
    """

    chosen = Signal(object)

    def __init__(self, theme: ThemeManager, specs: tuple[ReportSpec, ...]) -> None:
        super().__init__()
        self._theme = theme
        self._headings: list[tuple[str, QLabel]] = []
        self._groups: dict[str, list[ReportSpec]] = {}
        for spec in specs:
            self._groups.setdefault(spec.group, []).append(spec)
        self.cards: list[ReportCard] = []
        self._lines = column(1)
        self.setLayout(self._lines)
        self._add_groups(len(specs) // 2)

    def fill(self) -> None:
        """Make the remaining cards, because making all in one turn would be noticeable."""
        self._add_groups(sum(map(len, self._groups.values())))

    def _add_groups(self, cards_wanted: int) -> None:
        """Make groups of cards until there are so many cards."""
        for group, specs in list(self._groups.items())[len(self._headings) :]:
            if len(self.cards) >= cards_wanted:
                return
            self._add_group(group, specs)

    def _add_group(self, group: str, specs: list[ReportSpec]) -> None:
        heading = said_label(group)
        self._headings.append((group, heading))
        grid = QGridLayout()
        grid.setSpacing(8)
        for place, spec in enumerate(specs):
            card = ReportCard(self._theme, spec)
            card.clicked.connect(self.chosen)
            self.cards.append(card)
            grid.addWidget(card, place // CARDS_IN_LINE, place % CARDS_IN_LINE)
        for place in range(CARDS_IN_LINE):
            grid.setColumnStretch(place, 1)
        self._lines.insertWidget(self._lines.count() - 1, heading)
        self._lines.insertLayout(self._lines.count() - 1, grid)

    def show_chosen(self, name: str) -> ReportCard | None:
        for card in self.cards:
            card.set_chosen(chosen=card.spec.name == name)
        return next((card for card in self.cards if card.spec.name == name), None)

    def show_filter(self, text: str) -> None:
        """Show only cards whose texts contain all words of ``text``."""
        accepts = with_words(text, ReportCard.searched_text)
        for card in self.cards:
            card.setVisible(accepts is None or accepts(card))
        for group, heading in self._headings:
            heading.setVisible(any(not card.isHidden() for card in self.cards if card.spec.group == group))

    def show_last(self, name: str, text: str) -> None:
        for card in self.cards:
            if card.spec.name == name:
                card.last.setText(text)


class ReportCard(QFrame):
    """One report: glyph, title, summary.

    Signals:
        clicked: Chosen by mouse or Enter; carries its `ReportSpec`.
    """

    clicked = Signal(object)

    def __init__(self, theme: ThemeManager, spec: ReportSpec) -> None:
        super().__init__()
        self.spec = spec
        self.setProperty("role", "card")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMinimumHeight(64)
        self._title = said_label(spec.title, "strong", wrap=True)
        self._summary = said_label(spec.summary, "caption", wrap=True)
        said(self, name=spec.title)
        self.last = label(role="caption")
        self.setLayout(
            row(
                (IconLabel(theme, spec.icon, "accent", 18), 0, Qt.AlignmentFlag.AlignTop),
                (column(row((self._title, 1), self.last, spacing=-1), self._summary, 1, spacing=2), 1),
                spacing=12,
                margins=(12, 10, 12, 10),
            )
        )

    def searched_text(self) -> str:
        return f"{self._title.text()} {self._summary.text()} {self.spec.name} {self.spec.title}"

    def set_chosen(self, *, chosen: bool) -> None:
        if bool(self.property("chosen")) != chosen:
            self.setProperty("chosen", chosen)
            repolish(self)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit(self.spec)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit(self.spec)
        else:
            super().keyPressEvent(event)
