"""`SectionList`: the parts of a result, to jump to: findings, each chart, each table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListWidget, QListWidgetItem

from gui.models.reports import PastRun, ResultChart
from gui.views.reports.words import report_text
from gui.widgets.said import on_language, said
from gui.words.plain_text import tip_text
from gui.words.text import tr

WIDTH = 168
ROW_HEIGHT = 28
"""Height of a part with a title of one line."""
TEXT_WIDTH = WIDTH - 32
"""Room of the title within a row."""


class SectionKind(Enum):
    FINDINGS = "findings"
    CHART = "chart"
    TABLE = "table"
    MANIFEST = "manifest"


@dataclass(frozen=True, slots=True)
class ResultSection:
    """A part of a result; ``number`` counts those of its kind, ``title`` is English."""

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
    """Arrow keys jump from part to part; Enter moves the focus into the part.

    Signals:
        chosen: Show a part; carries its `ResultSection`.
        entered_part: Enter or a double click: focus the part.
    """

    chosen = Signal(object)
    entered_part = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "sections")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFixedWidth(WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrap(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._sections: list[ResultSection] = []
        self.currentRowChanged.connect(self._row_changed)
        self.activated.connect(lambda _index: self.entered_part.emit())
        said(self, name="Parts of the result")
        on_language(self, self._write_texts)

    @property
    def sections(self) -> list[ResultSection]:
        return list(self._sections)

    @property
    def current(self) -> ResultSection | None:
        """The shown part."""
        row = self.currentRow()
        return self._sections[row] if 0 <= row < len(self._sections) else None

    def set_sections(self, sections: Sequence[ResultSection]) -> None:
        """List other parts; the marked one stays if it is among them, without a signal."""
        before = self.current
        if list(sections) == self._sections:
            return
        with QSignalBlocker(self):
            self.clear()
            self._sections = list(sections)
            for _section in sections:
                self.addItem(QListWidgetItem())
            self.setCurrentRow(self._sections.index(before) if before in self._sections else -1)
        self._write_texts()

    def mark(self, section: ResultSection) -> None:
        """Mark the part on the screen, without a signal."""
        with QSignalBlocker(self):
            self.setCurrentRow(self._sections.index(section))

    def choose(self, section: ResultSection) -> None:
        """Choose a part, also the marked one."""
        self.mark(section)
        self.chosen.emit(section)

    def _write_texts(self) -> None:
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
