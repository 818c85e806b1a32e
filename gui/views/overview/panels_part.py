"""The middle of the Overview: both charts, and what needs attention."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.theme.tokens import Size
from gui.views.overview.attention import AttentionPanel
from gui.views.overview.charts import BacklogPanel, ThroughputPanel
from gui.views.page import PageContext
from monitoring.state import ClusterState


class PanelsPart(QWidget):
    """Panels side by side; the charts share their crosshair."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self.throughput = ThroughputPanel(context)
        self.backlog = BacklogPanel(context)
        self.attention = AttentionPanel(context)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Size.GAP)
        for panel, weight in ((self.throughput, 42), (self.backlog, 24), (self.attention, 34)):
            line.addWidget(panel, weight)
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
