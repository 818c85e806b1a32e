"""`SectionList`: the parts of a result, to jump to: findings, each chart, each table; `ManifestPart`: its manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListWidget, QListWidgetItem, QScrollArea, QWidget

from gui.models.reports import PastRun, ResultChart
from gui.views.reports.columns import RUN_STATES, range_text
from gui.views.reports.words import report_text, report_texts
from gui.widgets.basic import column, label
from gui.widgets.key_values import KeyValueList
from gui.widgets.said import on_language, said
from gui.words.plain_text import tip_text
from gui.words.text import TimeZoneChoice, bytes_text, count_text, duration_text, tr

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


class ManifestPart(QScrollArea):
    """Facts with their values, and the remarks of the report below them."""

    def __init__(self, times: TimeZoneChoice) -> None:
        super().__init__()
        self._times = times
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.facts = KeyValueList()
        self.notes = label(role="caption", wrap=True, selectable=True)
        body = QWidget()
        body.setLayout(column(self.facts, self.notes, 1, spacing=10, margins=(14, 10, 14, 10)))
        self.setWidget(body)

    def show_run(self, run: PastRun | None) -> None:
        self.setAccessibleName(tr("Manifest"))
        self.facts.set_pairs(manifest_pairs(run, self._times) if run is not None else [])
        self.notes.setText("\n".join(report_texts(run.notes)) if run is not None else "")


def manifest_pairs(run: PastRun, times: TimeZoneChoice) -> list[tuple[str, str]]:
    """The facts of a manifest, in the order of its file."""
    word, _state = RUN_STATES[run.state]
    pairs = [
        (tr("Report"), run.report),
        (tr("State"), tr(word)),
        (tr("Run at"), times.full(run.created_ms).partition(".")[0]),
        (tr("Took"), duration_text(run.seconds * 1_000)),
        (tr("Range asked"), _asked_text(run, times)),
        (tr("Range found"), range_text(run.found_from_ms, run.found_to_ms, times)),
        (tr("Samples read") if run.is_sampled else tr("Messages read"), count_text(run.rows_read)),
        (tr("Skipped"), count_text(run.rows_skipped)),
        *((report_text(reason), count_text(rows)) for reason, rows in run.skipped if rows),
    ]
    if run.byte_count >= 0:
        pairs.append((tr("Bytes read"), bytes_text(run.byte_count)))
    return [*pairs, *_places(run)]


def _asked_text(run: PastRun, times: TimeZoneChoice) -> str:
    """The requested range, which may have no begin or no end."""
    if run.asked_from_ms < 0 and run.asked_to_ms < 0:
        return tr("everything")
    if run.asked_to_ms < 0:
        return tr("from {time} on", time=times.minutes(run.asked_from_ms))
    if run.asked_from_ms < 0:
        return tr("until {time}", time=times.minutes(run.asked_to_ms))
    return range_text(run.asked_from_ms, run.asked_to_ms, times)


def _places(run: PastRun) -> Sequence[tuple[str, str]]:
    sources = [(tr("Source"), store) for store in run.stores]
    topics = [(tr("Topics"), ", ".join(run.topics))] if run.topics else []
    files = [*(file for _title, file in run.tables), *([run.charts] if run.charts else [])]
    return [*sources, *topics, (tr("Folder"), str(run.folder)), (tr("Files"), ", ".join([run.page, *files]))]
