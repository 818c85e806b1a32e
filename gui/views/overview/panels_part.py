"""The middle of the Overview: both charts, and what needs attention."""

from __future__ import annotations

from gui.views.overview.attention import AttentionPanel
from gui.views.overview.charts import BacklogPanel, ThroughputPanel
from gui.views.page import PageContext
from gui.widgets.beside_row import BesideRow
from monitoring.state import ClusterState


class PanelsPart(BesideRow):
    """Panels side by side; the charts share their crosshair."""

    def __init__(self, context: PageContext) -> None:
        throughput, backlog, attention = ThroughputPanel(context), BacklogPanel(context), AttentionPanel(context)
        super().__init__((throughput, 45), (backlog, 21), (attention, 34))
        self.throughput, self.backlog, self.attention = throughput, backlog, attention
        self.throughput.chart.hovered.connect(self.backlog.chart.show_crosshair)
        self.backlog.chart.hovered.connect(self.throughput.chart.show_crosshair)

    def show_state(self, state: ClusterState) -> None:
        """Show what is known now."""
        for panel in (self.throughput, self.backlog, self.attention):
            panel.show_state(state)

    def retranslate(self) -> None:
        """Write all texts anew."""
        for panel in (self.throughput, self.backlog, self.attention):
            panel.retranslate()
