"""The answer to GET_BROKER_RUNTIME_INFO. Pure.

Source: docs/spec/remoting.md §2.5.3, docs/spec/broker.md §11.3.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from broker_core.api import RequestCode, read_runtime
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer

_BUCKET = re.compile(r"\[([^\]]+)\]:(\d+)")


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
        puts.update({name: int(count) for name, count in _BUCKET.findall(table.get("putMessageDistributeTime", ""))})
    buckets = tuple(PutBucket(name, count) for name, count in puts.items())
    return BrokerRuntime(next(iter(tables.values())), buckets, tables if answer.bodies else {})
