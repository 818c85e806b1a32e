"""What a broker says of itself on GET_BROKER_RUNTIME_INFO. Pure.

Source: spec remoting §2.5.3, broker §11.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from broker_core.api import AskBroker, BrokerAnswer, CodecError, RequestCode, parse_object

_BUCKET = re.compile(r"\[([^\]]+)\]:(\d+)")


@dataclass(frozen=True, slots=True)
class PutBucket:
    """Puts of the last whole minute that took a time in a range, such as ``10~50ms``."""

    name: str
    puts: int


@dataclass(frozen=True, slots=True)
class BrokerRuntime:
    """The table of figures.

    Attributes:
        table: All of it, as told.
        put_times: Empty while the broker has not run for a minute.
    """

    table: Mapping[str, str]
    put_times: tuple[PutBucket, ...]

    def number(self, name: str) -> float:
        """A figure; NaN where it is missing or none."""
        try:
            return float(self.table[name])
        except (KeyError, ValueError):
            return math.nan


def runtime_request() -> AskBroker:
    """Asks for the table."""
    return AskBroker(RequestCode.GET_BROKER_RUNTIME_INFO)


def runtime_of(answer: BrokerAnswer) -> BrokerRuntime:
    """Read the table.

    Raises:
        CodecError: The answer holds none.
    """
    table = parse_object(answer.body).get("table")
    if not isinstance(table, dict):
        raise CodecError(f"the broker's runtime figures hold no table: {answer.body[:80]!r}")
    texts = {str(name): str(value) for name, value in table.items()}
    found = _BUCKET.findall(texts.get("putMessageDistributeTime", ""))
    return BrokerRuntime(texts, tuple(PutBucket(name, int(puts)) for name, puts in found))
