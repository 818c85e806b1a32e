"""Parts of pages as users find them: by what stands there."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from gui.plots.chart_parts import ChartNote
from gui.plots.time_chart import TimeChart
from gui.widgets.chip import Chip, Dot
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


def button_with(part: QWidget, text: str) -> QPushButton:
    """Its button with this text."""
    [found] = [button for button in buttons_of(part) if button.text() == text]
    return found


def colour_of_dot(part: QWidget) -> QColor:
    """The colour that the state dot of a part is painted in."""
    dot = part.findChild(Dot)
    assert isinstance(dot, Dot)
    return dot.grab().toImage().pixelColor(QPoint(dot.width() // 2, dot.height() // 2))


def elapse(part: QObject) -> None:
    """Let the timers that a part itself runs elapse."""
    for timer in part.findChildren(QTimer, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if timer.isActive():
            timer.timeout.emit()


def search_for(field: SearchField, text: str) -> None:
    """Enter a text and press Enter, so that nothing is waited for."""
    field.setText(text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def marks_of(chart: TimeChart) -> list[Any]:
    """The lines of the marks of a chart, by time."""
    lines = [item for item in chart.plot.items() if isinstance(item, pg.InfiniteLine) and item.angle == 90]
    return sorted(lines, key=lambda line: float(line.value()))


def threshold_of(chart: TimeChart) -> Any:
    """The line of the threshold of a chart."""
    [found] = [item for item in chart.plot.items() if isinstance(item, pg.InfiniteLine) and item.angle == 0]
    return found


def note_of(chart: TimeChart) -> ChartNote:
    """What a chart says over its lines."""
    found = chart.plot.findChild(ChartNote)
    assert isinstance(found, ChartNote)
    return found
