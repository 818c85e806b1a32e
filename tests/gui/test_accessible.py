"""Every control that takes the focus says what it is to a screen reader, in both languages."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QComboBox, QLineEdit, QWidget

from gui.views.registry import PAGES
from tests.gui.test_robustness import window  # noqa: F401  the window of all real pages over a fake broker

CONTROLS = (QAbstractButton, QLineEdit, QComboBox, QAbstractItemView)


def unnamed(root: QWidget) -> list[str]:
    """Controls without a name: shown ones that take the focus by Tab."""
    found = []
    for widget in root.findChildren(QWidget):
        tab_stop = widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
        if isinstance(widget, CONTROLS) and tab_stop and not _name(widget):
            found.append(f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}")
    return found


def _name(widget: QWidget) -> str:
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    hint = widget.placeholderText() if isinstance(widget, QLineEdit) else ""
    return (widget.accessibleName() or text or hint or widget.toolTip()).strip()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_controls_of_all_pages_have_names(window, qapp, language):  # noqa: F811  the fixture
    window._services.set_language(language)
    missing: dict[str, list[str]] = {}
    for entry in PAGES:
        window.navigate(entry.page_id)
        qapp.processEvents()
        missing[entry.page_id] = unnamed(window)
    window._services.set_language("en")
    assert {page: names for page, names in missing.items() if names} == {}


def test_a_control_without_a_name_would_be_found(qtbot):
    root = QWidget()
    field = QLineEdit(root)
    qtbot.addWidget(root)
    root.show()
    assert unnamed(root) == ["QLineEdit in QWidget"]
    field.setAccessibleName("Topic")
    assert unnamed(root) == []
