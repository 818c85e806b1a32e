"""Which of the records of a pull must be decoded: heads and bytes decide the rest, as in a search of files (`columns`).

Where one of them is damaged all are decoded, so that it is told, whether it would match or not.
"""

from __future__ import annotations

import numpy as np

from broker_core.message.record import FIXED_BYTES
from broker_core.search.columns import TopicVerdicts, WindowFilter
from broker_core.search.expression import Expression
from broker_core.store.record_heads import RecordHeads, read_rows

FEW_RECORDS = 8
"""Fewer are decoded sooner than their heads are columns."""


class PulledFilter:
    """A filter on the records of pulls.

    Args:
        expression: The filter. Its ``queue`` means the number that a record holds.
    """

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self._topics = TopicVerdicts()

    def open_records(self, records: list[bytes]) -> list[bytes]:
        """Those that match or may match, in their order; all, where one of them is damaged."""
        buffer = b"".join(records)
        sizes = np.array([len(record) for record in records], dtype=np.int64)
        positions = np.cumsum(sizes) - sizes
        if len(records) < FEW_RECORDS or positions[-1] > len(buffer) - FIXED_BYTES:
            return records
        data = np.frombuffer(buffer, dtype=np.uint8)
        rows, whole = read_rows(data, None, positions, in_a_row=True)
        if not whole.all():
            return records
        heads = RecordHeads(rows, len(buffer))
        possible = WindowFilter(buffer, data, heads, self._topics).verdicts(self._expression).possible
        return [record for record, is_open in zip(records, possible.tolist(), strict=True) if is_open]
