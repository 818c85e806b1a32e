"""`MembersPanel`: the clients of a group; `SubscriptionsPanel`: what each of them subscribes. Tabs of the Consumers page."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.models.consumers import MemberRow, SubscriptionRow
from gui.models.table import ColumnTableModel
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.views.consumers.columns import finding_words
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel, in_panel
from monitoring.admin.clients import Finding

FINDINGS_SHOWN = 4
COLUMN_WIDTHS = {"held": 720, "threads": 660}
"""Below this width of the table of members a column is left out."""


class MembersPanel(QWidget):
    """The clients, below what brokers did not tell of them.

    Args:
        model: The clients; of the page, which counts them in the title of the tab.
        theme: For table and notice.
    """

    def __init__(self, model: ColumnTableModel[MemberRow], theme: ThemeManager) -> None:
        super().__init__()
        self.grid = DataGrid(model, theme)
        self.notice = Notice(theme)
        self.notice.set("")
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.addWidget(in_panel(self.grid, above=self.notice))

    def fit(self) -> None:
        """Leave out columns that have no room: what a client holds is in its dialog too; its ID needs the room more."""
        width = self.grid.width()
        self.grid.set_hidden({key for key, least in COLUMN_WIDTHS.items() if width < least})


class SubscriptionsPanel(QWidget):
    """What each client subscribes, below what is wrong with it.

    Args:
        model: The subscriptions; of the page, as above.
        theme: For table and notices.
    """

    def __init__(self, model: ColumnTableModel[SubscriptionRow], theme: ThemeManager) -> None:
        super().__init__()
        self.grid = DataGrid(model, theme)
        self.findings = [Notice(theme) for _ in range(FINDINGS_SHOWN)]
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, Size.GAP, 0, 0)
        lines.setSpacing(Size.GAP)
        for notice in self.findings:
            notice.set("")
            lines.addWidget(notice)
        table = Panel(flush=True)
        table.content.addWidget(self.grid)
        lines.addWidget(table, 1)

    def show_findings(self, found: Sequence[Finding]) -> None:
        """Say the first of them; the others disagree about the same."""
        words = [finding_words(finding) for finding in found[:FINDINGS_SHOWN]]
        said = words + [("", "")] * (FINDINGS_SHOWN - len(words))
        for notice, one in zip(self.findings, said, strict=True):
            notice.set(*one)
