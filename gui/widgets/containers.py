"""Tabs and scroll areas with names for screen readers, because they take the focus like other controls."""

from __future__ import annotations

from PySide6.QtWidgets import QScrollArea, QTabBar, QTabWidget, QWidget

from gui.widgets.said import said


class PartBar(QTabBar):
    """The parts of a page side by side; their owner shows them."""

    def __init__(self) -> None:
        super().__init__()
        said(self, name="Parts of the page")


class Parts(QTabWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setTabBar(PartBar())
        self.setDocumentMode(True)
        self.tabBar().setDrawBase(False)  # after the mode, which draws it: a line above the tabs
        said(self, name="Parts of the page")


class ScrolledPart(QScrollArea):
    """A part of a page that scrolls, also by the arrow keys; as wide as its content may be."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        said(self, name="Scrolled part of the page")


class ScrolledColumn(QWidget):
    """Content of a `ScrolledPart`, as high as its parts must be at its width.

    A scroll area uses the preferred height. Where texts wrap and a part has a minimum height, that can be less than the minimum
    height at this width, and the parts would overlap.
    """

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        if layout is None:
            return super().heightForWidth(width)
        return max(layout.totalHeightForWidth(width), layout.totalMinimumHeightForWidth(width))
