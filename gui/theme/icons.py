"""Icons: Phosphor glyphs, one path in a 256-unit square each, tinted with a colour of the theme.

Glyphs are read from ``resources/icons`` at their first use and cached as pixmaps by name, colour and size.
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from resources import RESOURCE_FOLDER

ICON_CACHE_ITEMS = 1_024


class MissingIconError(LookupError):
    """The program asks for an icon that does not ship with it."""


@lru_cache(maxsize=256)
def _svg(name: str, *, filled: bool) -> str:
    path = RESOURCE_FOLDER / "icons" / ("fill" if filled else "regular") / f"{name}.svg"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise MissingIconError(f"there is no icon “{name}” at {path}") from error


@lru_cache(maxsize=ICON_CACHE_ITEMS)
def icon_pixmap(name: str, colour: str, size: int, ratio: float = 1.0, *, filled: bool = False) -> QPixmap:
    """The glyph ``name`` in ``colour`` (``#RRGGBB``), ``size`` px wide on a screen of ``ratio`` device pixels to one."""
    return _render(_svg(name, filled=filled).replace("currentColor", colour), size, ratio)


def _render(svg: str, size: int, ratio: float) -> QPixmap:
    pixmap = QPixmap(round(size * ratio), round(size * ratio))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, pixmap.width(), pixmap.height()))
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


@lru_cache(maxsize=ICON_CACHE_ITEMS)
def icon(name: str, colour: str, size: int = 16, *, filled: bool = False, disabled: str = "", room: int = 0) -> QIcon:
    """A `QIcon` of the glyph in ``colour`` (``#RRGGBB``), ``size`` px, for the scale of each current screen.

    ``disabled`` is its colour when greyed, empty: Qt's own way; ``room`` adds empty px to the right, before a text.
    """
    made = QIcon()
    for ratio in sorted({screen.devicePixelRatio() for screen in QGuiApplication.screens()}):
        made.addPixmap(_with_room(icon_pixmap(name, colour, size, ratio, filled=filled), room))
        if disabled:
            made.addPixmap(_with_room(icon_pixmap(name, disabled, size, ratio, filled=filled), room), QIcon.Mode.Disabled)
    return made


def _with_room(glyph: QPixmap, room: int) -> QPixmap:
    if not room:
        return glyph
    ratio = glyph.devicePixelRatioF()
    wider = QPixmap(round(glyph.width() + room * ratio), glyph.height())
    wider.fill(Qt.GlobalColor.transparent)
    wider.setDevicePixelRatio(ratio)
    painter = QPainter(wider)
    painter.drawPixmap(0, 0, glyph)
    painter.end()
    return wider


@lru_cache(maxsize=16)
def logo_pixmap(size: int, ring: str, moon: str, ratio: float = 1.0) -> QPixmap:
    """The Orbit mark: a ring with its core in ``ring`` colour and a moon in ``moon`` colour."""
    svg = (RESOURCE_FOLDER / "icons" / "orbit.svg").read_text(encoding="utf-8")
    return _render(svg.replace("#6AA0FF", ring).replace("#F5924E", moon), size, ratio)


def application_icon() -> QIcon:
    """The mark of the program in the sizes of desktops."""
    made = QIcon()
    for size in (16, 32, 64, 128, 256):
        made.addPixmap(logo_pixmap(size, "#6AA0FF", "#F5924E"))
    return made
