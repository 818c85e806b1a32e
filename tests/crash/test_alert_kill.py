"""Alerts outlive the process that judges them, and need no window."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from broker_core.worker.questions.alerts import AlertPage, PutAlertRules, ReadAlerts, RemoveAlertRule, SetAlertWebhook
from broker_core.worker.questions.history import ReadEvents
from monitoring.alert_keeper import AlertKeeper
from monitoring.alert_rules import AlertRule, rules_to_json
from monitoring.alert_store import FILE_NAME
from tests.support.broker_process import running_broker
from tests.support.waiting import wait_until
from tests.support.worker_driver import DEADLINE_S, WorkerDriver

until = partial(wait_until, deadline_s=DEADLINE_S)

pytestmark = pytest.mark.crash

ALWAYS = AlertRule("always", "It runs", "totals.process_rss_bytes", above=True, threshold=0, for_ms=0)
SLOWLY = AlertRule("slowly", "It runs for a while", "totals.process_rss_bytes", above=True, threshold=0, for_ms=3_600_000)


@contextmanager
def hook() -> Iterator[tuple[str, list[dict[str, object]]]]:
    """A web hook on this machine: its address, and what it was told."""
    told: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", told
    finally:
        server.shutdown()
        thread.join(DEADLINE_S)
        server.server_close()


def page(worker: WorkerDriver) -> AlertPage:
    answer = worker.ask(ReadAlerts())
    assert isinstance(answer, AlertPage)
    return answer


def since(worker: WorkerDriver) -> dict[str, tuple[int, bool]]:
    shown = page(worker)
    return {
        rule_id: (since_ms, firing)
        for rule_id, since_ms, firing in zip(shown.found_rule, shown.found_since_ms, shown.found_firing, strict=True)
    }


def test_a_killed_worker_keeps_rules_states_and_what_was_told(tmp_path: Path):
    with hook() as (url, told):
        with WorkerDriver(tmp_path / "store") as worker:
            worker.wait_ready()
            worker.ask(SetAlertWebhook(url))
            worker.ask(PutAlertRules(rules_to_json([ALWAYS, SLOWLY])))
            until(lambda: [one["state"] for one in told] == ["firing"], "the web hook is not told")
            until(lambda: {"always", "slowly"} <= set(since(worker)), "the rules find nothing")
            before = since(worker)
            worker.process.send_signal(signal.SIGKILL)
            worker.process.wait()
        with WorkerDriver(tmp_path / "store") as worker:
            worker.wait_ready()
            until(lambda: page(worker).looked_ms > before["always"][0], "nothing is judged after the restart")
            assert since(worker)["always"] == before["always"]
            assert since(worker)["slowly"] == before["slowly"]
            worker.ask(RemoveAlertRule("always"))
            until(lambda: [one["state"] for one in told] == ["firing", "resolved"], "the end is not told, or more than that")

            def alerts() -> list[str]:
                events = worker.ask(ReadEvents(0, 1 << 50, kinds=["alert"]))
                return [text for text in reversed(events.text) if text.startswith("It runs")]

            until(lambda: len(alerts()) == 2, "the alert and its end are not both among the events")
            assert alerts()[1] == "It runs is over, now —"
            assert worker.end_input() == 0


def test_a_broker_without_a_window_judges_and_tells(tmp_path: Path):
    store = tmp_path / "store"
    with hook() as (url, told), running_broker(store):
        until((store / "orbit" / FILE_NAME).exists, "no alerts are kept")
        # As another process changes them, e.g. a window that connects to what is recorded already.
        keeper = AlertKeeper(store / "orbit" / FILE_NAME, clock=lambda: time.time_ns() // 1_000_000)
        keeper.answer(SetAlertWebhook(url))
        keeper.answer(PutAlertRules(rules_to_json([ALWAYS])))
        keeper.close()
        until(lambda: bool(told), "the web hook is not told")
    assert [(one["rule"], one["cluster"]) for one in told] == [("It runs", "DefaultCluster/broker-a")]
