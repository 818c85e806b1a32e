"""`SectionList`: the parts of a result, one below the other, to jump to: findings, each chart, each table, manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListWidget, QListWidgetItem, QWidget

from gui.models.reports import PastRun, ResultChart
from gui.views.reports.words import report_text
from gui.words.plain_text import tip_text
from gui.words.text import tr

WIDTH = 168
ROW_HEIGHT = 28
"""Of a part whose title takes one line."""
TEXT_WIDTH = WIDTH - 32
"""What the style leaves of a row for its title."""


class SectionKind(Enum):
    """What a part of a result is."""

    FINDINGS = "findings"
    CHART = "chart"
    TABLE = "table"
    MANIFEST = "manifest"


@dataclass(frozen=True, slots=True)
class ResultSection:
    """A part of a result; ``number`` counts those of its kind, ``title`` is that of the report, in English."""

    kind: SectionKind
    title: str
    number: int = 0

    @property
    def text(self) -> str:
        """The title in the language of the window."""
        return report_text(self.title) if self.kind in (SectionKind.CHART, SectionKind.TABLE) else tr(self.title)


def sections_of(run: PastRun, charts: Sequence[ResultChart]) -> list[ResultSection]:
    """The parts of a result, in the order in which they are read."""
    return [
        ResultSection(SectionKind.FINDINGS, "Findings"),
        *(ResultSection(SectionKind.CHART, chart.title, number) for number, chart in enumerate(charts)),
        *(ResultSection(SectionKind.TABLE, title, number) for number, (title, _file) in enumerate(run.tables)),
        ResultSection(SectionKind.MANIFEST, "Manifest"),
    ]


class SectionList(QListWidget):
    """Arrow keys jump from part to part; Enter lets the keys go to the part.

    Signals:
        chosen: A part is to be shown; carries its `ResultSection`.
        entered_part: Enter on a part, or a double click: the keys are wanted there.
    """

    chosen = Signal(object)
    entered_part = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "sections")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFixedWidth(WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrap(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._sections: list[ResultSection] = []
        self.currentRowChanged.connect(self._row_changed)
        self.activated.connect(lambda _index: self.entered_part.emit())
        self.retranslate()

    @property
    def sections(self) -> list[ResultSection]:
        """What is listed."""
        return list(self._sections)

    @property
    def current(self) -> ResultSection | None:
        """The part that is shown."""
        row = self.currentRow()
        return self._sections[row] if 0 <= row < len(self._sections) else None

    def set_sections(self, sections: Sequence[ResultSection]) -> None:
        """List other parts; the marked one stays if it is among them, and nothing is chosen."""
        before = self.current
        if list(sections) == self._sections:
            return
        with QSignalBlocker(self):
            self.clear()
            self._sections = list(sections)
            for _section in sections:
                self.addItem(QListWidgetItem())
            self.setCurrentRow(self._sections.index(before) if before in self._sections else -1)
        self.retranslate()

    def mark(self, section: ResultSection) -> None:
        """Mark the part that stands on the screen, without asking for it."""
        with QSignalBlocker(self):
            self.setCurrentRow(self._sections.index(section))

    def choose(self, section: ResultSection) -> None:
        """Go to a part, also to the one that is marked."""
        self.mark(section)
        self.chosen.emit(section)

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.setAccessibleName(tr("Parts of the result"))
        room, metrics = QRect(0, 0, TEXT_WIDTH, 0), self.fontMetrics()
        for row, section in enumerate(self._sections):
            item, text = self.item(row), section.text
            item.setText(text)
            item.setToolTip(tip_text(text))
            height = metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, text).height()
            item.setSizeHint(QSize(0, ROW_HEIGHT + height - metrics.height()))

    def _row_changed(self, row: int) -> None:
        if 0 <= row < len(self._sections):
            self.chosen.emit(self._sections[row])
