"""Posts alerts to a web address: a POST with JSON, bounded in time, without redirects. It blocks."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, urlsplit

from broker_core.api import UsageError
from monitoring.alert_rules import unit_of
from monitoring.alert_watch import AlertChange

if TYPE_CHECKING:
    from http.client import HTTPConnection

TIMEOUT_S = 5.0
ATTEMPTS_MAX = 3
RETRY_MS = (2_000, 10_000)
"""Pauses before the second and the third attempt."""
ANSWER_BYTES_MAX = 4_096
UNIT_KEYS = {"ms": "Ms", "s": "S", "%": "Percent", "B": "Bytes", "B/s": "BytesPerSecond", "/s": "PerSecond"}
"""Suffixes of the keys of figures with a unit: ``thresholdMs``, ``valueMs``."""
_AS_WRITTEN = "/?%:@!$&'()*+,;=~"
"""Characters of a path and a query that stay unchanged; encoded ones stay encoded."""
_OK = range(200, 300)
_WORTH_A_RETRY = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class WebhookResult:
    """Result of one attempt; ``status`` is -1 without an answer, ``reason`` is the server's or the system's text."""

    status: int
    reason: str
    took_ms: float

    @property
    def succeeded(self) -> bool:
        return self.status in _OK

    @property
    def is_worth_a_retry(self) -> bool:
        """Whether another attempt may succeed: no answer, or a temporary fault of the server."""
        return self.status < 0 or self.status >= 500 or self.status in _WORTH_A_RETRY


def check_url(url: str) -> SplitResult:
    """The parts of a valid address; raises `UsageError` for other schemes than http and https, no valid host, or a password."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise UsageError(f"“{url}” is no address: {error}", url=url) from error
    if parts.scheme not in ("http", "https"):
        raise UsageError("a web hook is an http or https address, such as https://hooks.example.org/orbit", url=url)
    if not parts.hostname or port == 0:
        raise UsageError("the address of the web hook names no host", url=url)
    if parts.username or parts.password:
        raise UsageError("put no password into the address of the web hook; it would stand in the settings file", url=url)
    if any(ord(letter) <= ord(" ") for letter in url.strip()):
        raise UsageError("the address of the web hook has a space or a control character in it", url=url)
    try:
        _host_of(parts)
    except UnicodeError as error:
        raise UsageError(f"“{parts.hostname}” is no name of a host", url=url) from error
    return parts


def _host_of(parts: SplitResult) -> str:
    """The host in ASCII (IDNA, RFC 3490)."""
    return (parts.hostname or "").encode("idna").decode("ascii")


def payload(change: AlertChange, *, cluster: str) -> bytes:
    """The body of a post: the figures plainly, and again under keys with their unit if they have one."""
    rule = change.rule
    value = None if math.isnan(change.value) else change.value
    unit = UNIT_KEYS.get(unit_of(rule.series), "")
    with_unit = {f"threshold{unit}": rule.threshold, f"value{unit}": value} if unit else {}
    return json.dumps(
        {
            "source": "orbit",
            "cluster": cluster,
            "state": "firing" if change.is_firing else "resolved",
            "rule": rule.name,
            "ruleId": rule.rule_id,
            "severity": rule.severity.name.lower(),
            "series": rule.series,
            "subject": change.subject,
            "condition": "above" if rule.above else "below",
            "threshold": rule.threshold,
            "value": value,
            "atMs": change.at_ms,
            **with_unit,
        },
        ensure_ascii=False,
    ).encode()


def post(url: str, body: bytes, *, timeout_s: float = TIMEOUT_S) -> WebhookResult:
    """POST JSON once; a failed attempt is a result, too."""
    from http.client import HTTPException

    parts = check_url(url)
    began = time.monotonic()

    def took_ms() -> float:
        return (time.monotonic() - began) * 1_000

    connection = _connect(parts, timeout_s)
    try:
        target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_AS_WRITTEN)
        connection.request("POST", target, body, {"Content-Type": "application/json; charset=utf-8", "User-Agent": "orbit"})
        answer = connection.getresponse()
        answer.read(ANSWER_BYTES_MAX)
        return WebhookResult(answer.status, answer.reason, took_ms())
    except (OSError, HTTPException, ValueError) as error:
        return WebhookResult(-1, str(error) or type(error).__name__, took_ms())
    finally:
        connection.close()


def _connect(parts: SplitResult, timeout_s: float) -> HTTPConnection:
    from http.client import HTTPConnection, HTTPSConnection

    host = _host_of(parts)
    if parts.scheme == "https":
        return HTTPSConnection(host, parts.port, timeout=timeout_s)
    return HTTPConnection(host, parts.port, timeout=timeout_s)
