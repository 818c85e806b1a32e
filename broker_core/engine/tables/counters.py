"""Counters of the broker since its start, and rates from samples of them (Source: docs/spec/broker.md §11).

Counting is a few integer additions; rates are computed on request.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from broker_core.engine.tables.latency import LatencyWindow
from broker_core.engine.tables.stats_windows import Reading, StatsKey, StatsWindows

TOTAL_SAMPLES = 601
RATE_SPANS_S = (10, 60, 600)

PUT_TIME_LIMITS_S = (0.001, 0.010, 0.050, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10)
"""Bounds of the buckets of put times; whole milliseconds count: 0.9 ms is 0. Source: docs/spec/broker.md §11.3."""
_DISTRIBUTION_MS = 60_000


@dataclass(slots=True)
class TopicCounter:
    """Messages and bytes of one topic; a batch is one of ``puts``."""

    puts: int = 0
    put_messages: int = 0
    put_bytes: int = 0
    got_messages: int = 0
    got_bytes: int = 0


class PutCount(NamedTuple):
    """Puts to one topic, a batch being one, with their messages and the bytes of their records."""

    topic: str
    puts: int
    messages: int
    size: int


@dataclass(slots=True)
class GroupCounter:
    """Messages and bytes that one group pulled, and messages it could not consume."""

    got_messages: int = 0
    got_bytes: int = 0
    consume_failed: int = 0


@dataclass(slots=True)
class PullCounter:
    """Messages and bytes that one group pulled of one topic; ``pulls`` counts those that found something."""

    pulls: int = 0
    messages: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class _Totals:
    at_ms: int
    put_messages: int
    get_found: int
    get_missed: int
    got_messages: int


@dataclass(slots=True)
class DayTotals:
    """Messages put and got until the last midnight, and until the one before."""

    today_morning: tuple[int, int] = (0, 0)
    yesterday_morning: tuple[int, int] = (0, 0)


class Counters:
    """Counters of one broker since its start.

    Attributes:
        groups: Consumer group → its counter.
        pulls: ``(topic, group)`` → its counter.
        sent_back: ``(topic, group)`` → messages that the group could not consume.
        stats: Windows over these counters, by the names of RocketMQ.
        put_distribution: Puts of the last whole minute by `PUT_TIME_LIMITS_S`; empty before the first.
        put_latency: Time from a put's request to its answer.
        counted_elsewhere: Machine code has counted puts; see `count_by`.
    """

    def __init__(self, *, now_ms: int) -> None:
        self.started_ms = now_ms
        self._topics: dict[str, TopicCounter] = defaultdict(TopicCounter)
        self.groups: dict[str, GroupCounter] = defaultdict(GroupCounter)
        self.pulls: dict[tuple[str, str], PullCounter] = defaultdict(PullCounter)
        self.sent_back: dict[tuple[str, str], int] = defaultdict(int)
        self._puts = 0
        self.put_latency = LatencyWindow()
        self._put_messages = 0
        self._put_bytes = 0
        self.counted_elsewhere = False
        self._counts: Callable[[], Iterable[PutCount]] = tuple
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
        self.stats = StatsWindows(self._readings, self._reading_of, now_ms=now_ms)
        self.put_distribution: list[int] = []
        self._slow_puts = [0] * len(PUT_TIME_LIMITS_S)
        self._distribution_from = (now_ms, 0)

    def put(self, topic: str, messages: int, size: int) -> None:
        """Count the stored messages of one put."""
        self._add_puts(topic, 1, messages, size)

    def _add_puts(self, topic: str, puts: int, messages: int, size: int) -> None:
        counter = self._topics[topic]
        counter.puts += puts
        counter.put_messages += messages
        counter.put_bytes += size
        self._puts += puts
        self._put_messages += messages
        self._put_bytes += size

    def put_took(self, seconds: float, now_s: float, puts: int = 1) -> None:
        """Count the time of one put, from request to answer, or of several that took as long."""
        self.put_max_s = max(self.put_max_s, seconds)
        if seconds >= PUT_TIME_LIMITS_S[0]:
            self._slow_puts[bisect_right(PUT_TIME_LIMITS_S, seconds) - 1] += puts
        self.put_latency.add(seconds, now_s, puts)

    def count_by(self, counts: Callable[[], Iterable[PutCount]]) -> None:
        """Take puts that somebody else counts, when a counter of puts is read after `counted_elsewhere` was set."""
        self._counts = counts

    def _settle(self) -> None:
        if self.counted_elsewhere:
            self.counted_elsewhere = False
            for count in self._counts():
                self._add_puts(*count)

    @property
    def topics(self) -> dict[str, TopicCounter]:
        self._settle()
        return self._topics

    @property
    def puts(self) -> int:
        """Puts of producers, a batch is one."""
        self._settle()
        return self._puts

    @property
    def put_messages(self) -> int:
        """Messages that producers put."""
        self._settle()
        return self._put_messages

    @property
    def put_bytes(self) -> int:
        """Bytes of their records."""
        self._settle()
        return self._put_bytes

    def got(self, topic: str, group: str, messages: int, size: int, pulls: int = 1) -> None:
        """Count the messages that some pulls returned to a consumer."""
        for counter in (self.topics[topic], self.groups[group]):
            counter.got_messages += messages
            counter.got_bytes += size
        pulled = self.pulls[topic, group]
        pulled.pulls += pulls
        pulled.messages += messages
        pulled.size += size
        self.got_messages += messages
        self.got_bytes += size
        self.get_found += pulls

    def get_took(self, seconds: float) -> None:
        """Count the time of one read for a pull."""
        self.get_max_s = max(self.get_max_s, seconds)

    def consume_failed(self, group: str, topic: str = "") -> None:
        """Count one message that a consumer sent back; with its topic, if known."""
        self.groups[group].consume_failed += 1
        if topic:
            self.sent_back[topic, group] += 1

    def forget_topic(self, topic: str) -> None:
        self.topics.pop(topic, None)
        self._forget(lambda key: key[0] == topic)

    def forget_group(self, group: str) -> None:
        self.groups.pop(group, None)
        self._forget(lambda key: key[1] == group)

    def _forget(self, is_gone: Callable[[tuple[str, str]], bool]) -> None:
        for table in (self.pulls, self.sent_back):
            for key in [*filter(is_gone, table)]:
                del table[key]

    # ---- rates ----

    def sample(self, now_ms: int) -> None:
        """Take a sample; to be called once a second."""
        self._totals.append(self._total(now_ms))
        self.stats.sample(now_ms)
        since_ms, puts = self._distribution_from
        if now_ms - since_ms >= _DISTRIBUTION_MS:
            self.put_distribution = [max(self.puts - puts - sum(self._slow_puts), 0), *self._slow_puts]
            self._slow_puts = [0] * len(PUT_TIME_LIMITS_S)
            self._distribution_from = (now_ms, self.puts)
        day = _local_day(now_ms)
        if day != self._today:
            self._today = day
            self.day = DayTotals((self.put_messages, self.got_messages), self.day.today_morning)

    def _total(self, now_ms: int) -> _Totals:
        return _Totals(now_ms, self.put_messages, self.get_found, self.get_missed, self.got_messages)

    def rates(self, what: str) -> list[float]:
        """Per second over the last 10, 60 and 600 s, as far as there are samples.

        Args:
            what: ``put``, ``get_found``, ``get_missed``, ``get`` (both) or ``got`` (messages returned).
        """
        newest = self._totals[-1]
        result = []
        for span in RATE_SPANS_S:
            if len(self._totals) > span:
                oldest = self._totals[-1 - span]
                elapsed = max(newest.at_ms - oldest.at_ms, 1)
                result.append((_pick(newest, what) - _pick(oldest, what)) * 1000 / elapsed)
        return result

    def pull_rate(self, topic: str, group: str, now_ms: int) -> float:
        """Messages per second that a group pulled of a topic in the last minute."""
        found = self.stats.view("GROUP_GET_NUMS", f"{topic}@{group}", now_ms)
        return 0.0 if found is None else found.minute.tps

    def _readings(self) -> dict[StatsKey, Reading]:
        keys: list[StatsKey] = [("TOPIC_PUT", topic) for topic in self.topics]
        keys += [("GROUP_GET", f"{topic}@{group}") for topic, group in self.pulls]
        keys += [("SNDBCK_PUT", f"{topic}@{group}") for topic, group in self.sent_back]
        keys += [("BROKER_PUT", ""), ("BROKER_GET", "")]
        return {key: reading for key in keys if (reading := self._reading_of(key)) is not None}

    def _reading_of(self, key: StatsKey) -> Reading | None:
        kind, name = key
        if kind == "TOPIC_PUT":
            counter = self.topics.get(name)
            return (counter.put_messages, counter.put_bytes, counter.puts) if counter is not None and counter.puts else None
        if kind == "BROKER_PUT":
            return self.put_messages, self.put_bytes, self.puts
        if kind == "BROKER_GET":
            return self.got_messages, self.got_bytes, self.get_found
        topic, _, group = name.partition("@")
        if kind == "GROUP_GET":
            pulled = self.pulls.get((topic, group))
            return None if pulled is None else (pulled.messages, pulled.size, pulled.pulls)
        count = self.sent_back.get((topic, group)) if kind == "SNDBCK_PUT" else None
        return None if count is None else (count, 0, count)


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
