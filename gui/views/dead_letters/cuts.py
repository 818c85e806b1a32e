"""`CutsButton`: saved views of the dead letters: a group and words, under a name."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from gui.operations.filter_memory import SAVED_MAX, Cut, SavedCuts
from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconButton
from gui.widgets.popups import ask_name, new_menu
from gui.widgets.saved_menu import add_saved
from gui.words.text import tr


class CutsButton(IconButton):
    """Opens the menu of the cuts.

    Signals:
        chosen: A cut was chosen; carries it.
        refused: A cut was not saved; carries the reason.
    """

    chosen = Signal(object)
    refused = Signal(str)

    def __init__(
        self, theme: ThemeManager, settings: QSettings, current: Callable[[], Cut], parent: QWidget | None = None
    ) -> None:
        """Create it; ``current`` returns the shown cut."""
        super().__init__(theme, "tag", " ", on_click=self.open_menu, caret=True)
        if parent is not None:
            self.setParent(parent)
        self.cuts = SavedCuts(settings)
        self._current = current

    def open_menu(self) -> QMenu:
        menu = new_menu(self)
        save = menu.addAction(tr("Save this cut…"), self.ask_name)
        save.setEnabled(bool(self._current().group))
        saved = self.cuts.all
        add_saved(menu, {name: f"{cut.group}  {cut.words}" for name, cut in saved.items()}, self.choose, self.cuts.forget)
        if not saved:
            menu.addAction(tr("No cut is saved yet")).setEnabled(False)
        menu.popup(self.mapToGlobal(self.rect().bottomLeft()))
        return menu

    def choose(self, name: str) -> None:
        cut = self.cuts.all.get(name)
        if cut is not None:
            self.chosen.emit(cut)

    def ask_name(self) -> QInputDialog:
        cut = self._current()
        text = tr("Name of the cut; one of the same name is replaced")
        return ask_name(self, tr("Save this cut…"), text, f"{cut.group} {cut.words}".strip(), self.save)

    def save(self, name: str) -> None:
        if not self.cuts.save(name, self._current()):
            self.refused.emit(tr("There are {count} saved cuts: forget one first", count=SAVED_MAX))
