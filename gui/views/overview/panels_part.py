"""The middle of the Overview: both charts, and what needs attention."""

from __future__ import annotations

from gui.views.overview.attention import ROWS_KEPT, ROWS_SHOWN, AttentionPanel
from gui.views.overview.charts import BacklogPanel, ThroughputPanel
from gui.views.page import PageContext
from gui.widgets.beside_row import BesideRow
from gui.widgets.lazy_tab import LaterPart
from monitoring.state import ClusterState


class PanelsPart(BesideRow):
    """Panels side by side; the charts share their crosshair."""

    def __init__(self, context: PageContext) -> None:
        # Two charts in one turn would be felt.
        backlog = LaterPart(lambda: self._make_backlog(context), fill=self._fill_backlog, turns=1)
        throughput, attention = ThroughputPanel(context), AttentionPanel(context)
        super().__init__((throughput, 45), (backlog, 21), (attention, 34))
        self.throughput, self._backlog, self.attention = throughput, backlog, attention
        self.turned.connect(self._give_rows)
        self._state: ClusterState | None = None

    def _give_rows(self, is_turned: bool) -> None:
        # Below the charts it takes no room from them.
        self.attention.keep_rows(ROWS_SHOWN if is_turned else ROWS_KEPT)

    @property
    def backlog(self) -> BacklogPanel:
        """What waits; asking makes it."""
        return self._backlog.widget

    def _make_backlog(self, context: PageContext) -> BacklogPanel:
        made = BacklogPanel(context)
        self.throughput.chart.hovered.connect(made.chart.show_crosshair)
        made.chart.hovered.connect(self.throughput.chart.show_crosshair)
        return made

    def _fill_backlog(self, made: BacklogPanel) -> None:
        if self._state is not None:
            made.show_state(self._state)

    @property
    def _made(self) -> list[ThroughputPanel | BacklogPanel | AttentionPanel]:
        panels = (self.throughput, self._backlog.made, self.attention)
        return [panel for panel in panels if panel is not None]

    def show_state(self, state: ClusterState) -> None:
        """Show what is known now."""
        self._state = state
        for panel in self._made:
            panel.show_state(state)

    def retranslate(self) -> None:
        """Write all texts anew."""
        for panel in self._made:
            panel.retranslate()
