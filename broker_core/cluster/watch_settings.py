from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Rates, for one broker, and times of watching a cluster from outside. They do not delay a user's requests.

    Attributes:
        requests_per_second: Requests to one broker for figures.
        bytes_per_second: Answers of one broker to them.
        round_ms: Between two rounds of figures.
        tables_ms: Between two reads of topics, groups and brokers.
        retry_ms: Before a broker or name server that does not answer is tried again.
        timeout_ms: For one answer; a slower broker counts as lost until it answers again.
        page_ms: For a page's requests to all brokers together, and again for its follow-up requests; a later answer is missing,
            and reported as missing.
        asked_ms: How long a topic that a user requested is read first.
    """

    requests_per_second: int = 50
    bytes_per_second: int = 2 * 1024 * 1024
    round_ms: int = 1_000
    tables_ms: int = 10_000
    retry_ms: int = 2_000
    timeout_ms: int = 3_000
    page_ms: int = 4_000
    asked_ms: int = 30_000
