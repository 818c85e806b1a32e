"""The undecided half messages, and the progress of half and op queue. Pure state, fed with the records of the queues.

The same calls rebuild it at the start and maintain it while the broker runs, so it never reports anything that a restart would
not find again. Undecided half messages are kept in the order of their offsets:

    half progress   the first undecided half offset, or the end of the queue
    op progress     the first op record that names a half offset at or behind the half progress, or the end of the queue

With half 0 to 3 and the ops 0 → half 0, 1 → half 3, 2 → half 1, half 2 is undecided: half progress 2, op progress 1.

Source: docs/spec/broker.md §4.6.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator
from enum import Enum

from broker_core.engine.transaction.messages import HalfMessage

REMEMBERED_MAX = 100_000
"""Decided transactions that are remembered, so that a repeated decision is carried out once."""


class TransactionOutcome(Enum):
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    GIVEN_UP = "given up"
    EXPIRED = "expired"
    DECIDED = "decided"
    """An op record says so, but not which way."""


class TransactionLedger:
    """Undecided half messages of one half queue, from the first half and op offset on that are not done with.

    Attributes:
        half_end: Offset after the last half processed.
        op_end: The same of the op queue.
        checked: Undecided ones that a producer was asked about.
    """

    def __init__(self, *, half_start: int = 0, op_start: int = 0) -> None:
        self.half_end = half_start
        self.op_end = op_start
        self._live: OrderedDict[int, HalfMessage] = OrderedDict()
        self._moved: dict[int, HalfMessage] = {}
        self._loading = True
        self._early: set[int] = set()
        self._ops: deque[tuple[int, int]] = deque()
        self._outcomes: OrderedDict[int, TransactionOutcome] = OrderedDict()
        self._groups: Counter[str] = Counter()
        self.checked = 0

    # ---- taking in the queues ----

    def half_arrived(self, half: HalfMessage) -> None:
        """Process a record of the half queue; to be called in order. A copy replaces the half that it was made of."""
        self.half_end = max(self.half_end, half.half_offset + 1)
        known = self.find(half.origin)
        if half.half_offset in self._early or half.origin in self._early:
            self.resolve(known or half, TransactionOutcome.DECIDED)
            return
        if known is not None:
            self._replace(known, half)
            return
        self._outcomes.pop(half.origin, None)
        self._live[half.half_offset] = half
        self._groups[half.group] += 1
        self.checked += half.check_times > 0
        if half.origin != half.half_offset:
            self._moved[half.origin] = half

    def _replace(self, known: HalfMessage, copy: HalfMessage) -> None:
        """Update the same object, so that its holders see the new place."""
        del self._live[known.half_offset]
        self.count_checks(known, copy.check_times)
        known.half_offset, known.physical_offset = copy.half_offset, copy.physical_offset
        known.record_bytes, known.store_ms = copy.record_bytes, copy.store_ms
        self._live[known.half_offset] = known
        self._moved[known.origin] = known

    def count_checks(self, half: HalfMessage, check_times: int) -> None:
        """Record how often a producer was asked about an undecided half message."""
        self.checked += (check_times > 0) - (half.check_times > 0)
        half.check_times = check_times

    def op_arrived(self, op_offset: int, half_offsets: Iterable[int]) -> None:
        """Process a record of the op queue; to be called in order, and during loading before the halves."""
        self.op_end = max(self.op_end, op_offset + 1)
        last = -1
        for offset in half_offsets:
            last = max(last, offset)
            half = self._live.get(offset)
            if half is not None:
                self.resolve(half, TransactionOutcome.DECIDED)
            elif self._loading:
                self._early.add(offset)
        self._ops.append((op_offset, last))

    def loaded(self) -> None:
        """End of loading: by now each op has met its half."""
        self._loading = False
        self._early.clear()

    # ---- deciding ----

    def resolve(self, half: HalfMessage, outcome: TransactionOutcome) -> None:
        """Record a decision; for a half message that an op record has already named, this says which way."""
        self.remember(half.origin, outcome)
        if not self.is_undecided(half):
            return
        del self._live[half.half_offset]
        self._moved.pop(half.origin, None)
        self._groups[half.group] -= 1
        self.checked -= half.check_times > 0
        if not self._groups[half.group]:
            del self._groups[half.group]

    def remember(self, origin: int, outcome: TransactionOutcome) -> None:
        """Record how a transaction ended."""
        self._outcomes[origin] = outcome
        if len(self._outcomes) > REMEMBERED_MAX:
            self._outcomes.popitem(last=False)

    # ---- asking ----

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[HalfMessage]:
        return iter(self._live.values())

    def find(self, origin: int) -> HalfMessage | None:
        """The undecided transaction of that origin."""
        half = self._moved.get(origin)
        if half is None:
            half = self._live.get(origin)
        return half if half is not None and half.origin == origin else None

    def is_undecided(self, half: HalfMessage) -> bool:
        """Whether a half message that was undecided still is."""
        return self._live.get(half.half_offset) is half

    def outcome(self, origin: int) -> TransactionOutcome | None:
        """How a transaction ended; None for an undecided or forgotten one."""
        return self._outcomes.get(origin)

    @property
    def groups(self) -> dict[str, int]:
        """Undecided half messages by producer group."""
        return dict(self._groups)

    @property
    def half_progress(self) -> int:
        """First half offset that is still needed."""
        return next(iter(self._live), self.half_end)

    @property
    def op_progress(self) -> int:
        """First op offset that is still needed."""
        needed = self.half_progress
        while self._ops and self._ops[0][1] < needed:
            self._ops.popleft()
        return self._ops[0][0] if self._ops else self.op_end
