"""Telling an address of the web."""

import json
import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from broker_core.api import UsageError
from monitoring.alert_rules import AlertRule
from monitoring.alert_watch import AlertChange
from monitoring.webhook import WebhookResult, check_url, payload, post

RULE = AlertRule("lag", "Lag 积压", "group:*.lag_messages", above=True, threshold=15_000, for_ms=60_000)


class Hook:
    """A server that keeps what it is told and answers as a test wants."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, bytes]] = []
        self.status = 204
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.told.append((self.path, self.headers["Content-Type"], body))
                self.send_response(hook.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                """Keep still."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?x=1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, name="hook")
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.close()


def test_an_alert_is_posted_as_json(hook: Hook):
    body = payload(AlertChange(RULE, "billing", 16_870.0, True, 5), cluster="Embedded")
    result = post(hook.url, body, timeout_s=20)

    assert (result.status, result.succeeded) == (204, True)
    ((path, kind, sent),) = hook.told
    assert (path, kind) == ("/hook?x=1", "application/json; charset=utf-8")
    assert json.loads(sent) == {
        "source": "orbit", "cluster": "Embedded", "state": "firing", "rule": "Lag 积压", "ruleId": "lag",
        "severity": "warning", "series": "group:*.lag_messages", "subject": "billing", "condition": "above",
        "threshold": 15_000, "value": 16_870.0, "atMs": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("series", "keys"),
    [
        ("group:*.behind_ms", {"thresholdMs", "valueMs"}),
        ("totals.disk_used_percent", {"thresholdPercent", "valuePercent"}),
        ("topic:*.put_rate", {"thresholdPerSecond", "valuePerSecond"}),
        ("totals.unflushed_bytes", {"thresholdBytes", "valueBytes"}),
        ("group:*.lag_messages", set()),
    ],
)
def test_figures_are_sent_raw_with_their_unit_in_the_key(series: str, keys: set[str]):
    rule = replace(RULE, series=series, threshold=600_000)
    body = json.loads(payload(AlertChange(rule, "billing", 635_412.0, True, 5), cluster="x"))
    assert (body["threshold"], body["value"]) == (600_000, 635_412.0)
    assert {key for key in body if key.startswith(("threshold", "value"))} == keys | {"threshold", "value"}
    assert {body[key] for key in keys} == ({600_000, 635_412.0} if keys else set())


def test_an_unknown_value_is_null():
    body = json.loads(payload(AlertChange(RULE, "billing", math.nan, False, 5), cluster="x"))
    assert (body["value"], body["state"]) == (None, "resolved")


@pytest.mark.parametrize(("status", "retry"), [(500, True), (429, True), (404, False), (302, False)])
def test_a_refusal_is_a_result_and_a_redirect_is_not_followed(hook: Hook, status: int, retry: bool):
    hook.status = status
    result = post(hook.url, b"{}", timeout_s=20)
    assert (result.status, result.succeeded, result.is_worth_a_retry) == (status, False, retry)
    assert len(hook.told) == 1


def test_letters_of_all_scripts_are_told(hook: Hook):
    assert post(f"{hook.url}/告警/a%20b?q=中&r=%E4%B8%AD", b"{}", timeout_s=20).succeeded
    assert hook.told[-1][0].endswith("/%E5%91%8A%E8%AD%A6/a%20b?q=%E4%B8%AD&r=%E4%B8%AD")


def test_nobody_there_is_a_result(hook: Hook):
    url = hook.url
    hook.server.server_close()
    result = post(url, b"{}", timeout_s=20)
    assert result.status == -1
    assert result.is_worth_a_retry
    assert isinstance(result, WebhookResult)


@pytest.mark.parametrize(
    "url",
    ["", "file:///etc/passwd", "ftp://x/y", "http://", "http://a:b@host/", "javascript:alert(1)", "http://host:0/", "http://[x/",
     "http://ho st/", "http://host:99999/", "http://a..b/", f"http://{'a' * 70}.org/"],
)  # fmt: skip
def test_other_addresses_are_refused(url: str):
    with pytest.raises(UsageError):
        check_url(url)


def test_an_address_is_taken_as_it_is():
    assert check_url(" https://hooks.example.org:8443/a?b=c ").port == 8443
