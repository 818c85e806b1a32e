"""`PageRoom`: where pages stand, one in front. A page that needs more room than there is is scrolled, never cut."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedWidget, QWidget

from gui.theme.manager import ThemeManager


class PageRoom(QScrollArea):
    """Scrolls only where the window is smaller than the page in front may be: on a small screen, or at a large scale."""

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        # Pages have stops of their own, and are brought into sight with them.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.stack = QStackedWidget()
        self.setWidget(_Holder(self.stack))

    def dress(self, theme: ThemeManager) -> None:
        """Give what is seen of it beside its pages the look of a theme; the first frame of a window goes without."""
        for bar in (self.horizontalScrollBar(), self.verticalScrollBar()):
            theme.dress(bar)


class _Holder(QWidget):
    """As small as the page in front may be.

    It has no layout: that of the pages would have it as high as wrapped texts would like to be, and as wide as the widest page.
    """

    def __init__(self, stack: QStackedWidget) -> None:
        super().__init__()
        self._stack = stack
        stack.setParent(self)
        stack.currentChanged.connect(lambda _index: self.updateGeometry())

    def minimumSizeHint(self) -> QSize:
        page = self._stack.currentWidget()
        return QSize() if page is None else page.minimumSizeHint().expandedTo(page.minimumSize())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._stack.setGeometry(self.rect())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            # The page in front has other bounds: told on to the scroll area, as a layout would.
            self.updateGeometry()
        return super().event(event)
