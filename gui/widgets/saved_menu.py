"""Menus of named items: choose, forget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtWidgets import QMenu

from gui.words.plain_text import button_text, tip_text
from gui.words.text import tr

CHARACTERS_MAX = 90


def menu_text(text: str, most: int = CHARACTERS_MAX) -> str:
    """A text for a menu, cut at its end."""
    return button_text(text if len(text) <= most else text[: most - 1] + "…")


def menu_name(name: str, most: int = CHARACTERS_MAX) -> str:
    """A name of a topic, group or client for a menu or a button, cut in its middle because such names differ at their ends."""
    if len(name) > most:
        half = (most - 1) // 2
        name = f"{name[:half]}…{name[-half:]}"
    return button_text(name)


def add_saved(menu: QMenu, saved: Mapping[str, str], choose: Callable[[str], None], forget: Callable[[str], None]) -> None:
    """Add named items (name → tip) to a menu, and a submenu to forget them."""
    menu.addSeparator()
    for name, tip in saved.items():
        menu.addAction(menu_text(name), partial(choose, name)).setToolTip(tip_text(tip))
    if saved:
        dropped = menu.addMenu(tr("Forget"))
        for name in saved:
            dropped.addAction(menu_text(name), partial(forget, name))
