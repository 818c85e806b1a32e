"""Number of messages due later than the wheel reaches, by day.

The wheel keeps them in the slot at which they are rolled, not in that of their time.
"""

from __future__ import annotations

from collections import Counter

from broker_core.engine.schedule.timer.messages import timer_facts
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.timer_store import TimerStore

DAY_MS = 86_400_000


class FarAhead:
    """Messages by day (UTC, days since the epoch)."""

    def __init__(self) -> None:
        self.days: Counter[int] = Counter()

    def add(self, out_ms: int, messages: int) -> None:
        """Add to the count of a day; ``messages`` may be negative."""
        day = out_ms // DAY_MS
        self.days[day] += messages
        if not self.days[day]:
            del self.days[day]

    def load(self, store: TimerStore, source: StoreSource) -> None:
        """Count the messages of a store that was just opened; reads each of them."""
        pending = store.wheel.pending()
        for slot_ms in pending.time_ms[pending.rolls != 0].tolist():
            for _position, unit in store.units(slot_ms):
                record = source.record(unit.physical_offset, unit.record_bytes) if unit.is_roll else None
                facts = None if record is None else timer_facts(record)
                if facts is not None:
                    self.add(facts.out_ms, -1 if facts.is_delete else 1)
