"""`HeldSaves`: writes of configuration files that wait, or fail, when a test says so."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from broker_core.engine.store.config_file import ConfigFile
from broker_core.errors import StoreError

_SECONDS = 60.0


class HeldSaves:
    """Stands before `ConfigFile.save`.

    Attributes:
        open: Writes wait while it is not set.
        faults: What the next writes raise, one after the other; those behind them succeed.
        writes: Name and content of each write that has begun.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.open.set()
        self.faults: list[StoreError] = []
        self.writes: list[tuple[str, Mapping[str, Any]]] = []
        self._save = ConfigFile.save

        def save(file: ConfigFile, content: Mapping[str, Any]) -> None:
            self._hold(file, content)

        monkeypatch.setattr(ConfigFile, "save", save)

    def _hold(self, file: ConfigFile, content: Mapping[str, Any]) -> None:
        self.writes.append((file.path.name, content))
        assert self.open.wait(_SECONDS)
        if self.faults:
            raise self.faults.pop(0)
        self._save(file, content)
