"""Values of the settings file, and the names under which more than one room keeps them."""

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
    """A whole number from the settings file, or the default where it is missing or none."""
    text = str(settings.value(key, default))
    number = whole_of(text.removeprefix("-"))
    return default if number is None else -number if text.startswith("-") else number


def text_list(settings: QSettings, key: str) -> list[str]:
    """A list of texts from the settings file; Qt gives a list of one back as the one."""
    value = settings.value(key, [])
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, list) else []


def is_on(settings: QSettings, key: str, *, default: bool) -> bool:
    """A switch from the settings file."""
    return str(settings.value(key, default)).lower() == "true"
