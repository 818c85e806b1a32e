"""How large everything is drawn, kept for the next start: Qt takes the factor before its application object is made."""

from __future__ import annotations

import os

from PySide6.QtCore import QSettings

SCALE_KEY = "scale_percent"
SCALES = (100, 110, 125, 150, 175, 200)
_VARIABLE = "QT_SCALE_FACTOR"


def saved_scale(settings: QSettings) -> int:
    """Percent; 100 where nothing usable is kept."""
    text = str(settings.value(SCALE_KEY, "100"))
    return int(text) if text.isdecimal() and int(text) in SCALES else 100


def apply_scale(settings: QSettings) -> None:
    """Take the kept scale, unless the environment says another one. Before the application object is made."""
    scale = saved_scale(settings)
    if scale != 100:
        os.environ.setdefault(_VARIABLE, f"{scale / 100:g}")
