"""Dialogs and menus that delete themselves when they are closed, and Qt's questions with plain texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QDialog, QFileDialog, QInputDialog, QLabel, QMenu, QMessageBox, QWidget

from gui.words.plain_text import label_text, title_text
from gui.words.text import tr

D = TypeVar("D", bound=QDialog)


def opened(dialog: D) -> D:
    """Open a dialog, which is deleted when it is closed."""
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
    return dialog


def ask_to_save(
    parent: QWidget, title: str, name: str, save: Callable[[Path], object], kinds: Sequence[str] = ()
) -> QFileDialog:
    """Ask for the file to write; it gets the suffix of the proposed name where its own has none.

    ``kinds`` are kinds of files to choose from, as in Qt: ``JSON (*.json)``.
    """
    dialog = QFileDialog(parent, title)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    if kinds:
        dialog.setNameFilters(kinds)
    dialog.setDefaultSuffix(Path(name).suffix[1:])
    dialog.selectFile(name)
    dialog.fileSelected.connect(lambda chosen: save(Path(chosen)))
    return opened(dialog)


def ask_file(
    parent: QWidget, title: str, chosen: Callable[[str], object], *, start: str = "", kinds: Sequence[str] = ()
) -> QFileDialog:
    """Ask for a file that exists; ``start`` is the first folder or file, ``kinds`` as in `ask_to_save`."""
    dialog = QFileDialog(parent, title, start)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    if kinds:
        dialog.setNameFilters(kinds)
    dialog.fileSelected.connect(chosen)
    return opened(dialog)


def ask_folder(parent: QWidget, title: str, chosen: Callable[[str], object], start: str = "") -> QFileDialog:
    """Ask for a folder; ``start`` is the first one."""
    dialog = QFileDialog(parent, title, start)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    dialog.fileSelected.connect(chosen)
    return opened(dialog)


def new_menu(parent: QWidget) -> QMenu:
    """An empty menu, which is deleted when it is closed."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return menu


def popup_below(menu: QMenu, button: QWidget, gap: int = 0) -> None:
    """Open a menu below a button, ``gap`` px away."""
    menu.popup(button.mapToGlobal(QPoint(0, button.height() + gap)))


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
