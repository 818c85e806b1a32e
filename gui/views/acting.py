"""Controls that change a cluster are disabled, with the reason as tool tip, where nothing may be changed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QMenu

from gui.theme.tokens import State
from gui.views.action_dialog import read_only_reason
from gui.views.page import PageContext
from gui.words.plain_text import tip_text


def set_acting(button: QAbstractButton, refusal: str, *, able: bool = True) -> None:
    """Enable a button that changes the cluster, or disable it with the reason as tool tip.

    Args:
        button: The button.
        refusal: Why the action is impossible, from `read_only_reason`; empty where it is possible.
        able: Whether something is selected to act on.
    """
    button.setEnabled(able and not refusal)
    button.setToolTip(tip_text(refusal))


def add_acting(menu: QMenu, text: str, run: Callable[[], object], refusal: str) -> QAction:
    """Add an entry that changes the cluster; a refusal disables it and becomes its tool tip."""
    made = menu.addAction(text)
    made.triggered.connect(lambda _checked=False: run())
    if refusal:
        made.setEnabled(False)
        made.setToolTip(tip_text(refusal))
        menu.setToolTipsVisible(True)
    return made


def unless_refused(context: PageContext, run: Callable[[], object]) -> Callable[[], None]:
    """The handler of a key or a link: it runs the action, or reports why the action is refused."""

    def act() -> None:
        refusal = read_only_reason(context.source)
        if refusal:
            context.notify(refusal, state=State.INFO)
        else:
            run()

    return act
