"""Round values and times of axes, and such axes painted by hand, without pyqtgraph."""

from __future__ import annotations

import math
from datetime import datetime

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter

from gui.theme.fonts import text_font
from gui.theme.tokens import Size, Tokens
from gui.words.text import TimeZoneChoice, short_count_text

AXIS_WIDTH = 40
"""Of the values of a painted axis, px."""
AXIS_HEIGHT = 18
"""Of the texts below a box, px."""
TIMES_MAX = 6
TIME_WIDTH = 90
"""Least distance of round times, px."""
_TIMES_MIN = 2.5
"""Steps in a span, so that at least one round time is in it: neighbours of `_STEPS_S` differ by this factor at most."""
TIME_GAP = 8
"""Least space between the texts of two times, px."""
_SLACK = 1e-3
"""Of a step: times of today are exact to a quarter of a microsecond."""
_HOUR_S = 3_600
"""Clock changes move round times from this step on: they are of half an hour, an hour or a day."""
_STEPS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900, 1800,
            3600, 7200, 10800, 21600, 43200, *(days * 86400 for days in (1, 2, 4, 7, 14, 30, 61)))  # fmt: skip


def round_step(least: float, base: int = 10) -> float:
    """The smallest round tick distance that is at least ``least``: 1, 2, 2.5 or 5 times a power of ten.

    With ``base`` 1024 the powers are those of 1,024, times 1 to 512 in doublings.
    """
    if least <= 0 or not math.isfinite(least):
        return 1.0
    if base == 1024:
        power = 1024.0 ** math.floor(math.log(max(least, 1.0), 1024))
        return next((power * 2**i for i in range(11) if power * 2**i >= least), power * 1024)
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= least * (1 - 1e-9))


def round_top(highest: float, least_step: float = 0.0) -> tuple[float, float]:
    """Round end of an axis that begins at 0, and the distance of its ticks."""
    step = max(round_step(highest / 2), least_step)
    return max(step * math.ceil(highest / step), step), step


def round_times(times: TimeZoneChoice, from_s: float, to_s: float, width: float) -> tuple[float, list[float]]:
    """Round times of the chosen zone within a span, as many as have room in ``width`` px, but at least one.

    Returns:
        Their distance and the times, s.
    """
    room = min(TIMES_MAX, max(width / TIME_WIDTH, _TIMES_MIN))
    step = next((one for one in _STEPS_S if (to_s - from_s) / one <= room), _STEPS_S[-1])
    shift = _zone_shift_s(times, to_s)
    first = math.ceil((from_s + shift) / step - _SLACK) * step - shift
    count = math.floor((to_s - first) / step + _SLACK) + 1
    if step < _HOUR_S or times.utc:
        return step, [first + i * step for i in range(count)]
    low, high = from_s - _SLACK * step, to_s + _SLACK * step
    moved = {_round_time(times, first + i * step, step) for i in range(-1, count + 1)}
    return step, sorted(at_s for at_s in moved if low <= at_s <= high)


def _round_time(times: TimeZoneChoice, at_s: float, step: float) -> float:
    """The time at which the local clock is round, near one that is round by the offset of another time."""
    beyond = (at_s + _zone_shift_s(times, at_s)) % step
    return at_s - (beyond if beyond < step / 2 else beyond - step)


def round_time_text(times: TimeZoneChoice, at_s: float, step_s: float) -> str:
    """A time as precise as the distance of its ticks needs; a date where a day begins among hours."""
    if step_s < 1:
        return times.clock(round(at_s * 1_000))
    moment = times.moment(at_s * 1_000)
    is_day = step_s >= 86_400 or (step_s >= 3_600 and moment.hour == 0)
    return moment.strftime("%m-%d" if is_day else "%H:%M" if step_s >= 60 else "%H:%M:%S")


def _zone_shift_s(times: TimeZoneChoice, at_s: float) -> float:
    if at_s < 0:
        return 0.0
    moment: datetime = times.moment(at_s * 1_000).astimezone(times.zone)
    offset = moment.utcoffset()
    return offset.total_seconds() if offset is not None else 0.0


def paint_time_axis(painter: QPainter, box: QRectF, span_s: tuple[float, float], times: TimeZoneChoice, colour: str) -> None:
    """Paint the round times of a span below a box, each at its place."""
    painter.setFont(text_font(Size.CAPTION))
    painter.setPen(QColor(colour))
    (from_s, to_s), metrics = span_s, QFontMetrics(painter.font())
    step, ticks = round_times(times, from_s, to_s, box.width())
    free = box.left()
    for at_s in ticks if to_s > from_s else ():
        text = round_time_text(times, at_s, step)
        wide = metrics.horizontalAdvance(text)
        left = box.left() + (at_s - from_s) / (to_s - from_s) * box.width() - wide / 2
        left = min(max(left, box.left()), box.right() - wide)
        if left < free:
            continue
        free = left + wide + TIME_GAP
        painter.drawText(QPointF(left, box.bottom() + AXIS_HEIGHT - 4), text)


def paint_value_axis(painter: QPainter, plot: QRectF, top: float, step: float, tokens: Tokens) -> None:
    """Paint the values from 0 to ``top`` at each ``step`` left of a box, and their lines across it."""
    pixels, value = painter.font().pixelSize(), 0.0
    while value <= top + step / 2:
        y = plot.bottom() - plot.height() * value / top
        painter.fillRect(QRectF(plot.left(), y, plot.width(), 1), QColor(tokens.border))
        painter.setPen(QColor(tokens.text_3))
        box = QRectF(0, y - pixels, AXIS_WIDTH - 8, 2 * pixels)
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, value_text(value, step))
        value += step


def value_text(value: float, step: float) -> str:
    """A value of an axis, with the digits that a step below 1 needs."""
    return f"{value:.6g}" if step < 1 else short_count_text(value)
