"""Values of the settings file, and keys shared by several packages."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSettings

from broker_core.outside import read_json, whole_of

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


def listed(text: str) -> list[Any]:
    """The items of a stored JSON list; none where the text is no such list."""
    found = _json(text)
    return found if isinstance(found, list) else []


def named(text: str) -> dict[str, Any]:
    """The items of a stored JSON object by name; none where the text is no such object."""
    found = _json(text)
    return found if isinstance(found, dict) else {}


def _json(text: str) -> object:
    try:
        return read_json(text)
    except ValueError:
        return None


def is_on(settings: QSettings, key: str, *, default: bool) -> bool:
    return str(settings.value(key, default)).lower() == "true"
