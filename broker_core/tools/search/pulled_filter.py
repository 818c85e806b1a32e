"""Which records of a pull must be decoded: heads and bytes decide the rest, as in a search of files (`columns`).

If one of them is damaged all are decoded, so that the damage is reported, whether the record would match or not.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.engine.store.layout import answer_records
from broker_core.tools.search.columns import TopicVerdicts, WindowFilter, rows_of
from broker_core.tools.search.expression import Expression

FEW_RECORDS = 8
"""Fewer are decoded faster than their heads become columns."""


class PulledFilter:
    """A filter on the records of pulls; ``queue`` in it means the number that a record holds."""

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self._topics = TopicVerdicts()

    def open_rows(self, records: Sequence[bytes]) -> Sequence[int]:
        """Indexes of records that match or may match, in their order; of all, if one of them is damaged."""
        every = range(len(records))
        if len(records) < FEW_RECORDS:
            return every
        buffer = b"".join(records)
        heads = answer_records(buffer)
        if heads.size.tolist() != list(map(len, records)):
            return every
        return list(rows_of(WindowFilter(memoryview(buffer), heads, self._topics).verdicts(self._expression).possible))
