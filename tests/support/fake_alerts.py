"""Alerts for the fake source: a real keeper, whose database is in memory."""

from __future__ import annotations

from pathlib import Path

from monitoring.alert_keeper import AlertKeeper
from monitoring.webhook import WebhookResult
from tests.support.clock import ManualClock


def fake_alerts(clock: ManualClock) -> AlertKeeper:
    """A keeper that tells no web hook in earnest."""
    return AlertKeeper(Path(":memory:"), clock=clock, cluster="Embedded", send=_accepted)


def _accepted(_url: str, _body: bytes) -> WebhookResult:
    return WebhookResult(200, "OK", 3.0)
