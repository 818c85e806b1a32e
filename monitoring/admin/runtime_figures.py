"""The answer to GET_BROKER_RUNTIME_INFO, its figures as values with units, and the outliers among brokers. Pure.

Brokers send texts: a size with its unit (``1.5 GiB``), a rate as means of the last 10 s, minute and ten minutes.

Source: docs/spec/remoting.md §2.5.3, docs/spec/broker.md §11.3.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from statistics import median

from broker_core.api import RequestCode, figure_of, read_runtime, size_of
from broker_core.outside import whole_of
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer

_BUCKET = re.compile(r"\[([^\[\]]+)\]:(\d+)")

Table = Mapping[str, str]
Value = float | str | None
"""A figure of one broker; None: the broker does not send it."""
Texts = Sequence[str]
Reader = Callable[[Texts], Value]
"""Takes the texts of a figure's keys, empty where a broker has none."""

_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class PutBucket:
    """Puts of the last whole minute whose duration was in a range, such as ``10~50ms``."""

    name: str
    puts: int


@dataclass(frozen=True, slots=True)
class BrokerRuntime:
    """The table of figures.

    Attributes:
        table: The table as received; of several brokers that of the first.
        put_times: Sum over all brokers. Empty until one has run for a minute.
        by_broker: The table of each of several brokers.
    """

    table: Mapping[str, str]
    put_times: tuple[PutBucket, ...]
    by_broker: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def number(self, name: str) -> float:
        """A figure; NaN if it is missing or no number."""
        try:
            return float(self.table[name])
        except (KeyError, ValueError):
            return math.nan


def runtime_request() -> AskBroker:
    return AskBroker(RequestCode.GET_BROKER_RUNTIME_INFO)


def runtime_of(answer: BrokerAnswer) -> BrokerRuntime:
    """Parse the table; raises `JsonBodyError` if the answer holds none."""
    tables = {broker: read_runtime(body) for broker, body in (answer.bodies or {"": answer.body}).items()}
    puts: Counter[str] = Counter()
    for table in tables.values():
        found = _BUCKET.findall(table.get("putMessageDistributeTime", ""))
        puts.update({name: number for name, count in found if (number := whole_of(count)) is not None})
    buckets = tuple(PutBucket(name, count) for name, count in puts.items())
    return BrokerRuntime(next(iter(tables.values())), buckets, tables if answer.bodies else {})


class FigureUnit(Enum):
    BYTES = "bytes"
    COUNT = "a count"
    RATE = "/s"
    SHARE = "share"
    """From 0 to 1."""
    MILLISECONDS = "ms"
    SECONDS = "s"
    MOMENT = "moment"
    """ms since the epoch, by the broker's clock."""
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance from which a broker's value is an outlier.

    A difference up to ``least`` is ignored; ``factor`` is the least ratio of the larger value to the smaller one.
    """

    least: float = 0.0
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class RuntimeFigure:
    """One figure. Its title and that of its section are English and its title is unique.

    Attributes:
        keys: Keys of the table that `read` takes.
        apart: None: brokers differ in it by nature.
    """

    title: str
    section: str
    unit: FigureUnit
    keys: tuple[str, ...]
    read: Reader
    apart: Distance | None = None

    def of(self, table: Table) -> Value:
        return self.read([table.get(key, "") for key in self.keys])

    def is_told(self, table: Table) -> bool:
        """Whether the table has any key of the figure, which depends on the broker's version and settings."""
        return any(key in table for key in self.keys)


def apart_of(values: Sequence[Value], distance: Distance | None) -> frozenset[int]:
    """Positions of outliers among the values of brokers; None is never one. Without a distance there are none.

    Of two values that differ both are outliers, because neither is known to be right.
    """
    known = [value for value in values if value is not None]
    if distance is None or len(known) < 2:
        return frozenset()
    return frozenset(place for place, value in enumerate(values) if value is not None and _is_apart(value, known, distance))


def _is_apart(value: float | str, known: Sequence[float | str], distance: Distance) -> bool:
    if isinstance(value, str):
        counts = Counter(known)
        most = max(counts.values())
        has_middle = list(counts.values()).count(most) == 1
        return not has_middle or counts[value] < most
    numbers = [one for one in known if not isinstance(one, str)]
    middle = sum(numbers) - value if len(numbers) == 2 else median(numbers)
    high, low = max(value, middle), min(value, middle)
    return high - low > distance.least and high > distance.factor * low


# ---- readers -----------------------------------------------------------------------------------------------------------


def _number(texts: Texts) -> float | None:
    return figure_of(texts[0])


def _more_than_0(texts: Texts) -> float | None:
    """A number that is 0 until it is measured, or a time that is 0 or -1 if there is none."""
    return figure_of(texts[0]) or None


def _size(texts: Texts) -> float | None:
    return size_of(texts[0])


def _words(texts: Texts) -> str | None:
    return texts[0] or None


def _mean_of_10_s(texts: Texts) -> float | None:
    """The first mean; the keys are spellings of one rate."""
    return _mean(texts, 0)


def _mean_of_10_min(texts: Texts) -> float | None:
    """The last mean, which a broker sends once it has run for ten minutes."""
    return _mean(texts, 2)


def _mean(texts: Texts, place: int) -> float | None:
    parts = next(filter(None, texts), "").split()
    return figure_of(parts[place]) if len(parts) > place else None


def _between(texts: Texts) -> float | None:
    above, below = map(figure_of, texts)
    return None if above is None or below is None else max(above - below, 0.0)


def _kept(texts: Texts) -> float | None:
    """Size of the log from begin to end; an empty store reports the begin as -1."""
    return 0.0 if texts == ["0", "-1"] else _between(texts)


def _total(texts: Texts) -> float | None:
    """The size ``Total`` of ``Total : 252.0 GiB, Free : 69.5 GiB.`` as bytes."""
    return size_of(texts[0].partition("Total :")[2])


def _free(texts: Texts) -> float | None:
    return size_of(texts[0].partition("Free :")[2])


BROKER, LOG, DISK, PUTS, READS, WAITING, TIMERS = (
    "Broker", "Commit log", "Disk", "Puts", "Reads", "Requests that wait", "Timers",
)  # fmt: skip
SECTIONS = (BROKER, LOG, DISK, PUTS, READS, WAITING, TIMERS)
_MIB, _GIB = 1 << 20, 1 << 30
_UNEVEN, _SLOW, _SLOWEST, _BUFFERED = Distance(10, 2), Distance(10, 2), Distance(100, 2), Distance(16 * _MIB, 2)


def _waiting(name: str, pool: str) -> tuple[RuntimeFigure, RuntimeFigure]:
    """Requests of a kind that wait for a broker thread, and the wait of the first of them."""
    size, wait_ms = (f"{pool}Size",), (f"{pool}HeadWaitTimeMills",)
    return (
        RuntimeFigure(f"{name} that wait", WAITING, FigureUnit.COUNT, size, _number, Distance(100, 2)),
        RuntimeFigure(f"{name}: longest wait", WAITING, FigureUnit.MILLISECONDS, wait_ms, _number, _SLOWEST),
    )


FIGURES = (
    RuntimeFigure("RocketMQ", BROKER, FigureUnit.WORDS, ("brokerVersionDesc",), _words, Distance()),
    RuntimeFigure("Started", BROKER, FigureUnit.MOMENT, ("bootTimestamp",), _more_than_0),
    RuntimeFigure("Log kept", LOG, FigureUnit.BYTES, ("commitLogMaxOffset", "commitLogMinOffset"), _kept,
                  Distance(_GIB, 2)),
    RuntimeFigure("Log begins at", LOG, FigureUnit.COUNT, ("commitLogMinOffset",), _number),
    RuntimeFigure("Log ends at", LOG, FigureUnit.COUNT, ("commitLogMaxOffset",), _number),
    RuntimeFigure("Oldest message", LOG, FigureUnit.MOMENT, ("earliestMessageTimeStamp",), _more_than_0,
                  Distance(_HOUR_MS)),
    RuntimeFigure("Not flushed", LOG, FigureUnit.BYTES, ("remainHowManyDataToFlush",), _size, _BUFFERED),
    RuntimeFigure("Not committed", LOG, FigureUnit.BYTES, ("remainHowManyDataToCommit",), _size, _BUFFERED),
    RuntimeFigure("Not dispatched", LOG, FigureUnit.BYTES, ("dispatchBehindBytes",), _number, Distance(_MIB, 2)),
    RuntimeFigure("Disk of the log", DISK, FigureUnit.SHARE, ("commitLogDiskRatio",), _number, Distance(0.1)),
    RuntimeFigure("Disk of the queues", DISK, FigureUnit.SHARE, ("consumeQueueDiskRatio",), _number, Distance(0.1)),
    RuntimeFigure("Disk size", DISK, FigureUnit.BYTES, ("commitLogDirCapacity",), _total, Distance(_GIB, 1.1)),
    RuntimeFigure("Disk free", DISK, FigureUnit.BYTES, ("commitLogDirCapacity",), _free, Distance(_GIB, 2)),
    RuntimeFigure("Put rate, 10 s", PUTS, FigureUnit.RATE, ("putTps",), _mean_of_10_s, _UNEVEN),
    RuntimeFigure("Put rate, 10 min", PUTS, FigureUnit.RATE, ("putTps",), _mean_of_10_min, _UNEVEN),
    RuntimeFigure("Put latency p99", PUTS, FigureUnit.MILLISECONDS, ("putLatency99",), _more_than_0, _SLOW),
    RuntimeFigure("Put latency p99.9", PUTS, FigureUnit.MILLISECONDS, ("putLatency999",), _more_than_0, _SLOW),
    RuntimeFigure("Longest put", PUTS, FigureUnit.MILLISECONDS, ("putMessageEntireTimeMax",), _more_than_0, _SLOWEST),
    RuntimeFigure("Page cache busy", PUTS, FigureUnit.MILLISECONDS, ("pageCacheLockTimeMills",), _number, _SLOWEST),
    RuntimeFigure("Failed puts", PUTS, FigureUnit.COUNT, ("putMessageFailedTimes",), _number, Distance()),
    RuntimeFigure("Put since the start", PUTS, FigureUnit.COUNT, ("putMessageTimesTotal",), _number),
    RuntimeFigure("Put today", PUTS, FigureUnit.COUNT, ("msgPutTotalTodayNow", "msgPutTotalTodayMorning"), _between),
    RuntimeFigure("Mean message size", PUTS, FigureUnit.BYTES, ("putMessageAverageSize",), _more_than_0,
                  Distance(1_024, 2)),
    RuntimeFigure("Messages out, 10 s", READS, FigureUnit.RATE, ("getTransferredTps", "getTransferedTps"), _mean_of_10_s,
                  _UNEVEN),
    RuntimeFigure("Reads with messages, 10 s", READS, FigureUnit.RATE, ("getFoundTps",), _mean_of_10_s, _UNEVEN),
    RuntimeFigure("Reads without any, 10 s", READS, FigureUnit.RATE, ("getMissTps",), _mean_of_10_s, _UNEVEN),
    RuntimeFigure("Longest read", READS, FigureUnit.MILLISECONDS, ("getMessageEntireTimeMax",), _more_than_0, _SLOWEST),
    RuntimeFigure("Got today", READS, FigureUnit.COUNT, ("msgGetTotalTodayNow", "msgGetTotalTodayMorning"), _between),
    *_waiting("Sends", "sendThreadPoolQueue"),
    *_waiting("Pulls", "pullThreadPoolQueue"),
    *_waiting("Queries", "queryThreadPoolQueue"),
    RuntimeFigure("Ends of transactions that wait", WAITING, FigureUnit.COUNT, ("EndTransactionQueueSize",), _number,
                  Distance(100, 2)),
    RuntimeFigure("Wheel behind the clock", TIMERS, FigureUnit.SECONDS, ("timerReadBehind",), _number, Distance(10, 2)),
    RuntimeFigure("Not in the wheel yet", TIMERS, FigureUnit.COUNT, ("timerOffsetBehind",), _number, Distance(1_000, 2)),
    RuntimeFigure("In the wheel", TIMERS, FigureUnit.COUNT, ("timerCongestNum",), _number, Distance(1_000, 2)),
)  # fmt: skip
"""In the order in which they are shown."""
