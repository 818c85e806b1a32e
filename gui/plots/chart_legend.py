"""`ChartLegend`: names and values of a chart's lines."""

from __future__ import annotations

from typing import Any, Protocol

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QWidget

from gui.plots.chart_series import ChartSeries
from gui.text import UNKNOWN, tr
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Tokens
from gui.widgets.basic import ElidedLabel, label


class Chart(Protocol):
    """What a legend asks of its chart."""

    destroyed: Any

    @property
    def series(self) -> tuple[ChartSeries, ...]: ...

    def shown_value(self, key: str) -> str: ...

    def toggle_series(self, key: str) -> None: ...

    def colour(self, key: str, tokens: Tokens) -> str: ...


class ChartLegend(QWidget):
    """Names and values of the lines; a click hides a line. Stands in the title line of a panel."""

    def __init__(self, theme: ThemeManager, chart: Chart) -> None:
        super().__init__()
        self._chart = chart
        # It stands elsewhere than the chart, or nowhere, but means nothing without it.
        chart.destroyed.connect(self.deleteLater)
        self._lines = QGridLayout(self)
        self._lines.setContentsMargins(0, 0, 0, 0)
        self._lines.setSpacing(14)
        self._entries = [_LegendEntry(theme, chart, one) for one in chart.series]
        for place, entry in enumerate(self._entries):
            self._lines.addWidget(entry, 0, place)

    def spread(self, columns: int) -> None:
        """Stand in as many lines as it needs of so many entries; a longer name is cut, and a tip says it."""
        self._lines.setVerticalSpacing(2)
        for place, entry in enumerate(self._entries):
            entry.may_be_cut = True
            self._lines.addWidget(entry, place // columns, place % columns)
        for column in range(columns):
            self._lines.setColumnStretch(column, 1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.update_values()

    def update_values(self) -> None:
        """Write the values anew."""
        for entry in self._entries:
            entry.update_value()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.update_values()


class _LegendEntry(QWidget):
    def __init__(self, theme: ThemeManager, chart: Chart, series: ChartSeries) -> None:
        super().__init__()
        self._theme = theme
        self._chart = chart
        self._one = series
        self._dimmed = False
        self.may_be_cut = False
        self._name = ElidedLabel(tr(series.title), "secondary")
        self._value = label(UNKNOWN, "strong")
        line = QHBoxLayout(self)
        line.setContentsMargins(16, 0, 0, 0)
        line.setSpacing(6)
        line.addWidget(self._name)
        line.addWidget(self._value)
        line.addStretch(1)
        theme.changed.connect(self.update)

    def update_value(self) -> None:
        self._name.setText(tr(self._one.title))
        self._name.setMinimumWidth(0 if self.may_be_cut else self._name.sizeHint().width())
        self._value.setText(self._chart.shown_value(self._one.key))

    def mousePressEvent(self, event: Any) -> None:  # noqa: ANN401, ARG002  Qt's QMouseEvent
        self._dimmed = not self._dimmed
        self._value.setEnabled(not self._dimmed)
        self._name.setEnabled(not self._dimmed)
        self._chart.toggle_series(self._one.key)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        tokens = self._theme.tokens
        painter = QPainter(self)
        colour = tokens.text_3 if self._dimmed else self._chart.colour(self._one.key, tokens)
        painter.setPen(QPen(QColor(colour), 3, c=Qt.PenCapStyle.RoundCap))
        middle = self.height() / 2
        painter.drawLine(QPointF(2, middle), QPointF(9, middle))
        painter.end()
