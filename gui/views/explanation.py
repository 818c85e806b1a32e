"""Explains a figure on F1 or from a menu: its meaning, unit, origin and age."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor, QGuiApplication
from PySide6.QtWidgets import QDialog, QFrame, QLabel, QWidget

from gui.models.table import Column
from gui.plots.time_chart import TimeChart
from gui.theme.manager import ThemeManager
from gui.widgets.basic import column, fill, label
from gui.widgets.data_grid import DataGrid
from gui.widgets.key_values import KeyValueList
from gui.widgets.panel import TERM
from gui.words.report_terms import result_term
from gui.words.term_origins import Origin, Term
from gui.words.term_texts import TERMS
from gui.words.text import TimeZoneChoice, age_text, tr

CHART, RESULT = "chart", "result"
"""Prefixes of column keys, before a slash: figures of a chart's line, or a column of a report's result."""
WIDTH, MARGIN = 420, 14
"""Of the card, px."""
_LIVE = (Origin.LIVE, Origin.HISTORY, Origin.CONFIG)
"""Origins that are as old as the figures of the page."""


@dataclass(frozen=True, slots=True)
class Explained:
    """Titles (English) with their terms, for a chart one for each kind of line, and when the figure was read."""

    terms: tuple[tuple[str, Term], ...]
    read_ms: int = -1
    """ms since the epoch; -1: with the live figures, or not known."""


@dataclass(frozen=True, slots=True)
class ExplainedPage:
    """The page below an explanation, and what the explanation needs of it."""

    widget: QWidget
    page_id: str
    theme: ThemeManager
    times: TimeZoneChoice
    taken_ms: int
    """When the live figures were taken, ms since the epoch; -1: none."""


def term_of(page_id: str, title: str) -> Term | None:
    return TERMS.get(f"{page_id}/{title}") or TERMS.get(f"{page_id}/*") or TERMS.get(title)


def term_of_column(page_id: str, column: Column[Any]) -> Term | None:
    """The term of a table's column, also in a dialog of the page."""
    kind, _slash, name = column.term.partition("/")
    known = None
    if kind == RESULT:
        known = result_term(name)
    elif kind == CHART:
        known = TERMS.get(f"{page_id}/{CHART}") or TERMS.get(column.term)
    return known or TERMS.get(column.term) or (term_of(page_id, column.title) if column.title else None)


def explained_column(page_id: str, grid: DataGrid[object], place: int, row: int = -1) -> Explained | None:
    """A column of a table, or a cell where rows are different things (row -1: the head); None for a column without title."""
    columns = grid.model.columns
    column = columns[place] if 0 <= place < len(columns) else None
    if column is None:
        return None
    value = grid.model.row_at(row)
    if value is not None and column.term_of is not None:
        title = column.term_of(value)
        term = term_of(page_id, title)
    else:
        title, term = column.title, term_of_column(page_id, column)
    return None if term is None else Explained(((title, term),), grid.read_ms)


def explained_chart(page_id: str, chart: TimeChart) -> Explained | None:
    """The lines of a page's chart; None while it has no known ones."""
    of_page = TERMS.get(f"{page_id}/{CHART}") or TERMS.get(f"{page_id}/*")
    known: dict[Term, str] = {}
    for line in chart.series:
        term = of_page or TERMS.get(f"{CHART}/{line.title}")
        if term is not None:
            known.setdefault(term, line.title)
    return Explained(tuple((title, term) for term, title in known.items())) if known else None


def explained_at(page_id: str, widget: QWidget | None, at: QPoint | None = None) -> Explained | None:
    """What a widget within a page shows, or what it belongs to; ``at`` None: explain the current cell of the keyboard."""
    while widget is not None:
        if isinstance(widget, DataGrid):
            return explained_column(page_id, widget, _column_at(widget, at), _row_at(widget, at))
        title = widget.property(TERM)
        if title:
            term = term_of(page_id, title)
            return None if term is None else Explained(((title, term),))
        if isinstance(widget, TimeChart):
            return explained_chart(page_id, widget)
        widget = widget.parentWidget()
    return None


def _column_at(grid: DataGrid[object], at: QPoint | None) -> int:
    if at is not None:
        return grid.header.logicalIndexAt(grid.header.viewport().mapFromGlobal(at).x())
    current = grid.view.currentIndex().column()
    shown = [place for place in range(len(grid.model.columns)) if not grid.view.isColumnHidden(place)]
    return current if current in shown else next(iter(shown), -1)


def _row_at(grid: DataGrid[object], at: QPoint | None) -> int:
    """Index of the row; -1 for the head, whose menu opens at the edge of the first row."""
    if at is None:
        return grid.view.currentIndex().row()
    y = grid.view.viewport().mapFromGlobal(at).y()
    return grid.view.rowAt(y) if y > 0 else -1


class ExplanationCard(QFrame):
    """A small window over the page, closed by the next click or Esc."""

    def __init__(self, explained: Explained, page: ExplainedPage, parent: QWidget | None = None) -> None:
        """Create it; ``parent`` is a dialog of the page, because a modal dialog keeps keys and mouse from other windows."""
        super().__init__(parent or page.widget, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("role", "panel")
        lines = self._lines = column(margins=(MARGIN, 12, MARGIN, 12))
        self.setLayout(lines)
        words: list[str] = []
        for title, term in explained.terms:
            fill(lines, label(tr(title), "panel-title"), label(tr(term.text), wrap=True))
            if term.unit:
                facts = KeyValueList()
                facts.set_pairs([(tr("Unit"), tr(term.unit))])
                lines.addWidget(facts)
            words += [tr(title), tr(term.text), tr(term.unit)]
        origin = explained.terms[-1][1].origin
        self.age = age_words(explained, page)
        for heading, text in ((tr("Origin"), tr(origin.value)), (tr("How old"), self.age)):
            fill(lines, label(heading, "caption"), label(text, "secondary", wrap=True))
            words += [heading, text]
        self.words = "\n".join(filter(None, words))
        self.setAccessibleName(tr("What is this?"))
        self.setAccessibleDescription(self.words)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        page.theme.dress(self)
        self.setFixedWidth(WIDTH)

    def show_at(self, at: QPoint) -> None:
        """Show near a global place, within the screen."""
        # Only now are the fonts of the style sheet known.
        for said in self.findChildren(QLabel):
            said.ensurePolished()
            if said.wordWrap():
                said.setFixedHeight(said.heightForWidth(WIDTH - 2 * (MARGIN + 1)))
        self._lines.activate()
        self.resize(WIDTH, self._lines.heightForWidth(WIDTH))
        screen = QGuiApplication.screenAt(at) or QGuiApplication.primaryScreen()
        room = screen.availableGeometry()
        left = max(room.left(), min(at.x(), room.right() - self.width()))
        top = at.y() + 12 if at.y() + 12 + self.height() <= room.bottom() else at.y() - 12 - self.height()
        self.move(left, max(room.top(), top))
        self.show()
        self.setFocus()


def age_words(explained: Explained, page: ExplainedPage) -> str:
    """How old the figures are, and when they were read."""
    now_ms = time.time_ns() // 1_000_000
    at_ms = explained.read_ms
    if at_ms < 0 and explained.terms[-1][1].origin in _LIVE:
        at_ms = page.taken_ms
    if at_ms < 0:
        return tr("Not noted here: the origin says how often it is read. Refresh (F5) reads it again.")
    return tr("{age}, read at {time}", age=age_text(at_ms, now_ms), time=page.times.seconds(at_ms))


def explain(page: ExplainedPage, widget: QWidget | None, at: QPoint | None = None) -> ExplanationCard | None:
    """Show the explanation of a widget; None where nothing is known. Arguments as for `explained_at`."""
    explained = explained_at(page.page_id, widget, at)
    if explained is None:
        return None
    around = widget.window() if widget is not None else None
    card = ExplanationCard(explained, page, around if isinstance(around, QDialog) else None)
    card.show_at(at if at is not None else _beside(widget))
    return card


def _beside(widget: QWidget | None) -> QPoint:
    if widget is None:
        return QCursor.pos()
    return widget.mapToGlobal(QPoint(min(40, widget.width() // 2), min(40, widget.height())))
