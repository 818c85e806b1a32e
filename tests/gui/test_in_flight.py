"""The Delay and Transactions pages with a real worker and demo traffic."""

from __future__ import annotations

import signal
import sys

import pytest

from gui.app.console import Console
from gui.app.window_options import WindowOptions
from gui.models.transactions import WAITING
from gui.processes.demo import DemoPace
from gui.processes.worker_options import WorkerArguments
from gui.views.delay.actions import DELIVER
from gui.views.transactions.actions import ROLL_BACK
from monitoring.sources.base import SourceStatus

LONG_LEVEL = 10
"""Its messages do not come due while the test runs."""


@pytest.fixture
def console(qapp, qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr(qapp, "quit", lambda: None)
    worker = WorkerArguments(tmp_path / "store", name_server_port=0, broker_port=0)
    hook = sys.excepthook
    made = Console(qapp, WindowOptions(worker, language="en", theme="dark", settings_file=tmp_path / "window.ini"))
    made.window.show()
    source = made.worker.source
    qtbot.waitUntil(lambda: source.status is SourceStatus.READY and source.state is not None, timeout=60_000)
    yield made
    made.window.close()
    qtbot.waitUntil(lambda: not made.children_processes.any_running, timeout=60_000)
    assert sys.excepthook is hook
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    made.window.deleteLater()
    made.deleteLater()


def totals(console):
    return console.worker.source.state.totals


@pytest.mark.timeout(300)
def test_delayed_messages_and_transactions_of_the_demo_are_seen_and_acted_on(console, qtbot):
    source, window = console.worker.source, console.window
    console.demo.start(source.ready.name_server, DemoPace.NORMAL)

    window.navigate("delay")
    page = window.area.current
    qtbot.waitUntil(lambda: int(source.state.delays.pending[LONG_LEVEL - 1]) > 3, timeout=120_000)
    page.open({"level": LONG_LEVEL})
    qtbot.waitUntil(lambda: page.waiting.model.rowCount() > 3 and LONG_LEVEL in page.reader.samples, timeout=60_000)
    chosen = page.waiting.model.row_at(0)
    assert (chosen.topic, chosen.tag) == ("order-timeout", "TIMEOUT")
    page.waiting.grid.select_key(chosen.physical_offset)
    page.waiting.ask(DELIVER).go.click()
    gone = chosen.physical_offset
    qtbot.waitUntil(lambda: page.waiting.model.position_of(gone) < 0, timeout=60_000)
    page.waiting.choose("timers")
    qtbot.waitUntil(lambda: page.waiting.model.rowCount() > 0, timeout=60_000)
    assert page.waiting.model.row_at(0).tag == "REMIND"

    window.navigate("transactions")
    page = window.area.current
    qtbot.waitUntil(lambda: any(row.state == WAITING for row in page.rows.rows), timeout=60_000)
    left = next(row for row in page.rows.rows if row.state == WAITING)
    page.grid.select_key(left.origin)
    qtbot.waitUntil(lambda: len(page.detail.line.entries) > 0, timeout=60_000)
    assert page.detail.line.entries[0].title == "Half message stored"
    dialog = page.ask(ROLL_BACK)
    dialog.typed.setText(left.name)
    dialog.go.click()
    qtbot.waitUntil(lambda: page.rows.position_of(left.origin) < 0, timeout=60_000)
    qtbot.waitUntil(lambda: totals(console)["transactions_committed"] > 0, timeout=60_000)
    page.open({"show": "rolled back"})
    qtbot.waitUntil(lambda: page.rows.position_of(left.origin) >= 0, timeout=60_000)
    assert console.errors.count == 0
