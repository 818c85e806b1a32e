"""What stands where there is nothing: a sentence, and what else there is to say and to do."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton

from gui.widgets.notice import Placeholder


def shown(place: Placeholder, kind: type) -> list[str]:
    """Texts that are seen, from above and from the left."""
    seen = [one for one in place.findChildren(kind) if one.isVisible() and one.text()]
    return [one.text() for one in sorted(seen, key=lambda one: (one.y(), one.x()))]


def test_an_error_says_why_and_what_can_be_done_and_goes_without_a_trace(qtbot, theme):
    place, retried = Placeholder(theme), []
    qtbot.addWidget(place)
    place.resize(600, 400)
    place.show_empty("Nothing yet.")
    place.show()
    assert (shown(place, QLabel), shown(place, QPushButton)) == (["Nothing yet."], [])
    place.show_error("It was not read.", "the disk is full", "Retry", lambda: retried.append(1))
    qtbot.waitUntil(lambda: shown(place, QLabel) == ["It was not read.", "the disk is full"])
    assert shown(place, QPushButton) == ["Retry", "Copy details"]
    (glyph,) = [one for one in place.findChildren(QLabel) if not one.pixmap().isNull()]
    assert glyph.isVisible()
    assert glyph.y() < place.height() // 2
    for button in place.findChildren(QPushButton):
        button.click()
    assert (retried, QGuiApplication.clipboard().text()) == ([1], "It was not read.\nthe disk is full")
    place.show_empty("Nothing yet.")
    assert (shown(place, QLabel), shown(place, QPushButton), glyph.isVisible()) == (["Nothing yet."], [], False)
