"""Lanes and pips: pending messages before their due time, and steps taken of those allowed. Painted, no widgets."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from gui.models.table import Move, WaitingLane
from gui.theme.tokens import State, Tokens, mix

DOT_PX = 3.0
EDGE_PX = 2.0
DENSITY_PERCENT_MIN = 10.0
PIP_PX = 6.0
PIP_GAP_PX = 2.0
_SCATTER = (0.18, 0.62, 0.38, 0.82, 0.5, 0.27, 0.73, 0.1, 0.55, 0.9)
"""Heights of successive dots, so that neighbours do not overlap."""


def paint_lane(painter: QPainter, box: QRectF, lane: WaitingLane, state: State, tokens: Tokens) -> None:
    """Paint a lane; its left end, where messages are due, is marked."""
    painter.save()
    painter.fillRect(box, QColor(tokens.inset))
    colour = tokens.state(state)
    for part in (0.25, 0.5, 0.75):
        painter.fillRect(QRectF(box.left() + box.width() * part, box.top(), 1, box.height()), QColor(tokens.border))
    way = box.adjusted(EDGE_PX + 2, 0, -DOT_PX, 0)
    if lane.density:
        _paint_density(painter, way, lane.density, colour, tokens)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    room = way.height() - DOT_PX
    for number, at in enumerate(lane.dots):
        height = _SCATTER[number % len(_SCATTER)]
        painter.drawEllipse(QRectF(way.left() + at * way.width(), way.top() + height * room, DOT_PX, DOT_PX))
    painter.fillRect(QRectF(box.left(), box.top(), EDGE_PX, box.height()), QColor(tokens.healthy))
    painter.restore()


def _paint_density(painter: QPainter, way: QRectF, density: tuple[float, ...], colour: str, tokens: Tokens) -> None:
    top = max(density)
    if top <= 0:
        return
    width = way.width() / len(density)
    for number, count in enumerate(density):
        if count > 0:
            percent = DENSITY_PERCENT_MIN + (100 - DENSITY_PERCENT_MIN) * count / top
            part = QRectF(way.left() + number * width, way.top(), width + 0.5, way.height())
            painter.fillRect(part, QColor(mix(colour, tokens.inset, percent)))


def paint_pips(painter: QPainter, box: QRectF, pips: tuple[int, int], state: State, tokens: Tokens) -> None:
    """Paint ``pips`` (steps, most) as boxes, the first ones filled; narrower where there is no room for all."""
    steps, most = pips
    if most <= 0:
        return
    painter.save()
    width = min(PIP_PX, max(1.0, box.width() / most - PIP_GAP_PX))
    gap = PIP_GAP_PX if width > 2 else 1.0
    empty = QColor(mix(tokens.text_3, tokens.panel, 18))
    for number in range(min(most, int(box.width() // (width + gap)))):
        left = box.left() + number * (width + gap)
        painter.fillRect(QRectF(left, box.center().y() - 4, width, 8), QColor(tokens.state(state)) if number < steps else empty)
    painter.restore()


MOVE_BAR_PX = 8.0
MOVE_TICK_PX = 12.0
MOVE_DOT_PX = 8.0


def paint_move(painter: QPainter, box: QRectF, move: Move, tokens: Tokens) -> None:
    """Paint a line with a tick at the current place, a dot at the target, and the range between them.

    A move back has the colour of repeats, a move forward that of a loss.
    """
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    line = box.adjusted(MOVE_DOT_PX / 2, 0, -MOVE_DOT_PX / 2, 0)
    middle = box.center().y() + 0.5
    painter.setPen(Qt.PenStyle.NoPen)
    painter.fillRect(QRectF(line.left(), middle - 1, line.width(), 2), QColor(tokens.border_strong))
    now, after = (line.left() + share * line.width() for share in (move.now, move.after))
    if not math.isnan(now) and not math.isnan(after) and now != after:
        colour = tokens.retry if after < now else tokens.critical
        passed = QRectF(min(now, after), middle - MOVE_BAR_PX / 2, abs(after - now), MOVE_BAR_PX)
        painter.fillRect(passed, QColor(mix(colour, tokens.panel, 45)))
    if not math.isnan(now):
        painter.fillRect(QRectF(now - 1, middle - MOVE_TICK_PX / 2, 2, MOVE_TICK_PX), QColor(tokens.text_1))
    if not math.isnan(after):
        painter.setBrush(QColor(tokens.accent))
        painter.drawEllipse(QRectF(after - MOVE_DOT_PX / 2, middle - MOVE_DOT_PX / 2, MOVE_DOT_PX, MOVE_DOT_PX))
    painter.restore()
