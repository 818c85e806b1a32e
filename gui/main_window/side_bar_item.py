"""`SideBarItem`: one line of the side bar."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFont, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton

from gui.theme.fonts import text_font
from gui.theme.icons import icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.style import FOCUS_PROPERTY
from gui.theme.tokens import Size, State
from gui.views.registry import PageEntry
from gui.widgets.repaint import repaint_with
from gui.widgets.said import on_language
from gui.words.plain_text import tip_text
from gui.words.text import tr

OLD_OPACITY = 0.6
"""Of a count that is not of now."""


class SideBarItem(QAbstractButton):
    """One page, or another place: glyph, name, count.

    Signals:
        new_tab_asked: Middle click or Ctrl+click.
    """

    new_tab_asked = Signal()

    def __init__(self, theme: ThemeManager, entry: PageEntry) -> None:
        super().__init__()
        self._theme = theme
        self.entry = entry
        self.count = ""
        self._words = ""
        self.count_state: State | None = None
        self.collapsed = False
        self.is_old = False
        """Whether the count is the last one of a broker that is gone."""
        self.right_room = 0
        """Px left free after the count."""
        self._hovered = False
        self.setCheckable(True)
        self.setFixedHeight(28)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        on_language(self, self.write_name)
        repaint_with(self, theme)

    @property
    def title(self) -> str:
        return tr(self.entry.title)

    def write_name(self) -> None:
        name = self.title
        self.setAccessibleName(name)
        self.setText(name)
        self._write_tip()

    def _write_tip(self) -> None:
        words = tr("{words}, when the broker was last heard", words=self._words) if self.is_old and self._words else self._words
        self.setAccessibleDescription(words)
        self.setToolTip(tip_text(": ".join(filter(None, (self.title if self.collapsed else "", words)))))

    def set_count(self, count: str, state: State | None = None, words: str = "") -> None:
        """Show a count after the name; ``state`` colours it, ``words`` describe it in full."""
        if (count, state) != (self.count, self.count_state):
            self.count, self.count_state = count, state
            self.update()
        if words != self._words:
            self._words = words
            self._write_tip()

    def set_old(self, is_old: bool) -> None:
        """Dim the count, without the colour of its state."""
        if is_old != self.is_old:
            self.is_old = is_old
            self._write_tip()
            self.update()

    def set_collapsed(self, collapsed: bool) -> None:
        self.collapsed = collapsed
        self.write_name()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(Size.SIDE_BAR - 16, 28)

    def enterEvent(self, _event: QEnterEvent) -> None:
        self._hovered = True
        self.update()

    def leaveEvent(self, _event: QEvent) -> None:
        self._hovered = False
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        with_control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if event.button() == Qt.MouseButton.MiddleButton or with_control:
            self.setDown(False)
            self.new_tab_asked.emit()
            return
        super().mouseReleaseEvent(event)

    def nextCheckState(self) -> None:
        """The window sets the current page; a click alone does not."""

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect())
        active = self.isChecked()
        if active or self._hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.selected if active else tokens.hover))
            painter.drawRoundedRect(box, Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        if self.property(FOCUS_PROPERTY):
            painter.setPen(QPen(QColor(tokens.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        left = (self.width() - Size.ICON_SIDE_BAR) // 2 if self.collapsed else 10
        colour = tokens.accent if active else tokens.text_2
        glyph = icon_pixmap(self.entry.icon, colour, Size.ICON_SIDE_BAR, self.devicePixelRatioF(), filled=active)
        painter.drawPixmap(left, (self.height() - Size.ICON_SIDE_BAR) // 2, glyph)
        if self.collapsed:
            self._paint_count_dot(painter, left)
        else:
            self._paint_words(painter)
        painter.end()

    @property
    def shown_state(self) -> State | None:
        """The state that colours the count; None for an old one."""
        return None if self.is_old else self.count_state

    def _paint_words(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        state = self.shown_state
        count_font = text_font(Size.SECONDARY, QFont.Weight.DemiBold if state else QFont.Weight.Normal)
        count_width = QFontMetrics(count_font).horizontalAdvance(self.count)
        box = QRectF(36, 0, self.width() - 36 - 10 - self.right_room, self.height())
        painter.setFont(count_font)
        painter.setPen(QColor(tokens.state(state) if state else tokens.text_3))
        painter.setOpacity(OLD_OPACITY if self.is_old else 1.0)
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self.count)
        painter.setOpacity(1.0)
        painter.setFont(text_font(Size.BODY, QFont.Weight.Medium))
        painter.setPen(QColor(tokens.text_1 if self.isChecked() else tokens.text_2))
        room = int(box.width()) - count_width - 8
        name = QFontMetrics(painter.font()).elidedText(self.text(), Qt.TextElideMode.ElideRight, room)
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, name)

    def _paint_count_dot(self, painter: QPainter, left: int) -> None:
        state = self.shown_state
        if state is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.tokens.state(state)))
            painter.drawEllipse(QRectF(left + Size.ICON_SIDE_BAR - 2, 4, 6, 6))
