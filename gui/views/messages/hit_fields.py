"""`HitFields`: the columns of a list of hits: those of every list, and any property or JSON path of a body."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QSettings, Signal
from PySide6.QtWidgets import QInputDialog

from broker_core.api import FilterError, parse_field
from gui.models.hit_table import HitTableModel
from gui.models.messages import MessageRow
from gui.models.table import CellKind, Column
from gui.settings.values import listed
from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconButton
from gui.widgets.data_grid import DataGrid
from gui.widgets.popups import ask_text, new_menu
from gui.words.error_words import error_line
from gui.words.plain_text import button_text
from gui.words.text import tr

FIELD_WIDTH = 150
FIELDS_MAX = 20
_FIELDS = "messages/search/fields"
_HIDDEN = "messages/search/hidden"


class HitFields(QObject):
    """Stores the choice in the window's settings.

    Signals:
        refused: A field cannot be a column; carries the reason.
    """

    refused = Signal(str)

    def __init__(
        self,
        theme: ThemeManager,
        settings: QSettings,
        model: HitTableModel,
        grid: DataGrid[MessageRow],
        columns: Sequence[Column[MessageRow]],
    ) -> None:
        """Create it; ``columns`` are those of every list. `restore` shows the last choice."""
        super().__init__(grid)
        self._settings = settings
        self._model = model
        self._grid = grid
        self._columns = columns
        self.hidden: set[str] = set()
        """Keys of the columns that the user hid; others may be hidden for lack of room."""
        self.button = IconButton(theme, "list", " ", role="small", caret=True, on_click=self.open_columns)

    def open_columns(self) -> None:
        menu = new_menu(self.button)
        for column in self._model.columns:
            action = menu.addAction(tr(column.title))
            action.setCheckable(True)
            action.setChecked(column.key not in self.hidden)
            action.toggled.connect(partial(self.show_column, column.key))
        menu.addSeparator()
        menu.addAction(tr("Add a property or a JSON path…"), self.ask_field)
        if self._model.fields:
            drop = menu.addMenu(tr("Remove"))
            for field in self._model.fields:
                drop.addAction(button_text(field), partial(self.remove_field, field))
        menu.popup(self.button.mapToGlobal(self.button.rect().bottomLeft()))

    def show_column(self, key: str, shown: bool) -> None:
        """Show or hide a column."""
        (self.hidden.discard if shown else self.hidden.add)(key)
        self._grid.columns.leave_out(self.hidden)
        self._keep_columns()

    def ask_field(self) -> QInputDialog:
        words = tr("As in filters: prop.region, body.city, body.items[0].sku, host, born, state")
        return ask_text(self.button, tr("Add a property or a JSON path…"), words, "", self.add_field)

    def add_field(self, field: str) -> bool:
        """Show a field of the filter language as another column; False where it cannot be one, which is reported."""
        field = field.strip()
        try:
            parse_field(field)
        except FilterError as error:
            self.refused.emit(error_line(error))
            return False
        if field in self._model.fields or len(self._model.fields) >= FIELDS_MAX:
            return False
        self._set_fields([*self._model.fields, field])
        return True

    def remove_field(self, field: str) -> None:
        self._set_fields([one for one in self._model.fields if one != field])

    def _set_fields(self, fields: list[str]) -> None:
        selected = self._grid.selected_key
        further = [self._field_column(field) for field in fields]
        self._model.set_columns([*self._columns, *further], fields)
        self._grid.columns.take_others()
        self._grid.select_key(selected)
        self._keep_columns()

    def _field_column(self, field: str) -> Column[MessageRow]:
        # The heading is the field itself, in every language.
        return Column(field, field, partial(self._field_text, field), kind=CellKind.MONO, dim=True, width=FIELD_WIDTH)

    def _field_text(self, field: str, hit: MessageRow) -> str:
        return self._model.field_of(hit, field)

    def _keep_columns(self) -> None:
        self._settings.setValue(_FIELDS, json.dumps(self._model.fields))
        self._settings.setValue(_HIDDEN, json.dumps(sorted(self.hidden)))

    def restore(self) -> None:
        """Show the last choice of columns."""
        fields, hidden = (listed(str(self._settings.value(key, ""))) for key in (_FIELDS, _HIDDEN))
        fields = [field for field in fields if isinstance(field, str) and _can_be_read(field)]
        if fields:
            self._set_fields(fields[:FIELDS_MAX])
        for key in map(str, hidden):
            self.show_column(key, shown=False)


def _can_be_read(field: str) -> bool:
    """Whether a stored field is still valid."""
    try:
        parse_field(field)
    except FilterError:
        return False
    return True
