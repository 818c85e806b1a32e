"""Sources for the gallery: the figures of a real broker, whose answers stay pending or are errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from broker_core.api import OrbitError, WorkerError
from monitoring.sources.base import ClusterSource

KNOWN_WITHOUT_ASKING = frozenset(
    {
        "name", "kept_under", "connect_details", "status", "reason", "read_only", "ready", "state", "history", "add_listener",
        "remove_listener",
    }
)  # fmt: skip
"""Attributes that a source answers by itself; all others are requests to the broker."""
REASON = "broker broker-a did not answer within 10,000 ms; it is asked again until it does"


def silent(source: ClusterSource) -> ClusterSource:
    """A source whose requests stay pending."""
    return cast("ClusterSource", _Without(source, _Unanswered))


def failing(source: ClusterSource) -> ClusterSource:
    return cast("ClusterSource", _Without(source, _Failed))


class _Unanswered:
    def then(self, done: Callable[[Any], None], failed: Callable[[OrbitError], None]) -> None:
        """Keep nothing: neither is ever called."""

    def cancel(self) -> None:
        """Nothing to give up."""


class _Failed(_Unanswered):
    def then(self, _done: Callable[[Any], None], failed: Callable[[OrbitError], None]) -> None:
        failed(WorkerError(REASON))


class _Without:
    def __init__(self, source: ClusterSource, answer: Callable[[], _Unanswered]) -> None:
        self._source = source
        self._answer = answer

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the source has of that name
        found = getattr(self._source, name)
        return found if name in KNOWN_WITHOUT_ASKING else lambda *_arguments, **_named: self._answer()
