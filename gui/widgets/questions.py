"""Small dialogs of Qt: for a line of text, and before a loss. Their texts are plain texts."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QInputDialog, QLabel, QMessageBox, QWidget

from gui.widgets.popups import opened
from gui.words.plain_text import label_text, title_text
from gui.words.text import tr


def ask_text(parent: QWidget, title: str, text: str, proposed: str, take: Callable[[str], object]) -> QInputDialog:
    """Ask for a line of text and pass it to ``take``."""
    dialog = QInputDialog(parent)
    dialog.setWindowTitle(title_text(title))
    dialog.setLabelText(label_text(text))
    dialog.setTextValue(proposed)
    dialog.textValueSelected.connect(take)
    _open(dialog)
    return dialog


def ask_name(parent: QWidget, title: str, text: str, proposed: str, save: Callable[[str], None]) -> QInputDialog:
    """Ask for a name and pass it to ``save`` unless it is empty."""
    return ask_text(parent, title, text, proposed, lambda name: save(name.strip()) if name.strip() else None)


def ask_loss(parent: QWidget, text: str, detail: str, verb: str, go: Callable[[], object]) -> QMessageBox:
    """Ask before a loss; the button ``verb`` calls ``go``, and Enter cancels."""
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setText(label_text(text))
    box.setInformativeText(label_text(detail))
    box.addButton(verb, QMessageBox.ButtonRole.DestructiveRole).clicked.connect(go)
    box.setDefaultButton(box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole))
    _open(box)
    return box


def _open(dialog: QDialog) -> None:
    for words in dialog.findChildren(QLabel):
        words.setTextFormat(Qt.TextFormat.PlainText)
    opened(dialog)
