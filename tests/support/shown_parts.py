"""Parts of pages as users find them: by what stands there."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from gui.widgets.chip import Chip
from gui.widgets.inputs import SearchField, SegmentedControl


def segments_of(control: SegmentedControl) -> list[QPushButton]:
    """The buttons of a choice, in their order."""
    return control.findChildren(QPushButton)


def segment(control: SegmentedControl, text: str) -> QPushButton:
    """The button of a choice whose text begins so."""
    [found] = [button for button in segments_of(control) if button.text().startswith(text)]
    return found


def chips_of(header: QWidget) -> list[str]:
    """Texts of the chips beside the title of a page."""
    return [chip.text for chip in header.findChildren(Chip) if not chip.isHidden()]


def words_of(part: QWidget) -> str:
    """What its labels say."""
    return "\n".join(one.text() for one in part.findChildren(QLabel) if not one.isHidden())


def buttons_of(part: QWidget) -> list[QPushButton]:
    """Its buttons that are not hidden."""
    return [one for one in part.findChildren(QPushButton) if not one.isHidden()]


def search_for(field: SearchField, text: str) -> None:
    """Enter a text and press Enter, so that nothing is waited for."""
    field.setText(text)
    QTest.keyClick(field, Qt.Key.Key_Return)
