"""A moment that a person enters, with the reason where it cannot be used."""

from __future__ import annotations

from datetime import tzinfo

from broker_core.api import UnclearTimeError
from gui.models.messages import parse_time
from gui.words.error_words import error_text


def entered_time(text: str, now_ms: int, zone: tzinfo | None) -> tuple[int | None, str]:
    """The moment of `parse_time` in ms since the epoch; else None, with the reason where a local time comes twice, or never."""
    try:
        return parse_time(text, now_ms, zone), ""
    except UnclearTimeError as error:
        return None, error_text(error)
