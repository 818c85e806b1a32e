"""Messages that queues no longer have, as the note of a search: a hit may have been among them. Pure."""

from __future__ import annotations

from collections import Counter

from broker_core.counted import counted
from broker_core.tools.search.bounds import Interval


class Gone:
    """Counts deleted messages of the queues that a search reads."""

    def __init__(self) -> None:
        self._by_topic: Counter[str] = Counter()

    def add(self, topic: str, first: int, offsets: Interval) -> None:
        """Add a queue that begins at offset ``first``; offsets that no match can have are not counted."""
        gone = min(first, offsets.high + 1) - max(offsets.low, 0)
        if gone > 0:
            self._by_topic[topic] += gone

    def notes(self) -> tuple[str, ...]:
        """A sentence, if any message is gone."""
        if not self._by_topic:
            return ()
        verb = "is" if self._by_topic.total() == 1 else "are"
        (topic, _most), *more = self._by_topic.most_common()
        of = f"topic {topic}" if not more else f"{len(more) + 1:,} topics"
        largest = f", most of them of topic {topic}" if more else ""
        return (f"{counted(self._by_topic.total(), 'earlier message')} of {of} {verb} no longer stored{largest}",)
