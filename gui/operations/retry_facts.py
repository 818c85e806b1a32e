"""`RetryReader`: the attempt that a pending retry waits for, and its limit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import JsonBodyError, OrbitError, read_group_settings
from broker_core.worker.questions.administration import BrokerAnswer
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessage
from gui.operations.queries import LatestQuery
from monitoring.admin.groups import ask_settings
from monitoring.dead_letters import RETRIES_DEFAULT, WaitingRetry
from monitoring.sources.base import ClusterSource

_OWN_LIMIT = "MAX_RECONSUME_TIMES"


class LimitFrom(Enum):
    """Source of the retry limit. The limit of a client's own request has priority, and is not stored."""

    GROUP = "group"
    MESSAGE = "message"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class RetryFacts:
    """Facts of a pending retry.

    Attributes:
        attempt: Number of the pending attempt, the first retry being 1.
        limit: Retries before it becomes a dead letter (Source: docs/spec/broker.md §8.1, retryMaxTimes).
        limit_from: Source of the limit.
        unknown: Why the settings of the group are not known; empty where they are.
    """

    attempt: int
    limit: int = RETRIES_DEFAULT
    limit_from: LimitFrom = LimitFrom.DEFAULT
    unknown: str = ""


class RetryReader(QObject):
    """Reads the message, whose count of deliveries is exact, and the settings of its group. GUI thread only.

    Signals:
        changed: `facts` changed.
    """

    changed = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._retry: WaitingRetry | None = None
        self._message: LatestQuery[MessageDetail] = LatestQuery(self)
        self._settings: LatestQuery[BrokerAnswer] = LatestQuery(self)
        self._limits: dict[str, int] = {}
        self.facts: RetryFacts | None = None
        """Of the last message requested; at first only what its delay level implies."""

    def read(self, retry: WaitingRetry | None) -> None:
        """Read a pending retry; None: forget the previous one."""
        if retry == self._retry:
            return
        self._retry = retry
        self._message.cancel()
        self._settings.cancel()
        self.facts = None
        if retry is not None:
            self._take(retry.attempt, None)
            self._message.ask(self._source.ask(ReadMessage(retry.physical_offset)), self._read, self._gone)

    def forget(self) -> None:
        """Read everything again, because settings may have changed."""
        self._limits.clear()
        self._retry = None

    def _read(self, detail: MessageDetail) -> None:
        retry = self._retry
        assert retry is not None
        own = detail.properties.get(_OWN_LIMIT, "")
        attempt = detail.reconsume_times or retry.attempt
        if own.isdecimal():
            self._take(attempt, RetryFacts(attempt, int(own), LimitFrom.MESSAGE))
        elif retry.group in self._limits:
            self._take(attempt, RetryFacts(attempt, self._limits[retry.group], LimitFrom.GROUP))
        else:
            self._take(attempt, None)
            asked = self._source.ask(ask_settings(retry.group))
            self._settings.ask(asked, partial(self._answered, retry.group, attempt), partial(self._unknown, attempt))

    def _answered(self, group: str, attempt: int, answer: BrokerAnswer) -> None:
        try:
            limit = read_group_settings(answer.body).retry_times_max
        except JsonBodyError as error:
            self._unknown(attempt, error)
            return
        self._limits[group] = limit
        self._take(attempt, RetryFacts(attempt, limit, LimitFrom.GROUP))

    def _unknown(self, attempt: int, error: OrbitError) -> None:
        self._take(attempt, RetryFacts(attempt, unknown=error.message))

    def _gone(self, error: OrbitError) -> None:
        assert self._retry is not None
        self._unknown(self._retry.attempt, error)

    def _take(self, attempt: int, facts: RetryFacts | None) -> None:
        self.facts = facts or RetryFacts(attempt)
        self.changed.emit()
