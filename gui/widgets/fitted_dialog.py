"""`FittedDialog`: a dialog that stays within its screen; `FieldsRoom`: its fields, which scroll where they do not fit."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QLayout, QScrollArea, QVBoxLayout, QWidget

from gui.widgets.basic import column

HEIGHT_MIN = 260
SCREEN_MARGIN = 60
"""Part of the screen's height for the window frame and other parts of the desktop."""
SIDE, TOP, BOTTOM = 20, 18, 16
"""Margins of a dialog, px."""


class FieldsRoom(QScrollArea):
    """As high as its fields, if there is room.

    Signals:
        changed: The fields need other room; emitted before they begin or stop to scroll.
    """

    changed = Signal()

    def __init__(self, fields: QWidget) -> None:
        super().__init__()
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
            # A scroll area gives fields with wrapped texts this height, and scrolls what exceeds its own.
            wanted.setHeight(_height_of(lines, self.width() if self.isVisible() else wanted.width()))
        return wanted

    def minimumSizeHint(self) -> QSize:
        fields = self._fields.minimumSizeHint()
        return QSize(fields.width() + max(0, self._bar_width - self._margin), min(fields.height(), HEIGHT_MIN))

    @property
    def _bar_width(self) -> int:
        return self.verticalScrollBar().sizeHint().width()

    def _make_room_for_bar(self, _low: int, high: int) -> None:
        # The bar is in the margin beside the fields, so that the dialog need not be wider for a rare bar.
        lines = self._fields.layout()
        if lines is not None and self._margin:
            margins = lines.contentsMargins()
            margins.setRight(max(0, self._margin - self._bar_width) if high > 0 else self._margin)
            lines.setContentsMargins(margins)


class FittedDialog(QDialog):
    """As high as its parts, also with wrapped texts, but never larger than its screen, where its parts scroll.

    Its buttons and their messages always stay visible below the parts. It grows with its parts; a user who made it lower
    scrolls.
    """

    SHRINKS: ClassVar = False
    """Whether it shrinks with its parts, unless the user made it larger."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._height_wanted = 0
        self._parts: QVBoxLayout | None = None
        self._room: FieldsRoom | None = None
        self._foot: QVBoxLayout | None = None

    def lay_out(self, *, spacing: int = 12) -> QVBoxLayout:
        """Lines for the parts of the dialog, without its buttons; to be called once."""
        parts = QWidget()
        self._parts = column(spacing=spacing, margins=(SIDE, TOP, SIDE, BOTTOM))
        parts.setLayout(self._parts)
        self._room = FieldsRoom(parts)
        self._room.changed.connect(self._grow_if_shown)
        self.setLayout(column((self._room, 1), spacing=0))
        return self._parts

    def set_foot(self, *lines: QWidget | QLayout) -> None:
        """Set the lines that never scroll: the buttons, and above them e.g. an error."""
        outer = self.layout()
        assert self._parts is not None
        assert isinstance(outer, QVBoxLayout)
        self._parts.setContentsMargins(SIDE, TOP, SIDE, 0)
        spacing = self._parts.spacing()
        self._foot = column(*lines, spacing=spacing, margins=(SIDE, spacing, SIDE, BOTTOM))
        outer.addLayout(self._foot)

    def showEvent(self, event: QShowEvent) -> None:
        # The width of wrapped texts is known only now. Before Qt places the dialog: within the screen, too.
        self._count_anew()
        if not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            # Qt reserves several lines for texts that may wrap: a dialog without a set size would have an empty strip.
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
        return screen_room(self)

    def _count_anew(self) -> None:
        """Recompute sizes of before parts were hidden and dressed, whose events arrive later."""
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
    """Largest size of a dialog on its screen."""
    room = dialog.screen().availableGeometry().size()
    return QSize(room.width(), room.height() - SCREEN_MARGIN)


def _height_of(lines: QLayout, width: int) -> int:
    if not lines.hasHeightForWidth():
        return lines.totalSizeHint().height()
    return max(lines.totalHeightForWidth(width), lines.totalMinimumHeightForWidth(width))
