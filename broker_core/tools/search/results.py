"""Results of a search: steps with hits, and the outcome."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.counted import counted
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.protocol.message.model import StoredMessage

STEP_HITS_MAX = 256
STEP_BYTES_MAX = 4 * 1024 * 1024
"""Approximate bound on the hits of one step; a single larger one is returned nevertheless."""
FINDINGS_MAX = 1_000
"""Reported damaged places; more are counted."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that passes the filter."""

    message: StoredMessage
    record: bytes
    """As stored."""
    broker: str = ""
    """Name of the broker that returned it; empty if it was read from files."""


@dataclass(frozen=True, slots=True)
class SearchStep:
    """Result of one turn of a search.

    Attributes:
        hits: In the order of the log; of a cluster, those of each queue in its order.
        scanned, found: Messages scanned, and hits, so far.
        total: Approximate number of messages that will have been scanned in the end.
    """

    hits: list[Hit]
    scanned: int
    total: int
    found: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended. Without reasons it is complete."""

    scanned: int
    found: int
    reasons: tuple[str, ...]
    findings: tuple[StoreFinding, ...] = ()
    """Damaged places, at most `FINDINGS_MAX`."""
    notes: tuple[str, ...] = ()
    """What is not certain of the hits, and what is no longer stored; the search is complete all the same."""

    @property
    def is_complete(self) -> bool:
        """Whether every message that passes the filter was found."""
        return not self.reasons

    def __str__(self) -> str:
        counts = f"{counted(self.found, 'hit')} in {counted(self.scanned, 'message')}"
        return f"complete: {counts}" if self.is_complete else f"partial: {counts}; {'; '.join(self.reasons)}"


def limit_reason(limit: int) -> str:
    return f"the limit of {counted(limit, 'hit')} was reached"


def undecoded_reason(count: int) -> str:
    """Why bodies may hold undetected matches."""
    return counted(
        count,
        "body could not be decompressed and was searched as it is stored",
        "bodies could not be decompressed and were searched as they are stored",
    )
