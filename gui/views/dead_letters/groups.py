"""`GroupsPanel`: the groups with dead letters or retries, one of them selected; `CutsButton`: the menu of saved cuts."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QInputDialog, QLineEdit, QMenu, QSizePolicy

from gui.models.table import ColumnTableModel
from gui.operations.filter_memory import SAVED_MAX, Cut, SavedCuts
from gui.theme.manager import ThemeManager
from gui.views.dead_letters.columns import DeadLetterGroup, group_columns
from gui.views.dead_letters.notebook import NoteBook
from gui.views.dead_letters.origins import OriginReader
from gui.views.dead_letters.reader import DeadLetterReader
from gui.widgets.basic import IconButton
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import TERM, Panel
from gui.widgets.popups import ask_name, new_menu
from gui.widgets.said import said
from gui.widgets.saved_menu import add_saved
from gui.words.plain_text import tip_text
from gui.words.text import tr
from monitoring.dead_letters import GroupFigures

ROWS_FITTED = 5
"""Groups listed before their table scrolls."""
NOTE_WIDTH = 360


class GroupsPanel(Panel):
    """On top of the page, the group with most dead letters first."""

    def __init__(
        self,
        theme: ThemeManager,
        reader: DeadLetterReader,
        origins: OriginReader,
        *,
        notes: NoteBook,
        now_ms: Callable[[], int],
    ) -> None:
        super().__init__(" ", flush=True)
        self._reader = reader
        self._notes = notes
        self._origins = origins
        self._asked = ""
        self.model = ColumnTableModel(group_columns(now_ms), lambda one: one.figures.group, parent=self)
        self.grid = DataGrid(self.model, theme)
        self.note = QLineEdit()
        self.note.setMinimumWidth(NOTE_WIDTH)
        self.note.setProperty(TERM, "Note on the group")
        self._noted = self._shown_text = ""
        """The group whose note is in the field, and that note."""
        self.add_action(self.note)
        self.content.addWidget(self.grid)
        self.grid.fit_rows(ROWS_FITTED)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.note.editingFinished.connect(self._write_note)
        self.grid.selected.connect(lambda _group: self.show_note())
        self.grid.sort_by("dead", descending=True)
        said(self, title="Groups", subtitle="with dead letters or retries")

    @property
    def figures(self) -> GroupFigures | None:
        chosen = self.grid.selected_row
        return None if chosen is None else chosen.figures

    @property
    def group(self) -> str:
        """The selected group; empty for none."""
        figures = self.figures
        return "" if figures is None else figures.group

    def ask_for(self, group: str) -> None:
        """List a group also without dead letters and retries, from the next `show_groups` on."""
        self._asked = group

    def show_note(self) -> None:
        """Show the note on the selected group; a note being edited is first stored for its own group."""
        group = self.group
        if group != self._noted:
            self._write_note()
            self._noted = group
            self._show_text()
        elif not self.note.hasFocus():
            self._show_text()
        refusal = self._notes.refusal
        self.note.setEnabled(bool(group) and not refusal)
        words = tr("A note on all of {group}, kept on this computer", group=group) if group else tr("No group is selected.")
        self.note.setPlaceholderText(refusal or words)
        self.note.setToolTip(tip_text(refusal))
        self.note.setAccessibleName(words)

    def _write_note(self) -> None:
        text = self.note.text().strip()
        if self._noted and text != self._shown_text:
            self._shown_text = text
            self._notes.write_group(self._noted, text)

    def _show_text(self) -> None:
        self._shown_text = self._notes.of_group(self._noted)
        self.note.setText(self._shown_text)

    def show_groups(self, figures: list[GroupFigures]) -> None:
        """Show the groups that have dead letters or retries."""
        self.model.set_rows(self._row(one) for one in figures if one.group == self._asked or self._reader.may_have_any(one))
        self.grid.set_empty(tr("No group has dead letters or retries. That is good."))
        self.show_note()

    def _row(self, figures: GroupFigures) -> DeadLetterGroup:
        reader, group = self._reader, figures.group
        return DeadLetterGroup(
            figures=figures,
            recent=reader.recent.get(group, -1) if figures.dead else 0,
            oldest_ms=reader.oldest_ms.get(group, -1) if figures.dead else -1,
            waiting=-1 if reader.retries is None else reader.waiting[group],
            is_cut=reader.retries_are_partial,
            origins=tuple(self._origins.of(group)),
            first_due_ms=reader.first_due_ms.get(group, -1),
            note=self._notes.of_group(group),
        )


class CutsButton(IconButton):
    """Opens the menu of the saved cuts, each a group and words of the search under a name.

    Signals:
        chosen: A cut was chosen; carries it.
        refused: A cut was not saved; carries the reason.
    """

    chosen = Signal(object)
    refused = Signal(str)

    def __init__(self, theme: ThemeManager, settings: QSettings, current: Callable[[], Cut]) -> None:
        """Create it; ``current`` returns the shown cut."""
        super().__init__(theme, "tag", " ", on_click=self.open_menu, caret=True)
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
