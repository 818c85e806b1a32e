"""`QueueLines`: a figure of a group's queues over time: one line for each of the slowest, one for the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.models.consumers import PositionRow
from gui.operations.history import not_read
from gui.operations.matrix import NAMES_MAX, HistoryMatrix
from gui.plots.chart_link import ChartLink
from gui.plots.chart_series import ChartMark, ChartSeries
from gui.plots.ownership_strip import rows_of
from gui.plots.time_chart import TimeChart
from gui.views.chart_tools import join_charts
from gui.views.page import PageContext
from gui.widgets.basic import column, row
from gui.words.text import short_count_text, tr

LINES_MAX = 5
"""More lines are hard to tell apart."""
OTHERS = "others"
COLUMNS = 300


class QueueLines(QWidget):
    """A chart that is created again when other queues lag most; it keeps its queues while the group stays.

    Signals:
        arrived: Other figures arrived; draw again.
    """

    arrived = Signal()

    def __init__(self, context: PageContext, link: ChartLink, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._link = context, link
        self._group = ""
        self._positions: Sequence[PositionRow] = ()
        self.places: list[tuple[str, int]] = []
        """Topic and queue of the lines, those that lag most first."""
        self._matrix = HistoryMatrix(context.source, self, columns=COLUMNS)
        self._matrix.arrived.connect(self.arrived)
        self.chart: TimeChart | None = None
        self._legend_line = row(spacing=-1, margins=(12, 0, 12, 0))
        self._lines = column(self._legend_line, spacing=0)
        self.setLayout(self._lines)

    def set_positions(self, group: str, positions: Sequence[PositionRow]) -> None:
        """Set the queues of the group, those that lag most first."""
        known = {(row.topic, row.queue_id) for row in positions}
        if group != self._group or not set(self.places) <= known or (positions and not self.places):
            self._group = group
            self.places = []
        self._positions = positions

    def draw(
        self, figure: str, factor: float, span_ms: tuple[int, int], marks: Sequence[ChartMark], marks_fault: str = ""
    ) -> None:
        """Draw a figure of the positions (``lag_messages``, ``behind_ms``) over a time; the fault is that of the marks."""
        if not self.places and self._positions:
            self.places = [(row.topic, row.queue_id) for row in self._positions[:NAMES_MAX]]
            self._make_chart()
        if self.chart is None:
            return
        from_ms, to_ms = span_ms
        names = [f"position:{self._group}/{topic}/{queue_id}.{figure}" for topic, queue_id in self.places]
        self._matrix.show(names, from_ms, to_ms)
        matrix = self._matrix.matrix
        points = {}
        if matrix.values.shape[0] == len(names):
            x = matrix.seconds
            for number in range(min(LINES_MAX, len(names))):
                points[str(number)] = (x, matrix.values[number] * factor)
            if len(names) > LINES_MAX:
                rest = matrix.values[LINES_MAX:]
                unknown = np.isnan(rest).all(axis=0)
                # Messages add up; of times the longest counts.
                joined = np.nansum(rest, axis=0) if figure == "lag_messages" else np.fmax.reduce(rest, axis=0)
                points[OTHERS] = (x, np.where(unknown, np.nan, joined) * factor)
        self.chart.set_marks(marks, marks_fault)
        self.chart.show_points(points, from_ms / 1_000, to_ms / 1_000, not_read(self._matrix.error))

    def _make_chart(self) -> None:
        if self.chart is not None:
            self.chart.deleteLater()
        several = len({topic for topic, _ in self.places}) > 1
        titles = rows_of(self.places)
        series = [
            ChartSeries(str(number), title if several else tr("Queue {queue}", queue=title))
            for number, title in enumerate(titles[:LINES_MAX])
        ]
        if len(titles) > LINES_MAX:
            series.append(ChartSeries(OTHERS, "The others"))
        self.chart = TimeChart(self._context.theme, self._context.times, series, value_text=short_count_text)
        self.chart.setMinimumHeight(110)
        join_charts(self._context, self._link, self.chart)
        while self._legend_line.count():
            self._legend_line.takeAt(0)
        # Names of queues may be longer than there is room for.
        self.chart.legend.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._legend_line.addWidget(self.chart.legend)
        self._lines.addWidget(self.chart, 1)
