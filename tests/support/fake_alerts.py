"""Alerts for the fake source: a real keeper, whose database is in memory."""

from __future__ import annotations

import threading
from pathlib import Path

from monitoring.alert_keeper import AlertKeeper
from monitoring.webhook import WebhookResult
from tests.support.clock import ManualClock

_SECONDS = 60.0


class FakeHook:
    """A web hook that accepts whatever it is told.

    Attributes:
        open: While it is not set, the hook keeps its answer back.
    """

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()

    def __call__(self, _url: str, _body: bytes) -> WebhookResult:
        assert self.open.wait(_SECONDS)
        return WebhookResult(200, "OK", 3.0)


def fake_alerts(clock: ManualClock, hook: FakeHook) -> AlertKeeper:
    """A keeper that tells no web hook in earnest."""
    return AlertKeeper(Path(":memory:"), clock=clock, cluster="Embedded", send=hook)
