"""A child process that only remembers what it was told, for tests of what starts one."""

from __future__ import annotations

import json
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from gui.processes.child_process import ChildEnd


class FakeChild(QObject):
    """Stands in for `ChildProcess`; a test says when it ends."""

    line_read = Signal(str)
    error_read = Signal(str)
    ended = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.started: list[list[str]] = []
        self.told: list[str] = []
        self.cancels = 0
        self.is_running = False

    def start(self, arguments: Sequence[str], first_line: str = "") -> None:
        self.started.append(list(arguments))
        self.told += [first_line] if first_line else []
        self.is_running = True

    def tell(self, line: str) -> None:
        self.told.append(line)

    def cancel(self) -> None:
        self.cancels += 1

    def say(self, **fields: object) -> None:
        """Let it tell a line of JSON."""
        self.line_read.emit(json.dumps(fields))

    def end(self, exit_code: int = 0, *, crashed: bool = False, cancelled: bool = False, error: str = "") -> None:
        """Let it end."""
        self.is_running = False
        self.ended.emit(ChildEnd(exit_code, crashed, cancelled, error_lines=(error,) if error else ()))
