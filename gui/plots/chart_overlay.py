"""`PlotOverlay`: cursor, values, selection and the way back to live figures, painted over a `TimePlot`.

It lets the mouse through; only its buttons take clicks.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QWidget

from gui.plots.chart_link import ChartLink, Span, TimePlot, TipLine
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.style import FOCUS_PROPERTY
from gui.theme.tokens import Size, Tokens
from gui.widgets.basic import IconButton, PlainLabel, row
from gui.widgets.repaint import Drawn
from gui.widgets.said import on_language, said_button
from gui.words.text import TimeZoneChoice, duration_text, tr

ALPHA = 40
"""Of a selected span."""
LINE_HEIGHT = 20
"""Px of a line of the values."""
MARGIN = 14
"""Px between the cursor and the values."""
GAP = 6
"""Px between the words of the selection and the way back."""
LENGTH = " · "
"""Before the length of a span."""
MINUTE_S, DAY_S = 60, 86_400


def moment_text(times: TimeZoneChoice, at_s: float, span: Span) -> str:
    """A moment as exactly as a chart of this span shows it."""
    length = span[1] - span[0]
    form = times.clock if length < MINUTE_S else times.seconds if length <= DAY_S else times.minutes
    return form(at_s * 1_000)


def span_words(times: TimeZoneChoice, span: Span) -> str:
    """``10:15:02 – 10:16:40 · 98 s``; days where they differ."""
    from_s, to_s = span
    form = times.seconds if to_s - from_s >= MINUTE_S else times.clock
    days = [times.moment(at_s * 1_000).date() for at_s in span]
    begin, end = (form(at_s * 1_000) for at_s in span)
    if days[0] != days[1]:
        begin, end = (f"{day:%m-%d} {text}" for day, text in zip(days, (begin, end), strict=True))
    return f"{begin} – {end}{LENGTH}{duration_text((to_s - from_s) * 1_000)}"


class PlotOverlay(QWidget):
    """Covers the surface of a plot and shows what its link says."""

    def __init__(self, plot: TimePlot, link: ChartLink, theme: ThemeManager, times: TimeZoneChoice) -> None:
        surface = plot.surface()
        super().__init__(surface)
        self._plot, self._link, self._theme, self._times = plot, link, theme, times
        self._painted = QRegion()
        """Where cursor and values were painted last."""
        self._above = 0
        """Height of the buttons, px."""
        self._back: IconButton | None = None
        self.bar: SelectionBar | None = None
        """The words and buttons of the selection, at the plot in which it was made."""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setGeometry(surface.rect())
        self.show()
        surface.installEventFilter(self)
        link.cursor_moved.connect(self._cursor_moved)
        link.selecting.connect(self._selection_changed)
        link.range_changed.connect(self.show_back)
        times.changed.connect(self._selection_changed)
        on_language(self, self.show_back)

    @property
    def back_button(self) -> IconButton | None:
        """The way back to the live or whole span; None until a part is shown."""
        return self._back

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self.setGeometry(self._plot.surface().rect())
            self._place_buttons()
        return super().eventFilter(watched, event)

    # ---- what the link says --------------------------------------------------------------------------------------------

    def _cursor_moved(self, _at_s: float) -> None:
        if not self._plot.is_joined:
            return
        # Parts only: the whole plot below would be painted again.
        region = self._cursor_region()
        self.update(region.united(self._painted))
        self._painted = region

    def _selection_changed(self) -> None:
        if not self._plot.is_joined:
            return
        self.update()
        selection = self._link.selection
        if self._link.brushed is not self._plot or selection is None or self._plot.top_right() is None:
            if self.bar is not None:
                self.bar.hide()
        else:
            if self.bar is None:
                self.bar = SelectionBar(self._plot.surface(), self._link, self._theme)
            self.bar.show_words(span_words(self._times, selection), round(self._room().width()))
        self._place_buttons()

    def show_back(self) -> None:
        """Show the way back where a part is shown."""
        if not self._plot.is_joined:
            return
        is_part = self._link.shown.is_part and self._plot.top_right() is not None
        if self._back is None:
            if not is_part:
                return
            self._back = said_button(self._theme, "arrow-counter-clockwise", role="small", on_click=self._go_back)
            self._back.setParent(self._plot.surface())
            self._back.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Home is the key
        self._back.setText(self._link.shown.whole_words())
        self._back.setAccessibleName(self._back.text())
        self._back.setToolTip(tr("The chart stands still: it shows a part. Go back (Home, or a double click)"))
        self._back.adjustSize()
        self._back.setVisible(is_part)
        self._selection_changed()  # there is more or less room for its words

    def _go_back(self) -> None:
        self._link.unselect()
        self._link.show_whole()

    def _room(self) -> QRectF:
        """The line above the plot, up to the way back."""
        inside, end = self._plot.inside(), self._plot.top_right() or QPointF()
        right = end.x() - self._corner()
        return QRectF(inside.left(), end.y(), max(0.0, right - inside.left()), 0)

    def _corner(self) -> int:
        """Width of the way back, px."""
        return self._back.width() + GAP if self._back is not None and not self._back.isHidden() else 0

    def _place_buttons(self) -> None:
        end, room, bar, selection = self._plot.top_right(), self._room(), self.bar, self._link.selection
        if end is None:
            return
        heights, corner = [0], self._corner()
        if self._back is not None and corner:
            self._back.move(round(end.x()) - self._back.width(), round(end.y()))
            heights.append(self._back.height())
        if bar is not None and not bar.isHidden() and selection is not None:
            middle = (self._plot.x_of(selection[0]) + self._plot.x_of(selection[1])) / 2
            left = max(0.0, min(max(middle - bar.width() / 2, room.left()), room.right() - bar.width()))
            bar.move(round(left), round(room.top()))
            bar.raise_()
            heights.append(bar.height())
            corner = round(self._plot.inside().width())  # names of marks would be half covered
        self._above = max(heights)
        self._plot.keep_above(self._above, corner)

    # ---- painting ------------------------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        painter = QPainter(self)
        if self._link.selection is not None:
            self._place_buttons()  # the selection moves with the live figures
        self._paint_selection(painter, tokens)
        if self._has_cursor():
            x, inside = self._plot.x_of(self._link.cursor_s), self._plot.inside()
            painter.setPen(QPen(QColor(tokens.text_2), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, inside.top()), QPointF(x, inside.bottom()))
            self._paint_values(painter, tokens)
        if self._plot.focused().property(FOCUS_PROPERTY):
            painter.setPen(QPen(QColor(tokens.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        painter.end()

    def _paint_selection(self, painter: QPainter, tokens: Tokens) -> None:
        selection, (from_s, to_s) = self._link.selection, self._plot.span_s()
        if selection is None or selection[1] < from_s or selection[0] > to_s:
            return
        inside = self._plot.inside()
        left, right = (self._plot.x_of(at_s) for at_s in (max(selection[0], from_s), min(selection[1], to_s)))
        colour = QColor(tokens.accent)
        painter.setPen(QPen(colour, 1))
        for at_s, x in zip(selection, (left, right), strict=True):
            if from_s <= at_s <= to_s:
                painter.drawLine(QPointF(x, inside.top()), QPointF(x, inside.bottom()))
        colour.setAlpha(ALPHA)
        painter.fillRect(QRectF(left, inside.top(), right - left, inside.height()), colour)

    def _paint_values(self, painter: QPainter, tokens: Tokens) -> None:
        title, lines = self._tip()
        box = self._tip_box(title, lines)
        if box.isNull():
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.raised))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        top, strong = box.top() + 4, text_font(Size.SECONDARY, text_font().Weight.DemiBold)
        if title:
            painter.setFont(strong)
            painter.setPen(QColor(tokens.text_1))
            painter.drawText(QRectF(box.left() + 10, top, box.width(), LINE_HEIGHT), Qt.AlignmentFlag.AlignVCenter, title)
            top += LINE_HEIGHT
        for name, value, colour in lines:
            line = QRectF(box.left() + 10, top, box.width() - 20, LINE_HEIGHT)
            painter.setPen(QPen(QColor(colour), 3, c=Qt.PenCapStyle.RoundCap))
            painter.drawLine(QPointF(line.left() + 2, line.center().y()), QPointF(line.left() + 8, line.center().y()))
            painter.setFont(text_font(Size.SECONDARY))
            painter.setPen(QColor(tokens.text_2))
            painter.drawText(line.adjusted(16, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, name)
            painter.setFont(strong)
            painter.setPen(QColor(tokens.text_1))
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, value)
            top += LINE_HEIGHT

    # ---- cursor and values ---------------------------------------------------------------------------------------------

    def _has_cursor(self) -> bool:
        from_s, to_s = self._plot.span_s()
        return not math.isnan(self._link.cursor_s) and from_s <= self._link.cursor_s <= to_s

    def _tip(self) -> tuple[str, list[TipLine]]:
        """The time, which only the plot under the mouse shows, and the values."""
        at_s, is_pointed = self._link.cursor_s, self._link.pointed is self._plot
        return (moment_text(self._times, at_s, self._plot.span_s()) if is_pointed else "", self._plot.tip_lines(at_s))

    def _tip_box(self, title: str, lines: list[TipLine]) -> QRectF:
        if not title and not lines:
            return QRectF()
        metrics = QFontMetrics(text_font(Size.SECONDARY, text_font().Weight.DemiBold))
        widest = max([metrics.horizontalAdvance(f"{name}  {value}") + 16 for name, value, _ in lines], default=0)
        width = max(widest, metrics.horizontalAdvance(title)) + 24
        height = LINE_HEIGHT * (len(lines) + bool(title)) + 8
        inside, at = self._plot.inside(), self._link.pointed_at
        x = self._plot.x_of(self._link.cursor_s)
        left = x + MARGIN if x + MARGIN + width <= inside.right() else x - MARGIN - width
        is_mouse = bool(title) and not at.isNull()
        # Beside the mouse, or below the buttons.
        top = at.y() + MARGIN if is_mouse else (self._plot.top_right() or inside.topRight()).y() + self._above + 2
        return QRectF(max(0.0, left), max(0.0, min(top, self.height() - height)), width, height)

    def _cursor_region(self) -> QRegion:
        if not self._has_cursor():
            return QRegion()
        x, inside = round(self._plot.x_of(self._link.cursor_s)), self._plot.inside()
        line = QRect(x - 2, int(inside.top()), 5, int(inside.height()) + 1)
        return QRegion(line).united(self._tip_box(*self._tip()).toAlignedRect().adjusted(-2, -2, 2, 2))


class SelectionBar(Drawn):
    """The selected span in words, with the buttons that zoom to it and clear it."""

    def __init__(self, surface: QWidget, link: ChartLink, theme: ThemeManager) -> None:
        super().__init__(theme, surface)
        self.words = PlainLabel()
        self.zoom_button = said_button(theme, "magnifying-glass", role="small", on_click=link.zoom_to_selection)
        self.clear_button = said_button(theme, "x", role="small", on_click=link.unselect, tip="Clear the selection (Esc)")
        for button in (self.zoom_button, self.clear_button):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Enter and Esc are the keys, in the plot
        self._words, self._room = "", 0
        self.setLayout(row(self.words, self.zoom_button, self.clear_button, spacing=4, margins=(10, 2, 2, 2)))
        self.setCursor(Qt.CursorShape.ArrowCursor)
        on_language(self, self._write)

    def show_words(self, words: str, room: int) -> None:
        """Show the span in words; ``room`` is the width that the bar may have, px."""
        self._words, self._room = words, room
        self._write()
        self.show()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()  # no click beside the selection, which would clear it

    def _write(self) -> None:
        """Write as much as there is room for: all, or without the words of the zoom, or without the length either."""
        name = tr("Zoom to selection")
        self.zoom_button.setAccessibleName(name)
        self.zoom_button.setToolTip(tr("Zoom to selection (Enter)"))
        for words, zoom in ((self._words, name), (self._words, ""), (self._words.partition(LENGTH)[0], "")):
            self.words.setText(words)
            self.zoom_button.setText(zoom)
            self.adjustSize()
            if self.width() <= self._room:
                break

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.raised))
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        painter.end()
