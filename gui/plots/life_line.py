"""`LifeLinePicture`: the records and attempts of one message as lanes over time, with waits as bars. Drawn by hand.

Compressed time gives each interval between two moments a width that grows with its logarithm, and marks folded ones; true time
is linear.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen

from gui.theme.fonts import mono_font, text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State, Tokens, mix
from gui.widgets.paint import paint_line
from gui.widgets.repaint import Drawn
from gui.words.text import TimeZoneChoice, duration_text

HEAD = 30
LANE = 33
NAME_LEFT, PLACE_LEFT, PLOT_LEFT = 24.0, 104.0, 268.0
PLOT_MARGIN = 96.0
BAR, DOT = 14.0, 9.0
FOLD_MS = 5_000
LABEL_GAP = 14.0
STRETCH_BASE = 0.6
"""Width of an empty interval, where ten times the length is wider by 1."""


@dataclass(frozen=True, slots=True)
class LifeBar:
    """A wait or an attempt; ``is_beside`` writes the text after the bar, not in it."""

    start_ms: int
    end_ms: int
    state: State
    text: str
    is_beside: bool = False


@dataclass(frozen=True, slots=True)
class LifeDot:
    """A record, with its text beside it."""

    at_ms: int
    state: State
    text: str


@dataclass(frozen=True, slots=True)
class LifeLane:
    """One line: name, two small lines beside it, bars and dots. ``key`` is what `LifeLinePicture.lane_chosen` carries."""

    name: str
    place: str
    offset: str
    state: State
    bars: tuple[LifeBar, ...] = ()
    dots: tuple[LifeDot, ...] = ()
    key: int = -1

    def with_dot(self, dot: LifeDot) -> LifeLane:
        return replace(self, dots=(*self.dots, dot))

    @property
    def moments(self) -> list[int]:
        return [dot.at_ms for dot in self.dots] + [at for bar in self.bars for at in (bar.start_ms, bar.end_ms)]


class TimeScale:
    """Places of moments (ms), as shares of the width from 0 to 1; ``compressed``: long intervals are folded."""

    def __init__(self, moments: Sequence[int], *, compressed: bool) -> None:
        self.moments = sorted(set(moments)) or [0]
        gaps = [after - before for before, after in zip(self.moments, self.moments[1:], strict=False)]
        widths = [STRETCH_BASE + math.log10(1 + gap) if compressed else float(gap) for gap in gaps]
        total = sum(widths) or 1.0
        self._places = [0.0]
        for width in widths:
            self._places.append(self._places[-1] + width / total)
        self.folds = tuple(
            (self._places[number] + self._places[number + 1]) / 2
            for number, gap in enumerate(gaps)
            if compressed and gap >= FOLD_MS
        )

    def at(self, moment_ms: int) -> float:
        """Share of the width; a moment between two shown ones lies between them."""
        times, places = self.moments, self._places
        number = bisect_right(times, moment_ms) - 1
        if number < 0:
            return 0.0
        if number >= len(times) - 1:
            return places[-1]
        part = (moment_ms - times[number]) / (times[number + 1] - times[number])
        return places[number] + part * (places[number + 1] - places[number])


class LifeLinePicture(Drawn):
    """Lanes from top to bottom, time from left to right.

    Signals:
        lane_chosen: A lane was clicked; carries its key.
    """

    lane_chosen = Signal(int)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice) -> None:
        super().__init__(theme, times=times)
        self._times = times
        self.lanes: Sequence[LifeLane] = ()
        self._compressed = True
        self._scale = TimeScale((), compressed=True)

    def set_lanes(self, lanes: Sequence[LifeLane]) -> None:
        self.lanes = lanes
        self.setMinimumHeight(HEAD + LANE * len(lanes) + 6)
        words = ("; ".join((f"{lane.name} {lane.place} {lane.offset}", *_texts(lane))) for lane in lanes)
        self.setAccessibleDescription(". ".join(words))
        self._rescale()

    def set_compressed(self, compressed: bool) -> None:
        """Fold long intervals, or show true time."""
        self._compressed = compressed
        self._rescale()

    def _rescale(self) -> None:
        self._scale = TimeScale([at for lane in self.lanes for at in lane.moments], compressed=self._compressed)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(720, HEAD + LANE * len(self.lanes) + 6)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = int((event.position().y() - HEAD) // LANE)
        if 0 <= number < len(self.lanes):
            self.lane_chosen.emit(self.lanes[number].key)

    # ---- drawing ---------------------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        if not self.lanes:
            return
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number in range(0, len(self.lanes), 2):
            ground = QRectF(0, HEAD + number * LANE, self.width(), LANE)
            painter.fillRect(ground, QColor(mix(tokens.text_3, tokens.panel, 4)))
        self._paint_axis(painter, tokens)
        self._paint_links(painter, tokens)
        for number, lane in enumerate(self.lanes):
            self._paint_lane(painter, lane, HEAD + number * LANE, tokens)
        painter.end()

    def _x(self, moment_ms: int) -> float:
        room = max(60.0, self.width() - PLOT_LEFT - PLOT_MARGIN)
        return PLOT_LEFT + self._scale.at(moment_ms) * room

    def _paint_axis(self, painter: QPainter, tokens: Tokens) -> None:
        moments = self._scale.moments
        last_right = -math.inf
        for moment in moments:
            x = self._x(moment)
            is_first = moment == moments[0]
            text = self._times.clock(moment) if is_first else _since(moment - moments[0])
            width = QFontMetricsF(text_font(Size.CAPTION)).horizontalAdvance(text)
            left = x if is_first else x - width / 2
            painter.setPen(QPen(QColor(tokens.border), 1))
            painter.drawLine(QPointF(x, HEAD - 3), QPointF(x, self.height() - 6))
            if left >= last_right + LABEL_GAP:
                paint_line(painter, text, QRectF(left, 1, width + 4, 16), text_font(Size.CAPTION), tokens.text_3)
                last_right = left + width
        room = max(60.0, self.width() - PLOT_LEFT - PLOT_MARGIN)
        painter.setPen(QPen(QColor(tokens.text_3), 1.2))
        for share in self._scale.folds:
            middle = PLOT_LEFT + share * room
            for x in (middle - 2, middle + 2):
                painter.drawLine(QPointF(x - 2, HEAD - 11), QPointF(x, HEAD - 8))
                painter.drawLine(QPointF(x, HEAD - 8), QPointF(x - 2, HEAD - 5))

    def _paint_links(self, painter: QPainter, tokens: Tokens) -> None:
        """Lines from the end of a lane to the start of the next one, where they are in that order."""
        for number, (lane, after) in enumerate(zip(self.lanes, self.lanes[1:], strict=False)):
            if not lane.moments or not after.moments:
                continue
            x, top = self._x(min(after.moments)), HEAD + number * LANE + LANE / 2
            painter.setPen(QPen(QColor(tokens.state(after.state)), 1.2, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(x, top + BAR / 2), QPointF(x, top + LANE - DOT / 2))

    def _paint_lane(self, painter: QPainter, lane: LifeLane, top: float, tokens: Tokens) -> None:
        middle = top + LANE / 2
        colour = QColor(tokens.state(lane.state))
        painter.fillRect(QRectF(13, top + 7, 3, LANE - 14), colour)
        name = QRectF(NAME_LEFT, top, PLACE_LEFT - NAME_LEFT - 6, LANE)
        paint_line(painter, lane.name, name, text_font(Size.SECONDARY, QFont.Weight.DemiBold), tokens.text_1)
        place = QRectF(PLACE_LEFT, top + 2, PLOT_LEFT - PLACE_LEFT - 14, 15)
        paint_line(painter, lane.place, place, mono_font(Size.CAPTION), tokens.text_2)
        paint_line(painter, lane.offset, place.translated(0, 14), text_font(Size.CAPTION), tokens.text_3)
        for bar in lane.bars:
            self._paint_bar(painter, bar, middle, tokens)
        words: list[tuple[float, str, State]] = []
        for dot in lane.dots:
            x = self._x(dot.at_ms)
            painter.setPen(QPen(QColor(tokens.panel), 1.5))
            painter.setBrush(QColor(tokens.state(dot.state)))
            painter.drawEllipse(QRectF(x - DOT / 2, middle - DOT / 2, DOT, DOT))
            if dot.text:
                words.append((x, dot.text, dot.state))
        if words:
            # The last record of a lane shows its text: it is the current state of the message.
            x, text, state = words[-1]
            right = max((self._x(bar.end_ms) for bar in lane.bars), default=x)
            mark = QRectF(x - DOT, middle, max(right - x, 0.0) + 2 * DOT, 0)
            self._paint_beside(painter, text, mark, tokens.state(state))

    def _paint_bar(self, painter: QPainter, bar: LifeBar, middle: float, tokens: Tokens) -> None:
        left, right = self._x(bar.start_ms), self._x(bar.end_ms)
        box = QRectF(left, middle - BAR / 2, max(3.0, right - left), BAR)
        colour = tokens.state(bar.state)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour if bar.is_beside else mix(colour, tokens.panel, 36)))
        painter.drawRoundedRect(box, 2, 2)
        if bar.is_beside:
            self._paint_beside(painter, bar.text, box.adjusted(-6, 0, 6, 0), colour)
        else:
            inside = box.adjusted(DOT / 2 + 4, 0, -4, 0)
            if inside.width() > 24:
                paint_line(painter, bar.text, inside, text_font(Size.CAPTION), tokens.text_1)

    def _paint_beside(self, painter: QPainter, text: str, mark: QRectF, colour: str) -> None:
        """Draw a text after a mark, or before it where it would be cut."""
        left, right, middle = mark.left(), mark.right(), mark.center().y()
        width = QFontMetricsF(text_font(Size.CAPTION)).horizontalAdvance(text)
        if right + width + 8 > self.width() and left - width > PLOT_LEFT:
            box = QRectF(left - width - 2, middle - 8, width + 2, 16)
        else:
            box = QRectF(right, middle - 8, self.width() - right - 4, 16)
        paint_line(painter, text, box, text_font(Size.CAPTION), colour)


def _since(milliseconds: int) -> str:
    """Time since the first moment, with tenths of a second below ten minutes."""
    if milliseconds < 1_000:
        return f"+{milliseconds} ms"
    return f"+{milliseconds / 1_000:.1f} s" if milliseconds < 600_000 else f"+{duration_text(milliseconds)}"


def _texts(lane: LifeLane) -> list[str]:
    return [bar.text for bar in lane.bars if bar.text] + [dot.text for dot in lane.dots if dot.text]
