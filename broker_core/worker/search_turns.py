"""A search a moment at a time: the heads that each moment finds. Independent of process and thread."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import TYPE_CHECKING

from broker_core.worker.message_views import MessageHead, head_columns, head_of
from broker_core.worker.questions.searches import SearchHits

if TYPE_CHECKING:
    from broker_core.tools.search.results import Outcome, SearchStep
    from broker_core.tools.search.scan import Breather, StoreSearch

TURN_SECONDS = 0.2
"""How long a search runs before it reports its progress."""
HITS_ENOUGH = 256


class SearchTurns:
    """Continues one search. To be used by one thread at a time; any thread may call `cancel`.

    ``breathe`` gives others their turn; None where nothing else runs.
    """

    def __init__(self, search: StoreSearch, *, body_starts: bool, breathe: Breather | None = None) -> None:
        self._search = search
        self._steps: Generator[SearchStep, None, None] = search.steps()
        self._last = (0, search.plan.total_messages, 0)
        """Scanned, total and found of the last step."""
        self._body_starts = body_starts
        self._breathe = breathe

    def turn(self, search_id: int) -> SearchHits:
        """What a moment of search finds."""
        if self._breathe is not None:
            self._breathe.begin()
        until = time.monotonic() + TURN_SECONDS
        found: list[tuple[str, MessageHead]] = []
        for step in self._steps:
            found += [(hit.message.topic, head_of(hit.message)) for hit in step.hits]
            self._last = step.scanned, step.total, step.found
            if len(found) >= HITS_ENOUGH or time.monotonic() >= until:
                break
        outcome = self._search.outcome
        return search_hits(search_id, found, outcome=outcome, last=self._last, body_starts=self._body_starts)

    def cancel(self) -> None:
        """End a turn soon."""
        self._search.cancel()

    def close(self) -> None:
        """Close all files. On the thread that takes the turns."""
        self._steps.close()


def search_hits(
    search_id: int,
    found: list[tuple[str, MessageHead]],
    *,
    outcome: Outcome | None,
    last: tuple[int, int, int],
    body_starts: bool = True,
) -> SearchHits:
    """The columns of a moment of search.

    ``outcome`` is that of the whole search, once it is over; ``last`` are the messages scanned, total and found so far.
    """
    columns = head_columns([head for _, head in found])
    if not body_starts:
        columns["body_start"] = []
    scanned, total, count = last
    return SearchHits(
        search_id=search_id,
        topic=[topic for topic, _ in found],
        **columns,
        scanned=scanned if outcome is None else outcome.scanned,
        total=total if outcome is None else outcome.scanned,
        found=count if outcome is None else outcome.found,
        is_over=outcome is not None,
        reasons=[] if outcome is None else list(outcome.reasons),
        notes=[] if outcome is None else list(outcome.notes),
    )
