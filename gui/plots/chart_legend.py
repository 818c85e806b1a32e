from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from gui.plots.chart_series import ChartSeries
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Tokens
from gui.widgets.basic import ElidedLabel, label, row
from gui.widgets.repaint import Drawn
from gui.widgets.said import on_language
from gui.words.text import UNKNOWN, tr


class LegendChart(Protocol):
    destroyed: Any

    @property
    def series(self) -> tuple[ChartSeries, ...]: ...

    def shown_value(self, key: str) -> str: ...

    def toggle_series(self, key: str) -> None: ...

    def colour(self, key: str, tokens: Tokens) -> str: ...


class ChartLegend(QWidget):
    """Names and values of a chart's lines in the title line of a panel; a click hides a line, a double click all others."""

    def __init__(self, theme: ThemeManager, chart: LegendChart) -> None:
        super().__init__()
        self._chart = chart
        # It has another parent than the chart, or none, and is useless without it.
        chart.destroyed.connect(self.deleteLater)
        self._lines = QGridLayout(self)
        self._lines.setContentsMargins(0, 0, 0, 0)
        self._lines.setSpacing(14)
        self._entries = [_LegendEntry(theme, chart, one, self.isolate) for one in chart.series]
        for place, entry in enumerate(self._entries):
            self._lines.addWidget(entry, 0, place)
        on_language(self, self.update_values)

    def spread(self, columns: int) -> None:
        """Show the entries in lines of ``columns``; a longer name is cut, and a tip has it whole."""
        self._lines.setVerticalSpacing(2)
        for place, entry in enumerate(self._entries):
            entry.may_be_cut = True
            self._lines.addWidget(entry, place // columns, place % columns)
        for column in range(columns):
            self._lines.setColumnStretch(column, 1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.update_values()

    def isolate(self, key: str) -> None:
        """Show one line alone, or all again if it is alone already. The click before has already hidden or shown it."""
        before = {entry.key for entry in self._entries if entry.is_dimmed} ^ {key}
        alone = {entry.key for entry in self._entries} - {key}
        wanted = set() if before == alone else alone
        for entry in self._entries:
            if entry.is_dimmed != (entry.key in wanted):
                entry.toggle()

    def show_only(self, keys: Collection[str]) -> None:
        """Leave out the lines that the source never reports."""
        for entry in self._entries:
            entry.setVisible(entry.key in keys)

    def update_values(self) -> None:
        for entry in self._entries:
            entry.update_value()


class _LegendEntry(Drawn):
    def __init__(self, theme: ThemeManager, chart: LegendChart, series: ChartSeries, isolate: Callable[[str], None]) -> None:
        super().__init__(theme)
        self._isolate = isolate
        self._chart = chart
        self._one = series
        self.is_dimmed = False
        self.may_be_cut = False
        self._name = ElidedLabel(tr(series.title), "secondary")
        self._value = label(UNKNOWN, "strong")
        self.setLayout(row(self._name, self._value, 1, spacing=6, margins=(16, 0, 0, 0)))

    def update_value(self) -> None:
        self._name.setText(tr(self._one.title))
        self._name.setMinimumWidth(0 if self.may_be_cut else self._name.sizeHint().width())
        self._value.setText(self._chart.shown_value(self._one.key))

    @property
    def key(self) -> str:
        return self._one.key

    def toggle(self) -> None:
        self.is_dimmed = not self.is_dimmed
        self._value.setEnabled(not self.is_dimmed)
        self._name.setEnabled(not self.is_dimmed)
        self._chart.toggle_series(self.key)
        self.update()

    def mousePressEvent(self, _event: QMouseEvent) -> None:
        self.toggle()

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        self._isolate(self.key)

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        painter = QPainter(self)
        colour = tokens.text_3 if self.is_dimmed else self._chart.colour(self._one.key, tokens)
        painter.setPen(QPen(QColor(colour), 3, c=Qt.PenCapStyle.RoundCap))
        middle = self.height() / 2
        painter.drawLine(QPointF(2, middle), QPointF(9, middle))
        painter.end()
