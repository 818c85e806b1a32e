"""Launch the app, an unmodified client sends, the window shows it live, a report counts it."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage
from gui.models.reports import RunState
from gui.processes.spark_child import SparkState
from monitoring.sources.base import SourceStatus
from tests.e2e.conftest import App
from tests.support.cpp_client import body

pytestmark = pytest.mark.clients
COUNT = 1_000
TOPIC = "e2e-orders"
GROUP = "e2e-billing"


def kept(app: App) -> int:
    state = app.source.state
    if state is None or TOPIC not in state.catalog.topics:
        return -1
    return int(state.topic_kept_messages[state.catalog.topics.index(TOPIC)])


def lag(app: App) -> float:
    state = app.source.state
    if state is None or GROUP not in state.catalog.groups:
        return float("nan")
    return float(state.group_lag_messages[state.catalog.groups.index(GROUP)])


def fastest_rate(app: App) -> float:
    state, history = app.source.state, app.source.history
    assert state is not None
    _, rates = history.series(f"topic:{TOPIC}.put_rate").window(0, state.taken_ms, 10_000)
    return float(np.nanmax(rates))


def send(app: App) -> None:
    results = app.send(TOPIC, COUNT)
    assert [status for status, _, _ in results] == [0] * COUNT


def test_a_client_sends_and_consumes_and_the_window_shows_it(app: App):
    app.start()
    send(app)
    app.until(lambda: kept(app) == COUNT, "the messages are not shown")
    with app.consumer(TOPIC, GROUP) as consumed:
        app.until(lambda: lag(app) == 0, "the lag is not zero")
        assert sorted(consumed()) == sorted(body(number) for number in range(COUNT))
    send(app)
    app.until(lambda: lag(app) == COUNT, "the lag does not grow")
    state = app.source.state
    assert state is not None
    assert state.totals["lag_messages"] == COUNT
    assert state.totals["put_messages"] == 2 * COUNT
    assert fastest_rate(app) > 0

    app.window.navigate("topics")
    topics = app.window.area.page_of("topics")
    assert topics is not None
    app.until(lambda: topics.model.position_of(TOPIC) >= 0, "the topic is not in the list")
    app.until(lambda: row_of(topics.model).kept_messages == 2 * COUNT, "the list does not show the messages")

    with app.consumer(TOPIC, GROUP) as consumed:
        app.until(lambda: lag(app) == 0, "the lag does not go back to zero")
        assert len(consumed()) == COUNT


def row_of(model):
    return model.row_at(model.position_of(TOPIC))


def test_nothing_acknowledged_is_lost_when_the_worker_is_killed_and_restarted(app: App):
    app.start()
    send(app)
    pid = app.console.worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    app.until(lambda: app.source.status is SourceStatus.LOST, "the loss is not noticed")
    assert "SIGKILL" in str(app.source.reason)
    assert app.window.banner.isVisible()
    app.window.commands.closing.restart()
    app.until(lambda: app.source.status is SourceStatus.READY, "the broker does not come back")
    app.until(lambda: kept(app) == COUNT, "messages are lost")
    pages: list[object] = []
    app.source.ask(BrowseQueue(TOPIC, -1, 0, COUNT)).then(pages.append, pages.append)
    app.until(lambda: pages, "no answer")
    (page,) = pages
    assert isinstance(page, MessagePage)
    assert len(set(page.unique_key)) == COUNT


SPARK_MS = 500_000
"""Java, Spark and its Python workers start, on a machine that may have much else to do."""


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_report_from_the_window_counts_what_was_sent(app: App, tmp_path: Path):
    app.start()
    send(app)
    runner = app.console.reports
    app.window.navigate("reports", report="throughput")
    page = app.window.area.page_of("reports")
    assert page is not None
    app.until(page.form.run_button.isEnabled, "the report cannot be run")
    page.form.run_button.click()
    assert runner.is_running
    app.until(lambda: not runner.is_running, "the report does not end", timeout_ms=SPARK_MS)
    assert runner.run is not None
    assert runner.run.state is RunState.COMPLETE, runner.run
    (manifest,) = (tmp_path / "reports").rglob("manifest.json")
    told = json.loads(manifest.read_text(encoding="utf-8"))
    assert told["rows"]["read"] == COUNT
    assert told["state"] == "complete"
    app.until(lambda: len(page.history.model.rows) == 1, "the run is not in the history")
    app.until(lambda: page.result.make().charts.time_charts, "the charts are not drawn")
    assert f"{COUNT:,} messages" in page.result.make().manifest.text()
    assert runner.session is not None
    assert runner.session.state is SparkState.READY  # for the next report
    assert not page.session_line.isHidden()
    kept = runner.session._process._pid
    page.form.run_button.click()
    app.until(lambda: not runner.is_running, "the second report does not end", timeout_ms=SPARK_MS)
    assert runner.run.state is RunState.COMPLETE, runner.run
    assert runner.session._process._pid == kept
    app.until(lambda: len(page.history.model.rows) == 2, "the second run is not in the history")
