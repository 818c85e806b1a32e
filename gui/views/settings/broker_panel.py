"""The section of the embedded broker: folder, ports, size of the history. Effective from its next start."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QLineEdit

from broker_core.outside import whole_of
from gui.operations.reports import open_in_desktop
from gui.processes.saved_options import (
    HISTORY_MIB_MAX,
    HISTORY_MIB_MIN,
    PORT_MAX,
    SavedBroker,
    default_store,
    read_saved,
    write_saved,
)
from gui.processes.worker_options import WorkerArguments
from gui.theme.tokens import State
from gui.views.page import PageContext
from gui.widgets.basic import fill, form_layout, label, row, show_text
from gui.widgets.key_values import KeyValueList
from gui.widgets.panel import Panel
from gui.widgets.popups import ask_folder
from gui.widgets.said import on_language, push_button, said, said_label
from gui.words.text import tr

HISTORY_MIB = 1_024
"""Default maximum of the history."""
FIELD_WIDTH, FIELD_WIDTH_MIN = 420, 220
_PORTS = WorkerArguments(Path())


class BrokerPanel(Panel):
    """Fields of the stored settings; an empty one means the default."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._context = context
        self.store = QLineEdit()
        self.browse = push_button("Choose…", self._ask_folder)
        self.name_server = QLineEdit()
        self.broker = QLineEdit()
        self.history = QLineEdit()
        self.fault = label(role="critical", wrap=True)
        self.fault.hide()
        self.note = said(
            label(role="caption", wrap=True),
            text="An empty field means the default. A taken port is replaced by the next free one. The folder counts from the "
            "next start of Orbit; another one is another store, and what is in this one stays where it is.",
        )
        self.save = push_button("Save", self.keep, role="primary")
        self.restart = push_button("Restart the broker", self._restart)
        self.settings_button = push_button("Broker settings", lambda: context.navigate("broker_settings"))
        self.open_folder = push_button("Open the folder", self._open_folder)
        self.facts = KeyValueList()
        names = ("Folder of the messages", "Port of the name server", "Port of the broker", "History, MiB")
        self._names = [said_label(name, "") for name in names]
        hints = (str(default_store()), str(_PORTS.name_server_port), str(_PORTS.broker_port), str(HISTORY_MIB))
        for entry, name, hint in zip(self._fields(), names, hints, strict=True):
            said(entry, name=name).setPlaceholderText(hint)
        self._build()
        for field in self._fields():
            field.textEdited.connect(lambda _text: self._check())
            field.returnPressed.connect(self.keep)
        self.show_saved()
        said(self, title="Embedded broker", subtitle="used from its next start on")
        on_language(self, self._check, self.refresh)

    def show_saved(self) -> None:
        saved = read_saved(self._context.settings)
        self.store.setText("" if saved.store is None else str(saved.store))
        numbers = (saved.name_server_port, saved.broker_port, saved.history_mib)
        for field, number in zip(self._fields()[1:], numbers, strict=True):
            field.setText("" if number is None else str(number))
        self._check()

    def refresh(self) -> None:
        """Show the settings of the running broker."""
        ready = self._context.source.ready
        facts = [(tr("Settings of the window"), self._context.settings.fileName())]
        if ready is not None:
            ports = ", ".join(filter(None, (ready.name_server, ready.broker, ready.grpc)))
            facts = [(tr("Store in use"), ready.store_directory), (tr("Ports in use"), ports), *facts]
        self.facts.set_pairs(facts)
        self.open_folder.setEnabled(ready is not None)

    def saved(self) -> SavedBroker:
        """The settings of the fields.

        Raises:
            ValueError: Says which field is invalid, in the language of the window.
        """
        store = self.store.text().strip()
        if store and not Path(store).is_absolute():
            raise ValueError(tr("The folder is no whole path; it begins with /"))
        ports = [_number(field, tr("Ports are numbers from 0 (any free one) to 65535"), 0, PORT_MAX)
                 for field in (self.name_server, self.broker)]  # fmt: skip
        sizes = tr("The history takes {low} to {high} MiB", low=HISTORY_MIB_MIN, high=f"{HISTORY_MIB_MAX:,}")
        if ports[0] is not None and ports[0] == ports[1] != 0:
            raise ValueError(tr("The two ports are the same"))
        history = _number(self.history, sizes, HISTORY_MIB_MIN, HISTORY_MIB_MAX)
        return SavedBroker(Path(store) if store else None, ports[0], ports[1], history)

    def keep(self) -> None:
        """Store the fields for the next start of the broker."""
        if not self.save.isEnabled():
            return
        write_saved(self._context.settings, self.saved())
        self._context.notify(lambda: tr("Kept; the broker uses it from its next start on"), state=State.HEALTHY)
        self._check()

    def _fields(self) -> tuple[QLineEdit, QLineEdit, QLineEdit, QLineEdit]:
        return self.store, self.name_server, self.broker, self.history

    def _build(self) -> None:
        form = form_layout(down=8, grow="all")
        self.store.setMinimumWidth(FIELD_WIDTH_MIN)
        self.store.setMaximumWidth(FIELD_WIDTH)
        form.addRow(self._names[0], row((self.store, 100), self.browse, 1))
        for name, field in zip(self._names[1:], self._fields()[1:], strict=True):
            field.setMaximumWidth(120)
            form.addRow(name, field)
        fill(
            self.content,
            form,
            self.fault,
            self.note,
            row(self.save, self.restart, self.open_folder, self.settings_button, 1),
            self.facts,
            1,
        )

    def _check(self) -> None:
        try:
            changed, fault = self.saved() != read_saved(self._context.settings), ""
        except ValueError as error:
            changed, fault = False, str(error)
        show_text(self.fault, fault)
        self.save.setEnabled(changed)

    def _restart(self) -> None:
        self.keep()
        self._context.restart_worker()

    def _open_folder(self) -> None:
        ready = self._context.source.ready
        if ready is not None:
            open_in_desktop(Path(ready.store_directory))

    def _ask_folder(self) -> None:
        ask_folder(self, tr("Folder of the messages"), self._folder_chosen, self.store.text() or str(default_store().parent))

    def _folder_chosen(self, folder: str) -> None:
        self.store.setText(folder)
        self._check()


def _number(field: QLineEdit, fault: str, low: int, high: int) -> int | None:
    text = field.text().strip()
    if not text:
        return None
    number = whole_of(text)
    if number is None or not low <= number <= high:
        raise ValueError(fault)
    return number
