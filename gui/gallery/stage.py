"""The environment of the gallery: a screen, a window whose settings and stores lie in one folder, free ports, and waiting."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEventLoop, QSettings, QTimer

from gui.app.window_options import WindowOptions
from gui.connections.cluster import ATTACHED, STORES_KEY, Cluster, kept_text
from gui.processes.worker_options import WorkerArguments

TURN_MS = 20
WINDOW_SIZE = SCREEN_SIZE = (1_440, 900)
"""The window fills the screen, so that menus open within it. Without a display Qt has one of 800 × 800."""
ATTACHED_NAME = "shop"


@dataclass(frozen=True, slots=True)
class Look:
    theme: str
    language: str

    @property
    def name(self) -> str:
        return f"{self.theme}-{self.language}"


def window_options(folder: Path, look: Look, name_servers: str) -> WindowOptions:
    """Options of the window; all its files lie in ``folder``."""
    settings_file = folder / "window.ini"
    if name_servers:
        settings = QSettings(str(settings_file), QSettings.Format.IniFormat)
        settings.setValue(STORES_KEY, [kept_text(Cluster(ATTACHED, name_servers, title=ATTACHED_NAME))])
        settings.sync()
        # The recorded history of a cluster lies in the data folder of the user.
        os.environ["XDG_DATA_HOME"] = str(folder)
    name_server_port, broker_port = free_ports()
    return WindowOptions(
        WorkerArguments(folder / "store", name_server_port=name_server_port, broker_port=broker_port),
        language=look.language,
        theme=look.theme,
        settings_file=settings_file,
        reports_folder=folder / "reports",
        connection=name_servers,
    )


def pause(seconds: float) -> None:
    wait(lambda: False, seconds)


def wait(done: Callable[[], bool], timeout_s: float) -> bool:
    """Run Qt's loop until ``done`` or the timeout; returns whether it was done."""
    loop, end = QEventLoop(), time.monotonic() + timeout_s
    timer = QTimer(interval=TURN_MS)
    timer.timeout.connect(lambda: loop.quit() if done() or time.monotonic() >= end else None)
    timer.start()
    loop.exec()
    return done()


def write_screen(folder: Path) -> Path:
    """Write the screen configuration of Qt's platform ``offscreen``; returns its path."""
    width, height = SCREEN_SIZE
    screen = {"name": "gallery", "x": 0, "y": 0, "width": width, "height": height, "dpr": 1}
    path = folder / "screen.json"
    path.write_text(json.dumps({"screens": [screen | {"logicalDpi": 96, "logicalBaseDpi": 96}]}), encoding="utf-8")
    return path


def free_ports() -> tuple[int, int]:
    """Two free ports of the loopback address."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
