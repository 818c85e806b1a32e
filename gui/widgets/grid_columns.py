"""`GridColumns`: visibility, width and order of the columns of a `DataGrid`; `ColumnPresets`: named sets of them.

In a narrow table, columns that give way are hidden. On a page that is a `ColumnMemory` the choice of the user is kept: the menu
of the header hides and shows columns and stores sets of them; borders and headings can be dragged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from PySide6.QtCore import QObject, QPoint
from PySide6.QtWidgets import QInputDialog, QMenu, QTableView, QWidget

from gui.models.table import Column, ColumnTableModel
from gui.settings.values import named
from gui.widgets.popups import ask_name, new_menu
from gui.widgets.saved_menu import add_saved, menu_name
from gui.words.text import tr

if TYPE_CHECKING:
    from collections.abc import Iterator


PRESETS_MAX = 20
PRESET_NAME_CHARACTERS_MAX = 60
PRESETS_SUFFIX = "-presets"
"""Of the key under which the presets of a table are stored."""


@runtime_checkable
class ColumnMemory(Protocol):
    """A page that remembers the columns of its tables."""

    def read_columns(self, key: str) -> str:
        """The stored text of a table; empty for none."""

    def keep_columns(self, key: str, text: str) -> None:
        """Store a text for a table."""

    def explain_part(self, part: QWidget, at: QPoint | None = None) -> bool:
        """Explain a part of the page at a global place; returns whether it has an explanation."""


class ColumnPresets:
    """Named sets of the columns of the table of ``key``, each as the text that `ColumnMemory` stores."""

    def __init__(self, memory: ColumnMemory, key: str) -> None:
        self._memory = memory
        self._key = key + PRESETS_SUFFIX

    @property
    def known(self) -> dict[str, str]:
        """The stored sets by name, in order; invalid ones are left out."""
        kept = named(self._memory.read_columns(self._key))
        return {name: columns for name, columns in kept.items() if name and isinstance(columns, str)}

    def is_full(self, name: str) -> bool:
        """Whether there is no room for a set of this name."""
        known = self.known
        return name not in known and len(known) >= PRESETS_MAX

    def save(self, name: str, columns: str) -> None:
        """Store the columns under a name, which may exist."""
        self._write(self.known | {name[:PRESET_NAME_CHARACTERS_MAX]: columns})

    def forget(self, name: str) -> None:
        self._write({known: columns for known, columns in self.known.items() if known != name})

    def _write(self, presets: dict[str, str]) -> None:
        self._memory.keep_columns(self._key, json.dumps(presets, ensure_ascii=False) if presets else "")


FLEXIBLE_WIDTH_MIN, FLEXIBLE_WIDTH_WANTED = 80, 140
KEY_CHARACTERS_MAX = 120


class GridColumns(QObject):
    """Applies the choices of page and user to a table, within the width that it has."""

    def __init__(self, view: QTableView, model: ColumnTableModel[Any]) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._memory: ColumnMemory | None = None
        self._left_out: frozenset[str] = frozenset()
        """By the page."""
        self._without_room: frozenset[str] = frozenset()
        """Hidden because the table is narrow."""
        self._hidden: set[str] = set()
        """By the user."""
        self._widths: dict[str, int] = {}
        """By the user, px."""
        self._grown: dict[str, int] = {}
        """Of columns whose figures did not fit, px."""
        self._is_ours = False
        """Whether this object is changing a width."""
        for place, column in enumerate(model.columns):
            if column.width:
                view.setColumnWidth(place, column.width)

    @property
    def is_chosen(self) -> bool:
        """Whether the user can choose columns."""
        return self._memory is not None

    # ---- what pages call -------------------------------------------------------------------------------------------

    def leave_out(self, keys: Collection[str]) -> None:
        """Hide these columns and show the others, except those that the user hid."""
        if self._left_out != frozenset(keys):
            self._left_out = frozenset(keys)
            self._show()

    def take_others(self) -> None:
        """Apply the columns of a changed model; those that the page hides stay hidden."""
        with self._by_us():
            for place, column in enumerate(self._model.columns):
                if column.width:
                    self._view.setColumnWidth(place, column.width)
        self._show()

    def share(self) -> None:
        """Share the remaining width equally among the columns without a width; the last takes the rest."""
        columns = self._model.columns
        without_room = self._find_without_room()
        if without_room != self._without_room:
            self._without_room = without_room
            self._hide()
        shown = [place for place in range(len(columns)) if not self._view.isColumnHidden(place)]
        widths = {place: self._width_of(columns[place]) for place in shown}
        flexible = [place for place, width in widths.items() if not width]
        left = self._view.viewport().width() - sum(widths.values())
        with self._by_us():
            for place, width in widths.items():
                if columns[place].key in self._widths or columns[place].key in self._grown:
                    self._view.setColumnWidth(place, width)
            for number, place in enumerate(flexible):
                # Each divides what those before it leave, so that the last takes the rest.
                width = max(columns[place].least or FLEXIBLE_WIDTH_MIN, left // (len(flexible) - number))
                self._view.setColumnWidth(place, width)
                left -= width

    def widen(self, wanted: Mapping[str, int]) -> None:
        """Widen columns to ``wanted`` px (by key), at the cost of the columns without a width; no column shrinks again.

        Columns with a width of the user stay.
        """
        shown = [column for column in self._model.columns if self._is_shown(column.key)]
        flexible = [column for column in shown if not self._width_of(column)]
        # Where other columns would give way, names keep their preferred width; but a cut moment is worse than a hidden column.
        least = sum(column.least or FLEXIBLE_WIDTH_MIN for column in flexible)
        has_order = any(column.gives_way for column in shown)
        kept = sum(column.wants or FLEXIBLE_WIDTH_WANTED for column in flexible) if has_order else least
        room = self._view.viewport().width() - sum(map(self._width_of, shown))
        for column in shown:
            by = min(wanted.get(column.key, 0) - self._width_of(column), room - (least if column.whole else kept))
            if by > 0 and column.width and column.key not in self._widths:
                self._grown[column.key] = self._width_of(column) + by
                room -= by
        self.share()

    def _width_of(self, column: Column[Any]) -> int:
        """In px; 0: the remaining width."""
        return self._widths.get(column.key) or self._grown.get(column.key, column.width)

    # ---- the choice of the user ------------------------------------------------------------------------------------

    def remember_by(self, memory: ColumnMemory) -> None:
        """Let the user choose, beginning with the stored choice."""
        if self._memory is not None:
            return
        self._memory = memory
        header = self._view.horizontalHeader()
        header.setSectionsMovable(True)
        self._restore(memory.read_columns(self._key))
        header.sectionResized.connect(self._resized)
        header.sectionMoved.connect(lambda *_places: self._keep())

    def menu(self, parent: QWidget, place: int = -1) -> QMenu:
        """Menu of the columns; the last shown one stays. ``place`` is the column under the mouse, to be explained."""
        menu = new_menu(parent)
        self._add_question(menu, parent, place)
        shown = [column for column in self._model.columns if self._is_shown(column.key)]
        for column in self._model.columns:
            if column.title and column.key not in self._left_out:
                name = menu_name(tr(column.title))
                has_room = column.key not in self._without_room
                action = menu.addAction(name if has_room else tr("{name} (no room for it now)", name=name))
                action.setCheckable(True)
                action.setChecked(column.key not in self._hidden)
                action.setEnabled(shown != [column])
                action.triggered.connect(self._chooser(column.key))
        self._add_presets(menu, parent)
        menu.addAction(tr("Reset the columns"), self.reset)
        return menu

    @property
    def presets(self) -> ColumnPresets | None:
        """Named sets of the columns; None without a memory."""
        return None if self._memory is None else ColumnPresets(self._memory, self._key)

    def save_preset(self, name: str) -> None:
        presets = self.presets
        if presets is not None and not presets.is_full(name):
            presets.save(name, self._kept_text())

    def choose_preset(self, name: str) -> None:
        presets = self.presets
        if presets is not None and name in presets.known:
            self._take(presets.known[name])

    def _add_presets(self, menu: QMenu, parent: QWidget) -> None:
        presets = self.presets
        if presets is None:
            return
        add_saved(menu, dict.fromkeys(presets.known, ""), self.choose_preset, presets.forget)
        save = menu.addAction(tr("Save these columns as…"), lambda: self.ask_name(parent))
        save.setEnabled(not presets.is_full(""))

    def ask_name(self, parent: QWidget) -> QInputDialog:
        words = tr("Name of this set of columns; one that exists is replaced.")
        return ask_name(parent, tr("Save these columns"), words, "", self.save_preset)

    def explain(self, part: QWidget) -> None:
        if self._memory is not None:
            self._memory.explain_part(part)

    def _add_question(self, menu: QMenu, parent: QWidget, place: int) -> None:
        memory, columns = self._memory, self._model.columns
        if memory is None or not 0 <= place < len(columns) or not columns[place].title:
            return
        header = self._view.horizontalHeader()
        at = header.viewport().mapToGlobal(QPoint(header.sectionViewportPosition(place) + 1, header.height()))
        title = menu_name(tr(columns[place].title))
        menu.addAction(tr("What is “{name}”?", name=title), lambda: memory.explain_part(parent, at))
        menu.addSeparator()

    def show_column(self, key: str, *, shown: bool) -> None:
        """Show or hide a column, and remember it."""
        (self._hidden.discard if shown else self._hidden.add)(key)
        self._show()
        self._keep()

    def reset(self) -> None:
        self._take("")

    def _take(self, text: str) -> None:
        """Apply a stored text, empty: the initial columns."""
        self._hidden.clear()
        self._widths.clear()
        self._grown.clear()
        header = self._view.horizontalHeader()
        with self._by_us():
            for place, column in enumerate(self._model.columns):
                header.moveSection(header.visualIndex(place), place)
                if column.width:
                    self._view.setColumnWidth(place, column.width)
        self._restore(text)
        self._show()
        self._keep()

    # ---- inside ----------------------------------------------------------------------------------------------------

    @property
    def _key(self) -> str:
        return "-".join(column.key for column in self._model.columns)[:KEY_CHARACTERS_MAX]

    def _is_shown(self, key: str) -> bool:
        return key not in self._hidden and key not in self._left_out and key not in self._without_room

    def _find_without_room(self) -> frozenset[str]:
        """Columns that give way at the current width."""
        wanted = [column for column in self._model.columns if column.key not in self._hidden | self._left_out]
        widths = {column.key: self._width_of(column) or column.wants or FLEXIBLE_WIDTH_WANTED for column in wanted}
        too_much = sum(widths.values()) - self._view.viewport().width()
        found: set[str] = set()
        for column in sorted(wanted, key=lambda one: -one.gives_way):
            if too_much <= 0 or not column.gives_way:
                break
            found.add(column.key)
            too_much -= widths[column.key]
        return frozenset(found)

    def _chooser(self, key: str) -> Callable[[bool], None]:
        return lambda shown: self.show_column(key, shown=shown)

    def _show(self) -> None:
        self._without_room = self._find_without_room()
        self._hide()
        self.share()

    def _hide(self) -> None:
        with self._by_us():
            for place, column in enumerate(self._model.columns):
                self._view.setColumnHidden(place, not self._is_shown(column.key))

    def _resized(self, place: int, _before: int, width: int) -> None:
        if not self._is_ours and width and place < len(self._model.columns):
            self._widths[self._model.columns[place].key] = width
            self._keep()

    def _keep(self) -> None:
        if self._memory is not None and not self._is_ours:
            self._memory.keep_columns(self._key, self._kept_text())

    def _kept_text(self) -> str:
        """The user's choice as text; empty for none."""
        header, columns = self._view.horizontalHeader(), self._model.columns
        order = [columns[header.logicalIndex(place)].key for place in range(len(columns))]
        is_moved = order != [column.key for column in columns]
        kept = {"hidden": sorted(self._hidden), "widths": self._widths, "order": order if is_moved else []}
        return json.dumps(kept) if any(kept.values()) else ""

    def _restore(self, text: str) -> None:
        """Apply a stored text; invalid parts are ignored."""
        kept = named(text)
        places = {column.key: place for place, column in enumerate(self._model.columns)}
        hidden, widths, order = kept.get("hidden"), kept.get("widths"), kept.get("order")
        if isinstance(hidden, list) and len(known := {str(key) for key in hidden} & places.keys()) < len(places):
            self._hidden = known
        if isinstance(widths, dict):
            known_widths = {key: width for key, width in widths.items() if key in places and isinstance(width, int)}
            self._widths = {key: width for key, width in known_widths.items() if width > 0}
        keys = [str(key) for key in order] if isinstance(order, list) else []
        if sorted(keys) == sorted(places):
            header = self._view.horizontalHeader()
            with self._by_us():
                for place, key in enumerate(keys):
                    header.moveSection(header.visualIndex(places[key]), place)
        if self._hidden or self._widths:
            self._show()

    @contextmanager
    def _by_us(self) -> Iterator[None]:
        before, self._is_ours = self._is_ours, True
        try:
            yield
        finally:
            self._is_ours = before
