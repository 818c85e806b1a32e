"""What a search gives: steps with hits, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.counted import counted
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.protocol.message.model import StoredMessage

STEP_HITS_MAX = 256
STEP_BYTES_MAX = 4 * 1024 * 1024
"""Hits of one step hold about this much at most; a single larger one is given all the same."""
FINDINGS_MAX = 1_000
"""Damaged places named; more are counted."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that passes the filter."""

    message: StoredMessage
    record: bytes
    """As stored."""
    broker: str = ""
    """Name of the broker that gave it; empty where it was read from files."""


@dataclass(frozen=True, slots=True)
class SearchStep:
    """What one turn of a search brought.

    Attributes:
        hits: In the order of the log; of a cluster, those of each queue in its order.
        scanned: Messages looked at so far.
        total: About how many will have been looked at in the end.
        found: Hits so far.
    """

    hits: list[Hit]
    scanned: int
    total: int
    found: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended. It is complete when there are no reasons why not."""

    scanned: int
    found: int
    reasons: tuple[str, ...]
    findings: tuple[StoreFinding, ...] = ()
    """Damaged places, at most `FINDINGS_MAX`."""

    @property
    def is_complete(self) -> bool:
        """Whether every message that passes the filter was given."""
        return not self.reasons

    def __str__(self) -> str:
        counts = f"{counted(self.found, 'hit')} in {counted(self.scanned, 'message')}"
        return f"complete: {counts}" if self.is_complete else f"partial: {counts}; {'; '.join(self.reasons)}"


def limit_reason(limit: int) -> str:
    """Why a search ended with as many hits as it was to find."""
    return f"the limit of {counted(limit, 'hit')} was reached"


def undecoded_reason(count: int) -> str:
    """Why bodies may hold what was not found."""
    return counted(
        count,
        "body could not be decompressed and was searched as it is stored",
        "bodies could not be decompressed and were searched as they are stored",
    )
