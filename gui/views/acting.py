"""What changes something in a cluster is grey, with the reason, where nothing may be changed: before anything is filled in.

The dialogs refuse, too, and the worker behind them; this is for what opens them.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QMenu

from gui.theme.tokens import State
from gui.views.action_dialog import read_only_reason
from gui.views.page import PageContext
from gui.words.plain_text import tip_text


def set_acting(button: QAbstractButton, refusal: str, *, able: bool = True) -> None:
    """Make a button that acts usable, or grey with the reason.

    Args:
        button: The button.
        refusal: Why it cannot be done at all, as `read_only_reason` says it; empty where it can.
        able: Whether there is something to act on.
    """
    button.setEnabled(able and not refusal)
    button.setToolTip(tip_text(refusal))


def add_acting(menu: QMenu, text: str, run: Callable[[], object], refusal: str) -> QAction:
    """Add an entry that acts to a menu; it is grey with the reason where it cannot."""
    made = menu.addAction(text)
    made.triggered.connect(lambda _checked=False: run())
    if refusal:
        made.setEnabled(False)
        made.setToolTip(tip_text(refusal))
        menu.setToolTipsVisible(True)
    return made


def unless_refused(context: PageContext, run: Callable[[], object]) -> Callable[[], None]:
    """What a key or a link does that acts: it runs, or the reason is told."""

    def act() -> None:
        refusal = read_only_reason(context.source)
        if refusal:
            context.notify(refusal, state=State.WARNING)
        else:
            run()

    return act
