"""`FrameParts`: the widgets of the frame and what they share."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from gui.main_window.live import LiveFeed
from gui.main_window.navigation import Navigation
from gui.main_window.page_area import PageArea
from gui.main_window.side_bar import SideBar
from gui.main_window.status_bar import StatusBar
from gui.main_window.tool_bar import ToolBar
from gui.views.time_range import TimeRangeChoice
from gui.widgets.basic import column, row
from gui.widgets.notice import Banner
from gui.widgets.production_bar import ConnectionStripe, ProductionBar
from gui.widgets.progress_line import ProgressLine
from gui.widgets.toast import ToastRoom


@dataclass(frozen=True, slots=True)
class FrameParts:
    """Bars above and below, the side bar left, the pages in the middle."""

    live: LiveFeed
    time_range: TimeRangeChoice
    navigation: Navigation
    tool_bar: ToolBar
    side_bar: SideBar
    area: PageArea
    status_bar: StatusBar
    banner: Banner
    production: ProductionBar
    stripe: ConnectionStripe
    progress: ProgressLine
    toasts: ToastRoom

    def laid_out(self) -> QWidget:
        right, central = QWidget(), QWidget()
        right.setLayout(column(self.banner, (self.area, 1), self.toasts, spacing=0))
        middle = row(self.side_bar, (right, 1), spacing=0)
        bars = (self.stripe, self.production, self.tool_bar, self.progress)
        central.setLayout(column(*bars, (middle, 1), self.status_bar, spacing=0))
        return central
