"""Bounds and times of watching a cluster from outside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """How gently a cluster is watched. Rates are those of one broker; what a person asks for is not held back by them.

    Attributes:
        requests_per_second: Requests to one broker for figures.
        bytes_per_second: Answers of one broker to them.
        round_ms: Between two rounds of figures.
        tables_ms: Between two looks at topics, groups and brokers.
        retry_ms: Before a broker or name server that does not answer is tried again.
        timeout_ms: For one answer; a broker that takes longer counts as lost until it answers again.
        page_ms: For what a page asks of all brokers together, and once more for what it asks for then; what has not come by
            then is missing, and said to be.
        asked_ms: How long a topic that a person asked about is looked at first.
    """

    requests_per_second: int = 50
    bytes_per_second: int = 2 * 1024 * 1024
    round_ms: int = 1_000
    tables_ms: int = 10_000
    retry_ms: int = 2_000
    timeout_ms: int = 3_000
    page_ms: int = 4_000
    asked_ms: int = 30_000
