"""Options of the embedded broker from the Settings page, and their merge with the command line.

An option of the command line that differs from its default overrides the stored one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs
from PySide6.QtCore import QSettings

from broker_core.outside import whole_of
from gui.processes.worker_options import WorkerArguments

STORE_KEY, NAME_SERVER_KEY, BROKER_KEY, HISTORY_KEY = "broker/store", "broker/ns_port", "broker/port", "broker/history_mib"
PORT_MAX = 65_535
HISTORY_MIB_MIN, HISTORY_MIB_MAX = 16, 65_536
_DEFAULT = WorkerArguments(Path())


@dataclass(frozen=True, slots=True)
class SavedBroker:
    """Stored options; None where there is none."""

    store: Path | None = None
    name_server_port: int | None = None
    broker_port: int | None = None
    history_mib: int | None = None


def default_store() -> Path:
    return platformdirs.user_data_path("orbit", appauthor=False) / "store"


def read_saved(settings: QSettings) -> SavedBroker:
    """The stored options; invalid ones are left out."""
    store = str(settings.value(STORE_KEY, ""))
    return SavedBroker(
        Path(store) if store and Path(store).is_absolute() else None,
        _number(settings, NAME_SERVER_KEY, 0, PORT_MAX),
        _number(settings, BROKER_KEY, 0, PORT_MAX),
        _number(settings, HISTORY_KEY, HISTORY_MIB_MIN, HISTORY_MIB_MAX),
    )


def write_saved(settings: QSettings, saved: SavedBroker) -> None:
    values = {
        STORE_KEY: None if saved.store is None else str(saved.store),
        NAME_SERVER_KEY: saved.name_server_port,
        BROKER_KEY: saved.broker_port,
        HISTORY_KEY: saved.history_mib,
    }
    for key, value in values.items():
        if value is None:
            settings.remove(key)
        else:
            settings.setValue(key, value)


def with_saved(options: WorkerArguments, saved: SavedBroker) -> WorkerArguments:
    """Options of the worker: those of the command line with the stored ones."""
    made = options
    if saved.store is not None and options.store == default_store():
        made = replace(made, store=saved.store)
    if saved.name_server_port is not None and options.name_server_port == _DEFAULT.name_server_port:
        made = replace(made, name_server_port=saved.name_server_port)
    if saved.broker_port is not None and options.broker_port == _DEFAULT.broker_port:
        made = replace(made, broker_port=saved.broker_port)
    if saved.history_mib is not None and not options.history_mib:
        made = replace(made, history_mib=saved.history_mib)
    return made


def _number(settings: QSettings, key: str, low: int, high: int) -> int | None:
    number = whole_of(str(settings.value(key, "")))
    return number if number is not None and low <= number <= high else None
