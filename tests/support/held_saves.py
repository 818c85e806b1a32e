"""`HeldSaves`: writes of configuration files that wait, or fail, when a test says so."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from broker_core.engine.store.config_file import save_config
from broker_core.engine.tables import config_files
from broker_core.errors import StoreError

_SECONDS = 60.0


class HeldSaves:
    """Stands before `save_config`.

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
        self._save = save_config
        monkeypatch.setattr(config_files, "save_config", self)

    def __call__(self, path: Path, content: Mapping[str, Any]) -> None:
        self.writes.append((path.name, content))
        assert self.open.wait(_SECONDS)
        if self.faults:
            raise self.faults.pop(0)
        self._save(path, content)
