"""`StepBar`: the steps of a piece of work side by side, with the done ones, the shown one and a fact for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFont, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from gui.theme.fonts import text_font
from gui.theme.icons import icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.style import FOCUS_PROPERTY
from gui.theme.tokens import Size
from gui.widgets.basic import row
from gui.widgets.repaint import repaint_with
from gui.words.plain_text import tip_text
from gui.words.text import tr

CIRCLE, GAP, LINK_MIN = 22, 8, 14
HEIGHT = 40


class StepButton(QAbstractButton):
    """One step: its number, or a tick after it is done, its title, and a fact below."""

    def __init__(self, theme: ThemeManager, number: int) -> None:
        super().__init__()
        self._theme = theme
        self._number = number
        self.is_done = False
        self.fact = ""
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._title_font = text_font(Size.BODY, QFont.Weight.DemiBold)
        self._fact_font = text_font(Size.CAPTION)
        repaint_with(self, theme)

    def show_facts(self, title: str, fact: str, *, is_done: bool, count: int, why_not: str = "") -> None:
        """Update the step; ``count`` is the number of steps of the bar."""
        if (title, fact, is_done) != (self.text(), self.fact, self.is_done):
            self.setText(title)
            self.fact, self.is_done = fact, is_done
            self.updateGeometry()
            self.update()
        state = tr("done") if is_done else ""
        words = tr("Step {number} of {count}: {title}", number=self._number, count=count, title=title)
        self.setAccessibleName(", ".join(filter(None, (words, fact, state))))
        self.setToolTip(tip_text(why_not or fact))

    def sizeHint(self) -> QSize:
        return QSize(CIRCLE + GAP + self._words_width() + 6, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(CIRCLE + GAP + min(self._words_width(), 54), HEIGHT)

    def _words_width(self) -> int:
        title = QFontMetrics(self._title_font).horizontalAdvance(self.text())
        return max(title, QFontMetrics(self._fact_font).horizontalAdvance(self.fact))

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        circle = QRectF(1, (self.height() - CIRCLE) / 2, CIRCLE - 2, CIRCLE - 2)
        is_shown = self.isChecked()
        painter.setPen(QPen(QColor(tokens.accent_fill if is_shown else tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.accent_fill if is_shown else tokens.hover if self.underMouse() else tokens.panel))
        painter.drawEllipse(circle)
        if self.is_done and not is_shown:
            tick = icon_pixmap("check", tokens.healthy, 13, self.devicePixelRatioF())
            painter.drawPixmap(circle.center() - QPointF(6.5, 6.5), tick)
        else:
            painter.setPen(QColor(tokens.on_accent if is_shown else tokens.text_2 if self.isEnabled() else tokens.text_3))
            painter.setFont(self._fact_font)
            painter.drawText(circle, Qt.AlignmentFlag.AlignCenter, str(self._number))
        self._paint_words(painter)
        if self.property(FOCUS_PROPERTY):
            painter.setPen(QPen(QColor(tokens.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        painter.end()

    def _paint_words(self, painter: QPainter) -> None:
        tokens, left, half = self._theme.tokens, CIRCLE + GAP, self.height() / 2
        width = self.width() - left
        title = tokens.text_1 if self.isEnabled() else tokens.text_3
        lines = (
            (self.text(), self._title_font, title, QRectF(left, 2, width, half - 2), Qt.AlignmentFlag.AlignBottom),
            (self.fact, self._fact_font, tokens.text_3, QRectF(left, half, width, half - 2), Qt.AlignmentFlag.AlignTop),
        )
        for text, font, colour, box, side in lines:
            painter.setFont(font)
            painter.setPen(QColor(colour))
            shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, int(width))
            painter.drawText(box, side | Qt.AlignmentFlag.AlignLeft, shown)


class StepBar(QWidget):
    """The arrow keys go from step to step, Enter and Space show one; the first is shown at the start.

    Signals:
        chosen: The user wants another step; carries its key.
    """

    chosen = Signal(str)

    def __init__(self, theme: ThemeManager, keys: Sequence[str]) -> None:
        super().__init__()
        self._theme = theme
        self.steps = {key: StepButton(theme, number) for number, key in enumerate(keys, start=1)}
        for key, step in self.steps.items():
            step.setAutoExclusive(True)
            step.clicked.connect(partial(self._clicked, key))
        self.setLayout(row(*self.steps.values(), 1, spacing=LINK_MIN))
        self.steps[keys[0]].setChecked(True)

    @property
    def current(self) -> str:
        return next(key for key, step in self.steps.items() if step.isChecked())

    def choose(self, key: str) -> None:
        """Show a step without a signal."""
        self.steps[key].setChecked(True)

    def show_step(self, key: str, title: str, fact: str, *, is_done: bool, why_not: str = "") -> None:
        """Update a step; ``why_not`` says why it cannot be shown yet."""
        self.steps[key].setEnabled(not why_not)
        self.steps[key].show_facts(title, fact, is_done=is_done, count=len(self.steps), why_not=why_not)

    def _clicked(self, key: str, _checked: bool = False) -> None:
        self.chosen.emit(key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        steps = list(self.steps.values())
        place = next((place for place, step in enumerate(steps) if step.hasFocus()), -1)
        ahead = [step for step in (steps[place + by :: by] if by and 0 <= place + by < len(steps) else []) if step.isEnabled()]
        if place >= 0 and ahead:
            ahead[0].setFocus(Qt.FocusReason.TabFocusReason)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(QColor(self._theme.tokens.border_strong), 1))
        steps = list(self.steps.values())
        for left, right in pairwise(steps):
            begin, end = left.geometry().right() + 3, right.geometry().left() - 3
            if end > begin:
                painter.drawLine(begin, self.height() // 2, end, self.height() // 2)
        painter.end()
