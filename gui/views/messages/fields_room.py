"""`FieldsRoom`: the fields of a `GrowingDialog`, which are scrolled where the screen is too low for all of them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QDialog, QScrollArea, QWidget

HEIGHT_MIN = 260
SCREEN_MARGIN = 60
"""Of the screen's height, for the frame of the window and the panel of the desktop."""


class FieldsRoom(QScrollArea):
    """As high as its fields, if there is room.

    Args:
        fields: Of the dialog.
        parent: Qt's owner.
    """

    def __init__(self, fields: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab leads to its fields, and scrolls to them
        self._fields = fields
        self.setWidget(fields)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        done = super().eventFilter(watched, event)
        if watched is self._fields and event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return done

    def sizeHint(self) -> QSize:
        return self._fields.sizeHint()

    def minimumSizeHint(self) -> QSize:
        fields = self._fields.minimumSizeHint()
        return QSize(fields.width() + self.verticalScrollBar().sizeHint().width(), min(fields.height(), HEIGHT_MIN))


class GrowingDialog(QDialog):
    """Makes room for what becomes higher in it, within its screen. Who made it lower scrolls."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._height_wanted = 0

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Show):
            self._grow()
        return done

    def _grow(self) -> None:
        wanted = min(self.sizeHint().height(), self.screen().availableGeometry().height() - SCREEN_MARGIN)
        if wanted > self._height_wanted:
            self.resize(self.width(), max(self.height(), wanted))
        self._height_wanted = wanted
