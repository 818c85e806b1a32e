"""The gallery: every page on live demo data, without a display, saved as pictures.

Nothing in it is made up: a worker with a store of its own serves on free ports, and the demo plays against it.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QWidget

from broker_core.api import MessagePage
from gui.app import Console, WindowOptions, make_application
from gui.bridge.demo import DemoPace
from gui.bridge.options import WorkerOptions
from gui.views.consumers.view import TABS as GROUP_TABS
from gui.views.consumers.view import ConsumersView
from gui.views.registry import PAGES
from gui.views.topics.topic_view import TABS as TOPIC_TABS
from monitoring.sources.base import SourceStatus
from spark_reports.catalog import reports

START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 20.0
REPORT_TIMEOUT_S = 120.0
DEMO_SECONDS = 45.0
"""How long the demo plays before the pictures: enough for a backlog and for lines with a shape."""
PAGE_SETTLE_S = 2.5
"""What a page gets to ask for its data and to paint it: two turns of the live cadence."""
TURN_MS = 20
TRANSACTION_TOPIC = "pay-result"
"""Of the demo: written by transactions."""
PARTS = (
    ("delay", "timers"),
    ("transactions", "rolled back"),
    ("transactions", "given up"),
    ("transactions", "atomic"),
    ("settings", "broker"),
)
"""Parts of pages that get a picture of their own."""


def main(out: Path, theme: str = "light", language: str = "en") -> int:
    """Save a picture of every page as ``<page>.png`` in ``out``; returns an exit code."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    out.mkdir(parents=True, exist_ok=True)
    application = make_application()
    with tempfile.TemporaryDirectory(prefix="orbit-gallery-") as folder:
        name_server_port, broker_port = free_ports()
        worker = WorkerOptions(Path(folder) / "store", name_server_port=name_server_port, broker_port=broker_port)
        options = WindowOptions(
            worker,
            language=language,
            theme=theme,
            settings_file=Path(folder) / "window.ini",
            reports_folder=Path(folder) / "reports",
        )
        console = Console(application, options)
        try:
            return _take(console, out)
        finally:
            console.window.close()
            _wait(lambda: not console.children_processes.any_running, END_TIMEOUT_S)


def _take(console: Console, out: Path) -> int:
    window = console.window
    window.resize(1440, 900)
    window.show()
    console.begin()
    source, demo = console.worker.source, console.demo
    settled = (SourceStatus.READY, SourceStatus.LOST)
    if not _wait(lambda: source.status in settled and source.state is not None, START_TIMEOUT_S):
        reason = source.reason.message if source.reason else f"the broker was not ready after {START_TIMEOUT_S:.0f} s"
        sys.stderr.write(f"orbit: no pictures were taken: {reason}\n")
        return 1
    assert source.ready is not None
    _picture(console, "welcome", out)
    demo.start(source.ready.name_server, DemoPace.NORMAL)
    _wait(lambda: not demo.is_running, DEMO_SECONDS)
    if not demo.is_running:
        sys.stderr.write("orbit: the demo ended early; the pictures show an idle broker\n")
    _run_report(console, source.ready.store_directory)
    for entry in PAGES:
        if entry.page_id not in ("welcome", "topic", "message"):
            _picture(console, entry.page_id, out)
    for page_id, show in PARTS:
        _picture(console, page_id, out, show)
    _details(console, out)
    _life(console, out)
    return 1 if console.errors.count else 0


def _details(console: Console, out: Path) -> None:
    """Topic and group in each of their tabs, and the dialog that resets offsets."""
    for tab in TOPIC_TABS:
        _picture(console, "topic", out, tab=tab, topic="orders")
    for tab in GROUP_TABS:
        _picture(console, "consumers", out, tab=tab, group="payment-settle")
    page = console.window.area.page_of("consumers")
    assert isinstance(page, ConsumersView)
    dialog = page.dialogs.reset(page.group_grid.selected_row)
    if dialog is not None:
        _wait(lambda: False, PAGE_SETTLE_S)
        _save(dialog, out / "consumers-reset.png")
        dialog.reject()


def _life(console: Console, out: Path) -> None:
    """The life line of a message that was sent in a transaction."""
    found: list[object] = []
    console.worker.source.browse_queue(TRANSACTION_TOPIC, -1, 0, 1).then(found.append, found.append)
    _wait(lambda: bool(found), PAGE_SETTLE_S)
    page = found[0] if found else None
    if isinstance(page, MessagePage) and page.physical_offset:
        console.window.navigate("message", physical_offset=page.physical_offset[0])
        _wait(lambda: False, PAGE_SETTLE_S)
        _save(console.window, out / "message.png")


def _run_report(console: Console, store_directory: str) -> None:
    """Let the first report of the catalogue run over the store, so that its page has a result to show."""
    runner = console.reports
    runner.start(runner.order(reports()[0], (store_directory,)))
    if not _wait(lambda: not runner.is_running, REPORT_TIMEOUT_S):
        runner.cancel()
        _wait(lambda: not runner.is_running, END_TIMEOUT_S)
    if runner.run is not None and runner.run.error:
        sys.stderr.write(f"orbit: the report was not made: {runner.run.error}\n")


def _picture(console: Console, page_id: str, out: Path, show: str = "", *, tab: str = "", **place: str) -> None:
    arguments = {name: value for name, value in (("show", show), ("tab", tab)) if value}
    console.window.navigate(page_id, **arguments, **place)
    _wait(lambda: False, PAGE_SETTLE_S)
    _save(console.window, out / f"{'-'.join([page_id, *show.split(), *tab.split()])}.png")


def _save(widget: QWidget, path: Path) -> None:
    widget.grab().save(str(path))
    sys.stdout.write(f"{path}\n")


def _wait(done: Callable[[], bool], timeout_s: float) -> bool:
    """Run Qt's loop until ``done`` or the timeout; returns whether it was done."""
    loop, end = QEventLoop(), time.monotonic() + timeout_s
    timer = QTimer()
    timer.setInterval(TURN_MS)
    timer.timeout.connect(lambda: loop.quit() if done() or time.monotonic() >= end else None)
    timer.start()
    loop.exec()
    return done()


def free_ports() -> tuple[int, int]:
    """Two ports of the loopback address that nobody listens on."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
