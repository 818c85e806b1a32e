from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontInfo
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from gui.theme.fonts import mono_font, text_font
from gui.theme.manager import ThemeMode
from gui.theme.style import FOCUS_PROPERTY, FocusMarker, set_role, style_sheet
from gui.theme.tokens import DARK, LIGHT
from resources import RESOURCE_FOLDER


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=["dark", "light"])
def test_the_style_sheet_has_no_open_names(tokens):
    assert "@" not in style_sheet(tokens)


def test_no_colour_is_written_in_the_template():
    template = (RESOURCE_FOLDER / "themes" / "orbit.qss").read_text(encoding="utf-8")
    assert re.findall(r"#[0-9A-Fa-f]{3,8}\b", template) == []


def test_a_change_is_told_once(theme, qtbot):
    told = []
    theme.changed.connect(told.append)
    theme.set_mode(ThemeMode.LIGHT)
    theme.set_mode(ThemeMode.LIGHT)
    assert told == [LIGHT]


def test_the_system_decides_when_asked_to(theme, qapp):
    theme.set_mode(ThemeMode.SYSTEM)
    light = qapp.styleHints().colorScheme() == Qt.ColorScheme.Light
    assert theme.tokens is (LIGHT if light else DARK)


def test_bundled_fonts_are_used_with_tabular_figures(theme):
    assert QFontInfo(mono_font()).family() == "JetBrains Mono"
    metrics_widths = {QLabel().fontMetrics().horizontalAdvance(digit) for digit in "0123456789"}
    assert len(metrics_widths) == 1
    assert text_font(13).pixelSize() == 13


def test_only_keyboard_focus_gets_a_ring(theme, qapp, qtbot):
    marker = FocusMarker(qapp)
    widget, one, other = QWidget(), QPushButton("one"), QPushButton("other")
    lines = QVBoxLayout(widget)
    lines.addWidget(one)
    lines.addWidget(other)
    qtbot.addWidget(widget)
    with qtbot.waitActive(widget):
        widget.show()
        widget.activateWindow()
    one.setFocus(Qt.FocusReason.TabFocusReason)
    assert one.property(FOCUS_PROPERTY)
    qtbot.mouseClick(other, Qt.MouseButton.LeftButton)
    assert other.hasFocus()
    assert not other.property(FOCUS_PROPERTY)
    assert not one.property(FOCUS_PROPERTY)
    marker.deleteLater()


def test_a_widget_that_dies_with_the_focus_does_no_harm(theme, qapp, qtbot):
    marker = FocusMarker(qapp)
    window, button = QWidget(), QPushButton("soon gone")
    QVBoxLayout(window).addWidget(button)
    qtbot.addWidget(window)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    button.setFocus(Qt.FocusReason.TabFocusReason)
    with qtbot.waitSignal(button.destroyed):
        button.deleteLater()
    marker.deleteLater()


def test_a_role_changes_the_look(theme, qtbot):
    page = QWidget()
    shown = QLabel("critical", page)
    qtbot.addWidget(page)
    theme.dress(page)
    page.show()
    assert shown.palette().windowText().color().name().upper() != DARK.critical
    set_role(shown, "critical")
    assert shown.palette().windowText().color().name().upper() == DARK.critical
