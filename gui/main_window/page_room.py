"""`PageRoom`: holds the pages, one in front; `GoneLine`: says above a pinned page that its subject is gone."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedWidget, QWidget

from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconLabel, label, row
from gui.widgets.said import push_button, said_label


class PageRoom(QScrollArea):
    """Scrolls a page that needs more room than the window has; none is cut."""

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        # Pages have focus stops of their own and are scrolled into sight with them.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.stack = QStackedWidget()
        self.setWidget(_Holder(self.stack))

    def dress(self, theme: ThemeManager) -> None:
        """Apply the theme to its scroll bars; the first frame of a window does without."""
        for bar in (self.horizontalScrollBar(), self.verticalScrollBar()):
            theme.dress(bar)


class _Holder(QWidget):
    """Takes its minimum size from the page in front.

    It has no layout, because that would use the height of wrapped texts and the width of the widest page.
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
            # The minimum of the page in front may have changed: forward it to the scroll area, as a layout would.
            self.updateGeometry()
        return super().event(event)


class GoneLine(QFrame):
    """A line between the tabs and the page.

    Signals:
        close_wanted: The tab is to be closed.
    """

    close_wanted = Signal()

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self.setProperty("role", "gone")
        self.words = label(role="strong")
        self.button = push_button("Close the tab", self.close_wanted.emit, role="small")
        why = said_label("The tab is pinned, so it stays until you close it.")
        self.setLayout(row(IconLabel(theme, "info", "text_2", 16), self.words, why, 1, self.button, spacing=10,
                           margins=(16, 6, 16, 6)))  # fmt: skip
        self.hide()

    def say(self, words: str) -> None:
        """Show what is gone; empty words hide the line."""
        self.words.setText(words)
        self.setVisible(bool(words))
