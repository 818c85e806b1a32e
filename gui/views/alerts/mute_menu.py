"""The lengths of a mute, as menu entries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QMenu

from gui.words.text import tr
from monitoring.alert_rules import FOREVER

HOUR_MS = 3_600_000
MUTE_TIMES = ((HOUR_MS, "Mute for 1 hour"), (8 * HOUR_MS, "Mute for 8 hours"), (24 * HOUR_MS, "Mute for a day"))


def add_mute_times(menu: QMenu, mute: Callable[[int], None], *, is_muted: bool | None = None) -> None:
    """Add an action for each length; ``mute`` gets ms, `FOREVER`, or 0 to unmute."""
    for length_ms, name in MUTE_TIMES:
        menu.addAction(tr(name), partial(mute, length_ms))
    menu.addAction(tr("Mute until I unmute it"), partial(mute, FOREVER))
    if is_muted is not None:
        menu.addAction(tr("Unmute"), partial(mute, 0)).setEnabled(is_muted)
