"""Values of the settings file, and keys shared by several packages."""

from __future__ import annotations

from PySide6.QtCore import QSettings

from monitoring.outside import whole_of

DENSITY_KEY = "density"
SCALE_KEY = "scale_percent"
SCALES_PERCENT = (100, 125, 150, 175, 200)
SYSTEM_NOTICES_KEY = "notices/system"
"""Whether the desktop shows warnings too."""
STAY_KEY = "tray/stay"
"""Whether closing the window leaves Orbit in the tray."""


def whole_number(settings: QSettings, key: str, default: int) -> int:
    """A whole number of the settings, or the default where it is missing or invalid."""
    text = str(settings.value(key, default))
    number = whole_of(text.removeprefix("-"))
    return default if number is None else -number if text.startswith("-") else number


def text_list(settings: QSettings, key: str) -> list[str]:
    """A list of texts of the settings; Qt returns a list of one as a text."""
    value = settings.value(key, [])
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, list) else []


def is_on(settings: QSettings, key: str, *, default: bool) -> bool:
    return str(settings.value(key, default)).lower() == "true"
