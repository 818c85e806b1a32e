"""`ClusterPart`: an attached cluster on the Store page: brokers, their figures, and why the rest is unknown.

`FiguresPanel`: runtime figures of the brokers, one row a figure with the value of each broker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtWidgets import QWidget

from broker_core.api import OrbitError, UsageError
from broker_core.worker.questions.administration import BrokerAnswer
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.theme.tokens import Size, State
from gui.views.list_read import ListRead
from gui.views.page import PageContext
from gui.views.store.brokers_panel import BrokersPanel
from gui.widgets.basic import column, fill, label
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import MissingNote
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said
from gui.words.broker_words import broker_text, broker_words
from gui.words.error_words import error_line
from gui.words.runtime_terms import RUNTIME_TERMS
from gui.words.text import (
    UNKNOWN,
    TimeZoneChoice,
    bytes_exact_text,
    bytes_text,
    count_text,
    duration_text,
    milliseconds_text,
    percent_text,
    rate_text,
    tr,
)
from monitoring.admin.runtime_figures import FIGURES, SECTIONS, BrokerRuntime, FigureUnit, RuntimeFigure, Table, Value, apart_of
from monitoring.state import ClusterState

NO_TABLE: Table = {}


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A figure of all brokers.

    Attributes:
        figure: Which one.
        values: Of each broker, in the order of their names; None where it does not report one.
        apart: Places of the brokers whose value is far from the others.
    """

    figure: RuntimeFigure
    values: tuple[Value, ...]
    apart: frozenset[int]


def tables_of(runtime: BrokerRuntime, brokers: Sequence[str]) -> Mapping[str, Table]:
    """The table of each broker that reported one; with one broker there is one table."""
    return runtime.by_broker or dict.fromkeys(brokers[:1], runtime.table)


def figure_rows(tables: Mapping[str, Table], brokers: Sequence[str]) -> list[FigureRow]:
    """All figures that some broker reports; ``brokers`` has also those without a table."""
    reported = [tables.get(broker, NO_TABLE) for broker in brokers]
    return [_row(figure, reported) for figure in FIGURES if any(map(figure.is_told, reported))]


def _row(figure: RuntimeFigure, tables: Sequence[Table]) -> FigureRow:
    values = tuple(figure.of(table) for table in tables)
    return FigureRow(figure, values, apart_of(values, figure.apart))


HEIGHT_MIN = 220
_TEXTS: Mapping[FigureUnit, Callable[[float], str]] = {
    FigureUnit.BYTES: bytes_text,
    FigureUnit.COUNT: count_text,
    FigureUnit.RATE: rate_text,
    FigureUnit.SHARE: percent_text,
    FigureUnit.MILLISECONDS: lambda value: milliseconds_text(value) if value else tr("{count} ms", count=0),
    FigureUnit.SECONDS: lambda value: duration_text(value * 1_000),
}


def figure_text(figure: RuntimeFigure, value: Value, times: TimeZoneChoice) -> str:
    """A value with its unit; a dash for an unknown one."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return value
    return times.minutes(value) if figure.unit is FigureUnit.MOMENT else _TEXTS[figure.unit](value)


def _number(value: Value) -> float | None:
    """Sort key of a value; words and unknown values sort last."""
    return None if isinstance(value, str) else value


def _title(row: FigureRow) -> str:
    return row.figure.title


def _meaning(row: FigureRow) -> str:
    return tr(RUNTIME_TERMS[f"store/{row.figure.title}"].text)


class FiguresPanel(Panel):
    """Marks cells that are far from the other brokers amber, and says so in the row."""

    def __init__(self, context: PageContext, brokers: Sequence[str], again: Callable[[], None]) -> None:
        """Make a table for these brokers, in their order, also for those without an answer."""
        super().__init__(" ", flush=True)
        self.brokers = tuple(brokers)
        self._times = context.times
        self._again = again
        self._faults: Mapping[str, str] = {}
        self._tables: Mapping[str, Table] = {}
        self._read = ListRead(context.times)
        self.rows = ColumnTableModel(
            self._columns(), _title, section=lambda row: row.figure.section, sections=SECTIONS, parent=self
        )
        self.grid = said(DataGrid(self.rows, context.theme), empty="The brokers report no figures.")
        self.grid.set_hidden(set() if len(brokers) > 1 else {"note"})
        self.grid.set_loading(True)
        self.missing = MissingNote()
        self.setMinimumHeight(HEIGHT_MIN)
        fill(self.content, self.grid, self.missing)
        self._times.changed.connect(self.rows.all_texts_changed)
        on_language(self, self._show_title)

    def show_faults(self, faults: Mapping[str, str]) -> None:
        """Set the faults of brokers, by name."""
        self._faults = faults

    def show_runtime(self, runtime: BrokerRuntime, notice: str) -> None:
        """Show the figures; ``notice`` names brokers whose figures are missing."""
        self._tables = tables_of(runtime, self.brokers)
        self._read.answered()
        self._read.show_in(self.grid, "", self._again)
        self.rows.set_rows(figure_rows(self._tables, self.brokers))
        self.missing.say(broker_words(notice))
        self._show_title()

    def show_failure(self, error: OrbitError) -> None:
        """Show that the figures were not read."""
        self._read.refused(error)
        self._read.show_in(self.grid, lambda: tr("The figures were not read."), self._again)
        self.missing.say("")

    def _show_title(self) -> None:
        differing = sum(bool(row.apart) for row in self.rows.rows)
        words = tr("brokers differ in {count} figures", count=differing) if differing else tr("F1 on a row explains it")
        self.set_title(tr("Figures of the brokers"), words)

    def _columns(self) -> list[Column[FigureRow]]:
        return [
            Column("figure", "Figure", lambda row: tr(row.figure.title), kind=CellKind.STRONG, width=218, term_of=_title),
            *(self._column_of(place, broker) for place, broker in enumerate(self.brokers)),
            Column("note", "Note", lambda row: tr("Differs") if row.apart else "", kind=CellKind.CHIP,
                   state=lambda _row: State.WARNING, tip=self._note_tip, width=100),
            Column("meaning", "What it is", _meaning, dim=True, term_of=_title, gives_way=1),
        ]  # fmt: skip

    def _column_of(self, place: int, broker: str) -> Column[FigureRow]:
        return Column(
            f"broker/{broker}",
            broker,
            lambda row: figure_text(row.figure, row.values[place], self._times),
            sort=lambda row: _number(row.values[place]),
            state=lambda row: State.WARNING if place in row.apart else None,
            tip=partial(self._tip, place),
            right=True,
            width=142,
            term="store/Of each broker",
            term_of=_title,
        )

    def _tip(self, place: int, row: FigureRow) -> str:
        value, broker = row.values[place], self.brokers[place]
        if value is None:
            fault = "" if broker in self._tables else self._faults.get(broker, "")
            return broker_text(fault) if fault else tr("{broker} does not report it now.", broker=broker)
        if row.figure.unit is FigureUnit.BYTES and not isinstance(value, str):
            return bytes_exact_text(value)
        if row.figure.unit is FigureUnit.MOMENT and not isinstance(value, str):
            return self._times.full(value)
        return figure_text(row.figure, value, self._times)

    def _note_tip(self, row: FigureRow) -> str:
        names = ", ".join(self.brokers[place] for place in sorted(row.apart))
        return tr("Far from the other brokers: {names}", names=names) if row.apart else ""


class ClusterPart(QWidget):
    """Stands in place of the files, which only an embedded broker reports."""

    def __init__(self, context: PageContext, again: Callable[[], None]) -> None:
        super().__init__()
        self._context = context
        self._again = again
        self._answer: tuple[BrokerRuntime, str] | OrbitError | None = None
        self.brokers = BrokersPanel(context.theme)
        self.figures: FiguresPanel | None = None
        """Created again for other brokers, because they are its columns."""
        self.inside = label(role="caption", wrap=True)
        self.inside.hide()
        self._fault: OrbitError | None = None
        self._lines = column(self.brokers, self.inside, spacing=Size.GAP)
        self.setLayout(self._lines)
        on_language(self, self._show_inside)

    def show_state(self, state: ClusterState) -> None:
        self.brokers.show_state(state)
        names = tuple(state.catalog.brokers)
        if self.figures is None or self.figures.brokers != names:
            self._make_figures(names)
        if self.figures is not None:
            self.figures.show_faults(state.faults)

    def show_runtime(self, runtime: BrokerRuntime, answer: BrokerAnswer) -> None:
        self._answer = (runtime, answer.notice)
        self._show_answer()

    def show_failure(self, error: OrbitError) -> None:
        self._answer = error
        self._show_answer()

    def show_inside(self, fault: OrbitError | None) -> None:
        """Say in one line why files, flushes and cleanings are missing; None: unknown yet."""
        self._fault = fault
        self._show_inside()

    def _make_figures(self, names: tuple[str, ...]) -> None:
        if self.figures is not None:
            self.figures.hide()
            self.figures.deleteLater()
        self.figures = FiguresPanel(self._context, names, self._again)
        self._lines.insertWidget(1, self.figures, 6)
        self._show_answer()

    def _show_answer(self) -> None:
        if self.figures is None or self._answer is None:
            return
        if isinstance(self._answer, OrbitError):
            self.figures.show_failure(self._answer)
        else:
            self.figures.show_runtime(*self._answer)

    def _show_inside(self) -> None:
        fault = self._fault
        self.inside.setVisible(fault is not None)
        if isinstance(fault, UsageError):
            # Figures that only an embedded broker reports are no failure.
            self.inside.setText(tr("Files, queues, index, flushes and cleanings: {reason}", reason=error_line(fault)))
        elif fault is not None:
            words = tr("Files, queues, index, flushes and cleanings were not read: {reason}", reason=error_line(fault))
            self.inside.setText(words)
