"""`FittedDialog`: a dialog that stays within its screen; `FieldsRoom`: its fields, which are scrolled where they do not fit."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QLayout, QScrollArea, QVBoxLayout, QWidget

HEIGHT_MIN = 260
SCREEN_MARGIN = 60
"""Of the screen's height, for the frame of the window and what the desktop does not tell."""
SIDE, TOP, BOTTOM = 20, 18, 16
"""Room around the parts of a dialog."""


class FieldsRoom(QScrollArea):
    """As high as its fields, if there is room.

    Args:
        fields: Of the dialog.
        parent: Qt's owner.

    Signals:
        changed: The fields want other room; before it is decided whether they are scrolled.
    """

    changed = Signal()

    def __init__(self, fields: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab leads to its fields, and scrolls to them
        self._fields = fields
        lines = fields.layout()
        self._margin = lines.contentsMargins().right() if lines is not None else 0
        self.verticalScrollBar().rangeChanged.connect(self._make_room_for_bar)
        self.setWidget(fields)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._fields and event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
            self.changed.emit()
        return super().eventFilter(watched, event)

    def sizeHint(self) -> QSize:
        wanted, lines = self._fields.sizeHint(), self._fields.layout()
        if lines is not None and lines.hasHeightForWidth():
            # A scroll area gives fields in which texts wrap this height, and scrolls what is beyond its own.
            wanted.setHeight(_height_of(lines, self.width() if self.isVisible() else wanted.width()))
        return wanted

    def minimumSizeHint(self) -> QSize:
        fields = self._fields.minimumSizeHint()
        return QSize(fields.width() + max(0, self._bar_width - self._margin), min(fields.height(), HEIGHT_MIN))

    @property
    def _bar_width(self) -> int:
        return self.verticalScrollBar().sizeHint().width()

    def _make_room_for_bar(self, _low: int, high: int) -> None:
        # The bar stands in the margin beside the fields, so that a dialog need not be wider for one that is seldom there.
        lines = self._fields.layout()
        if lines is not None and self._margin:
            margins = lines.contentsMargins()
            margins.setRight(max(0, self._margin - self._bar_width) if high > 0 else self._margin)
            lines.setContentsMargins(margins)


class FittedDialog(QDialog):
    """As high as its parts, also where texts in it wrap, but never larger than its screen: there its parts are scrolled.

    Its buttons, and what becomes of pressing them, always stay in sight below the parts. It makes room for what becomes
    higher in it; who made it lower scrolls.
    """

    SHRINKS: ClassVar = False
    """Whether it gives room back that its parts no longer want, unless it was made larger by hand."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._height_wanted = 0
        self._parts: QVBoxLayout | None = None
        self._room: FieldsRoom | None = None
        self._foot: QVBoxLayout | None = None

    def lay_out(self, *, spacing: int = 12) -> QVBoxLayout:
        """Lines for the parts of the dialog, without its buttons; to be asked for once."""
        parts = QWidget()
        self._parts = QVBoxLayout(parts)
        self._parts.setContentsMargins(SIDE, TOP, SIDE, BOTTOM)
        self._parts.setSpacing(spacing)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        self._room = FieldsRoom(parts)
        self._room.changed.connect(self._grow_if_shown)
        outer.addWidget(self._room, 1)
        return self._parts

    def set_foot(self, *lines: QWidget | QLayout) -> None:
        """Lines that are never scrolled: the buttons, and before them e.g. why nothing happened."""
        outer = self.layout()
        assert self._parts is not None
        assert isinstance(outer, QVBoxLayout)
        self._parts.setContentsMargins(SIDE, TOP, SIDE, 0)
        self._foot = QVBoxLayout()
        self._foot.setContentsMargins(SIDE, self._parts.spacing(), SIDE, BOTTOM)
        self._foot.setSpacing(self._parts.spacing())
        for line in lines:
            if isinstance(line, QWidget):
                self._foot.addWidget(line)
            else:
                self._foot.addLayout(line)
        outer.addLayout(self._foot)

    def showEvent(self, event: QShowEvent) -> None:
        # Only now is it known how wide wrapped words are. Before Qt places the dialog: within the screen, too.
        self._count_anew()
        if not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            # Qt foresees several lines for words that may wrap: of a dialog of no set size that would be an empty strip.
            width = max(self.minimumWidth(), self.minimumSizeHint().width())
            self.resize(width, self._height_for(width))
        self._grow()
        self.resize(self.size().boundedTo(self.room))
        super().showEvent(event)

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._grow_if_shown()
        return done

    def _grow_if_shown(self) -> None:
        if self.isVisible():
            self._grow()

    @property
    def room(self) -> QSize:
        """How large it may be."""
        return screen_room(self)

    def _count_anew(self) -> None:
        """Forget what was counted before parts were hidden and dressed: that is told by events that come later."""
        for widget in self.findChildren(QWidget):
            widget.ensurePolished()
        if self._parts is not None and self._room is not None:
            self._parts.activate()
            self._room.updateGeometry()

    def _grow(self) -> None:
        wanted = min(self._height_for(max(self.width(), self.minimumWidth())), self.room.height())
        if self.SHRINKS and self.height() == self._height_wanted:
            self.resize(self.width(), wanted)
        elif wanted > self._height_wanted:
            self.resize(self.width(), max(self.height(), wanted))
        self._height_wanted = wanted

    def _height_for(self, width: int) -> int:
        if self._parts is None:
            return self.sizeHint().height()
        return sum(_height_of(lines, width) for lines in (self._parts, self._foot) if lines is not None)


def screen_room(dialog: QWidget) -> QSize:
    """How large a dialog may be on its screen."""
    room = dialog.screen().availableGeometry().size()
    return QSize(room.width(), room.height() - SCREEN_MARGIN)


def _height_of(lines: QLayout, width: int) -> int:
    if not lines.hasHeightForWidth():
        return lines.totalSizeHint().height()
    return max(lines.totalHeightForWidth(width), lines.totalMinimumHeightForWidth(width))
