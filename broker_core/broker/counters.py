"""Counters of the broker since its start, and rates from samples of them (Source: spec broker §11).

Counting is a few integer additions; rates are computed when someone asks.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from broker_core.broker.latency import LatencyWindow

TOTAL_SAMPLES = 601
MINUTE_SAMPLES = 7
MINUTE_SAMPLE_MS = 10_000
RATE_SPANS_S = (10, 60, 600)


@dataclass(slots=True)
class TopicCounter:
    """Messages and bytes of one topic."""

    put_messages: int = 0
    put_bytes: int = 0
    got_messages: int = 0
    got_bytes: int = 0


@dataclass(slots=True)
class GroupCounter:
    """Messages and bytes that one group pulled, and messages it could not consume."""

    got_messages: int = 0
    got_bytes: int = 0
    consume_failed: int = 0


@dataclass(frozen=True, slots=True)
class _Totals:
    at_ms: int
    put_messages: int
    get_found: int
    get_missed: int
    got_messages: int


@dataclass(slots=True)
class DayTotals:
    """Messages put and got: now, at the last midnight, at the one before."""

    today_morning: tuple[int, int] = (0, 0)
    yesterday_morning: tuple[int, int] = (0, 0)


class Counters:
    """What passed through the broker since it started.

    Attributes:
        topics: Topic → its counter.
        groups: Consumer group → its counter.
        pulls: ``(topic, group)`` → messages pulled.
        put_latency: Time from a put's request to its answer.
    """

    def __init__(self, *, now_ms: int) -> None:
        self.started_ms = now_ms
        self.topics: dict[str, TopicCounter] = {}
        self.groups: dict[str, GroupCounter] = {}
        self.pulls: dict[tuple[str, str], int] = {}
        self.put_latency = LatencyWindow()
        self.put_messages = 0
        self.put_bytes = 0
        self.put_failed = 0
        self.put_max_s = 0.0
        self.got_messages = 0
        self.got_bytes = 0
        self.get_found = 0
        self.get_missed = 0
        self.get_max_s = 0.0
        self.day = DayTotals()
        self._today = _local_day(now_ms)
        self._totals: deque[_Totals] = deque([self._total(now_ms)], TOTAL_SAMPLES)
        self._minutes: deque[tuple[int, dict[tuple[str, str], int]]] = deque([(now_ms, {})], MINUTE_SAMPLES)

    def put(self, topic: str, messages: int, size: int) -> None:
        """Count stored messages of one put."""
        counter = self.topics.get(topic)
        if counter is None:
            counter = self.topics[topic] = TopicCounter()
        counter.put_messages += messages
        counter.put_bytes += size
        self.put_messages += messages
        self.put_bytes += size

    def put_took(self, seconds: float, now_s: float) -> None:
        """Count how long a put took, from request to answer."""
        self.put_max_s = max(self.put_max_s, seconds)
        self.put_latency.add(seconds, now_s)

    def got(self, topic: str, group: str, messages: int, size: int) -> None:
        """Count messages handed to a consumer by one pull."""
        topic_counter = self.topics.get(topic)
        if topic_counter is None:
            topic_counter = self.topics[topic] = TopicCounter()
        group_counter = self.groups.get(group)
        if group_counter is None:
            group_counter = self.groups[group] = GroupCounter()
        for counter in (topic_counter, group_counter):
            counter.got_messages += messages
            counter.got_bytes += size
        key = (topic, group)
        self.pulls[key] = self.pulls.get(key, 0) + messages
        self.got_messages += messages
        self.got_bytes += size
        self.get_found += 1

    def get_took(self, seconds: float) -> None:
        """Count how long reading for a pull took."""
        self.get_max_s = max(self.get_max_s, seconds)

    def consume_failed(self, group: str) -> None:
        """Count one message that a consumer gave back."""
        self.groups.setdefault(group, GroupCounter()).consume_failed += 1

    def forget_topic(self, topic: str) -> None:
        """Drop the counters of a deleted topic."""
        self.topics.pop(topic, None)
        for key in [key for key in self.pulls if key[0] == topic]:
            del self.pulls[key]

    def forget_group(self, group: str) -> None:
        """Drop the counters of a deleted group."""
        self.groups.pop(group, None)
        for key in [key for key in self.pulls if key[1] == group]:
            del self.pulls[key]

    # ---- rates ----

    def sample(self, now_ms: int) -> None:
        """Take a sample; to be called once a second."""
        self._totals.append(self._total(now_ms))
        if now_ms - self._minutes[-1][0] >= MINUTE_SAMPLE_MS:
            self._minutes.append((now_ms, dict(self.pulls)))
        day = _local_day(now_ms)
        if day != self._today:
            self._today = day
            self.day = DayTotals((self.put_messages, self.got_messages), self.day.today_morning)

    def _total(self, now_ms: int) -> _Totals:
        return _Totals(now_ms, self.put_messages, self.get_found, self.get_missed, self.got_messages)

    def rates(self, what: str) -> list[float]:
        """Per second over the last 10, 60 and 600 s, as far as there are samples.

        Args:
            what: ``put``, ``get_found``, ``get_missed``, ``get`` (both) or ``got`` (messages handed out).
        """
        newest = self._totals[-1]
        result = []
        for span in RATE_SPANS_S:
            if len(self._totals) > span:
                oldest = self._totals[-1 - span]
                elapsed = max(newest.at_ms - oldest.at_ms, 1)
                result.append((_pick(newest, what) - _pick(oldest, what)) * 1000 / elapsed)
        return result

    def pull_rate(self, topic: str, group: str) -> float:
        """Messages per second that a group pulled of a topic in the last minute."""
        (first_ms, first), (last_ms, last) = self._minutes[0], self._minutes[-1]
        key = (topic, group)
        return (last.get(key, 0) - first.get(key, 0)) * 1000 / (last_ms - first_ms) if last_ms > first_ms else 0.0


def _pick(totals: _Totals, what: str) -> int:
    if what == "put":
        return totals.put_messages
    if what == "got":
        return totals.got_messages
    found = totals.get_found if what in ("get_found", "get") else 0
    missed = totals.get_missed if what in ("get_missed", "get") else 0
    return found + missed


def _local_day(now_ms: int) -> tuple[int, int]:
    local = time.localtime(now_ms / 1000)
    return local.tm_year, local.tm_yday
