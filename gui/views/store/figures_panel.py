"""`FiguresPanel`: what the brokers of a cluster tell of themselves, a row a figure and a column a broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from broker_core.api import OrbitError
from gui.models.runtime_figures import FigureRow, figure_rows, tables_of
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.theme.tokens import State
from gui.views.list_read import ListRead
from gui.views.page import PageContext
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import MissingNote
from gui.widgets.panel import Panel
from gui.words.broker_words import broker_text
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
from monitoring.admin.runtime import BrokerRuntime
from monitoring.admin.runtime_figures import SECTIONS, FigureUnit, RuntimeFigure, Table, Value

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
    """A value with its unit; a dash for what is not told."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return value
    return times.minutes(value) if figure.unit is FigureUnit.MOMENT else _TEXTS[figure.unit](value)


def _number(value: Value) -> float | None:
    """What it sorts by; words go last, as what is not known."""
    return None if isinstance(value, str) else value


def _title(row: FigureRow) -> str:
    return row.figure.title


def _meaning(row: FigureRow) -> str:
    return tr(RUNTIME_TERMS[f"store/{row.figure.title}"].text)


class FiguresPanel(Panel):
    """Cells of a broker that is far from the others are amber, and the row says that they differ."""

    def __init__(self, context: PageContext, brokers: Sequence[str], again: Callable[[], None]) -> None:
        """Make a table for these brokers.

        Args:
            context: Of the page.
            brokers: Their names, in order; also of those that tell nothing now.
            again: Asks them once more.
        """
        super().__init__(" ", flush=True)
        self.brokers = tuple(brokers)
        self._times = context.times
        self._again = again
        self._faults: Mapping[str, str] = {}
        self._tables: Mapping[str, Table] = {}
        self._read = ListRead(context.times)
        self.rows: ColumnTableModel[FigureRow] = ColumnTableModel(
            self._columns(), _title, section=lambda row: row.figure.section, sections=SECTIONS, parent=self
        )
        self.grid = DataGrid(self.rows, context.theme)
        self.grid.set_hidden(set() if len(brokers) > 1 else {"note"})
        self.grid.set_loading(True)
        self.missing = MissingNote()
        self.setMinimumHeight(HEIGHT_MIN)
        self.content.addWidget(self.grid)
        self.content.addWidget(self.missing)
        self._times.changed.connect(self.rows.all_texts_changed)
        self.retranslate()

    def show_faults(self, faults: Mapping[str, str]) -> None:
        """Know why brokers tell nothing, by name."""
        self._faults = faults

    def show_runtime(self, runtime: BrokerRuntime, notice: str) -> None:
        """Show what was told; ``notice`` says whose figures are missing."""
        self._tables = tables_of(runtime, self.brokers)
        self._read.answered()
        self._read.show_in(self.grid, "", self._again)
        self.rows.set_rows(figure_rows(self._tables, self.brokers))
        self.missing.say(broker_text(notice))
        self._show_title()

    def show_failure(self, error: OrbitError) -> None:
        """Say that the figures were not read."""
        self._read.refused(error)
        self._read.show_in(self.grid, lambda: tr("The figures were not read."), self._again)
        self.missing.say("")

    def retranslate(self) -> None:
        """Write all texts anew."""
        self._show_title()
        self.grid.set_empty(tr("The brokers tell no figures."))
        self.rows.all_texts_changed()

    def _show_title(self) -> None:
        differing = sum(bool(row.apart) for row in self.rows.rows)
        words = tr("brokers differ in {count} figures", count=differing) if differing else tr("F1 on a row explains it")
        self.set_title(tr("Figures of the brokers"), words)

    # ---- columns -------------------------------------------------------------------------------------------------------

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
            return broker_text(fault) if fault else tr("{broker} does not tell it now.", broker=broker)
        if row.figure.unit is FigureUnit.BYTES and not isinstance(value, str):
            return bytes_exact_text(value)
        if row.figure.unit is FigureUnit.MOMENT and not isinstance(value, str):
            return self._times.full(value)
        return figure_text(row.figure, value, self._times)

    def _note_tip(self, row: FigureRow) -> str:
        names = ", ".join(self.brokers[place] for place in sorted(row.apart))
        return tr("Far from the other brokers: {names}", names=names) if row.apart else ""
