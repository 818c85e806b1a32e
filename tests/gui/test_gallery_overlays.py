"""What the gallery opens over a page for a picture."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu, QWidget

from gui.gallery.overlays import OPENED_MAX, opened_for_a_picture
from gui.widgets.popups import new_menu


def menu_of(around: QWidget) -> QMenu:
    menu = new_menu(around)
    menu.addAction("A task")
    menu.popup(around.mapToGlobal(around.rect().center()))
    return menu


def test_a_menu_that_a_late_event_closes_is_opened_again(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    opened: list[QMenu] = []

    def settle() -> None:
        if len(opened) == 1:
            opened[0].close()
        qtbot.wait(20)  # a menu is deleted in the turn after

    def open_it() -> QMenu:
        opened.append(menu_of(window))
        return opened[-1]

    shown = opened_for_a_picture(open_it, settle)
    assert shown is opened[1]
    assert not shown.grab().isNull()
    shown.close()


def test_what_does_not_stay_is_given_up(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    opened: list[QMenu] = []

    def open_it() -> QMenu:
        opened.append(menu_of(window))
        return opened[-1]

    assert opened_for_a_picture(open_it, lambda: (opened[-1].close(), qtbot.wait(20))) is None
    assert len(opened) == OPENED_MAX
    assert opened_for_a_picture(lambda: None, lambda: None) is None
