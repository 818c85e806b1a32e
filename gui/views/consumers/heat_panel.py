"""`LagHeatPanel`: the lag of a group's queues over time, a row a queue."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.models.consumers import PositionRow, own_first
from gui.operations.matrix import HistoryMatrix
from gui.plots.heat_map import HeatMap, HeatScale
from gui.plots.ownership_strip import rows_of
from gui.theme.tokens import State
from gui.views.page import PageContext
from gui.widgets.panel import Panel
from gui.words.text import short_count_text, tr

ROWS_MAX = 64


class LagHeatPanel(Panel):
    """A heat map with its scale.

    Signals:
        queue_chosen: A row was clicked; carries topic and queue id.
    """

    queue_chosen = Signal(str, int)

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(" ", parent=parent)
        self._places: list[tuple[str, int]] = []
        self.lags = HistoryMatrix(context.source, self)
        self.heat = HeatMap(context.theme, context.times, State.WARNING)
        self.scale = HeatScale(context.theme, State.WARNING)
        self.add_action(self.scale)
        self.content.addWidget(self.heat, 1)
        self.lags.arrived.connect(self._show)
        self.heat.row_chosen.connect(self._chosen)
        self.retranslate()

    def show_positions(self, group: str, positions: Sequence[PositionRow], span_ms: tuple[int, int]) -> None:
        """Show the queues of a group, at most `ROWS_MAX` of those that lag most, over a time."""
        places = [(row.topic, row.queue_id) for row in positions[:ROWS_MAX]]
        most = sorted(places, key=lambda place: (own_first(place[0]), place))
        if not set(self._places) <= set(most) or len(most) != len(self._places):
            self._places = most
        names = [f"position:{group}/{topic}/{queue_id}.lag_messages" for topic, queue_id in self._places]
        self.lags.show(names, *span_ms)
        if not names or not self.lags.matrix.values.size:
            self._show()
        left_out = len(positions) - len(most)
        words = tr("{count} of {all} queues, those that lag most", count=len(most), all=len(positions))
        self.set_subtitle(words if left_out else "")

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.set_title(tr("Lag by queue over time"))
        self.heat.setAccessibleName(tr("Lag by queue over time"))
        self._show()

    def _show(self) -> None:
        matrix = self.lags.matrix
        labels = rows_of(self._places) if matrix.values.shape[0] == len(self._places) else ()
        self.heat.set_matrix(labels, matrix, [f"{topic}, {queue_id}" for topic, queue_id in self._places][: len(labels)])
        self.scale.set_top(short_count_text(matrix.top))
        nothing = tr("Reading the history…") if self.lags.waiting else tr("not recorded")
        self.heat.set_note(self.lags.fault or nothing)

    def _chosen(self, row: int) -> None:
        if row < len(self._places):
            self.queue_chosen.emit(*self._places[row])
