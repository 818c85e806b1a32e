"""Fonts: the desktop's own where its figures are suitable, else the bundled Inter; JetBrains Mono for ids and bodies.

All sizes are pixels at 100 % scale (`gui.theme.tokens.Size`). Every font has tabular figures.
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication

from broker_core.platform.programs import HAS_UI_FONT
from gui.theme.tokens import Size
from resources import RESOURCE_FOLDER

MONO_FAMILY = "JetBrains Mono"
BUNDLED_FAMILY = "Inter"
LINUX_FAMILIES = ("Inter", "Cantarell", "Noto Sans", "Ubuntu")
CHINESE_FAMILIES = ("PingFang SC", "Microsoft YaHei UI", "Noto Sans CJK SC", "WenQuanYi Micro Hei")


def load_fonts() -> None:
    """Register the bundled fonts with Qt. Once, after the application object exists."""
    for path in sorted((RESOURCE_FOLDER / "fonts").glob("*.ttf")):
        QFontDatabase.addApplicationFont(str(path))


@lru_cache(maxsize=1)
def text_families() -> tuple[str, ...]:
    """Families for text, first choice first."""
    desktop = QGuiApplication.font().family()
    if HAS_UI_FONT or desktop.startswith(LINUX_FAMILIES):
        return (desktop, BUNDLED_FAMILY, *CHINESE_FAMILIES)
    return (BUNDLED_FAMILY, *CHINESE_FAMILIES)


@lru_cache(maxsize=64)
def text_font(size: int = Size.BODY, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    return _font(text_families(), size, weight)


@lru_cache(maxsize=16)
def mono_font(size: int = Size.SECONDARY, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Font for ids, addresses, code and bodies, without ligatures."""
    made = _font((MONO_FAMILY, *CHINESE_FAMILIES), size, weight)
    made.setStyleHint(QFont.StyleHint.Monospace)
    made.setFeature(QFont.Tag("liga"), 0)
    made.setFeature(QFont.Tag("calt"), 0)
    return made


def _font(families: tuple[str, ...], size: int, weight: QFont.Weight) -> QFont:
    made = QFont(list(families))
    made.setPixelSize(size)
    made.setWeight(weight)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made
