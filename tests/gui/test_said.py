"""Texts that follow the language, of widgets that are deleted meanwhile."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QLabel, QWidget
from shiboken6 import delete

from gui.widgets.said import on_language, write_texts


class Part(QWidget):
    """A part that is written after its owner's other parts, because inner parts come first; it may delete another."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.doomed: Part | None = None
        self.name = QLabel(parent=self)
        self.written = 0
        on_language(self, self.write)

    def write(self) -> None:
        self.name.setText("written")
        self.written += 1
        if self.doomed is not None:
            delete(self.doomed)
            self.doomed = None


class Page(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.late_texts = []


def test_a_part_that_another_part_deletes_is_not_written(qtbot):
    page = Page()
    qtbot.addWidget(page)
    first, second = Part(page), Part(page)
    for part in (first, second):
        QCoreApplication.sendEvent(part.children()[-1], QEvent(QEvent.Type.LanguageChange))
    assert len(page.late_texts) == 2
    second.doomed = first
    write_texts(page.late_texts)
    assert (first.written, second.written) == (1, 2)


def test_a_part_that_was_deleted_before_the_page_is_written_is_left_out(qtbot):
    page = Page()
    qtbot.addWidget(page)
    part = Part(page)
    QCoreApplication.sendEvent(part.children()[-1], QEvent(QEvent.Type.LanguageChange))
    texts = page.late_texts
    delete(part)
    write_texts(texts)
    assert part.written == 1
