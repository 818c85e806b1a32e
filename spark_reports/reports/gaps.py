"""Times without samples, for every report on samples."""

from __future__ import annotations

import itertools

import pyarrow as pa

from spark_reports.reports.common import ordered, rows_of, total
from spark_reports.reports.wording import clock, duration_text, number, say

_SCHEMA = pa.schema(
    [("store", pa.string()), ("first_time", pa.timestamp("us", tz="UTC")), ("last_time", pa.timestamp("us", tz="UTC")),
     ("length_ms", pa.int64())]
)  # fmt: skip


def gap_rows(runs: pa.Table) -> pa.Table:
    """Times between the intervals with samples of each store: first_time, last_time, length_ms."""
    rows = rows_of(ordered(runs, "store", "from_time"))
    found = [
        {"store": one["store"], "first_time": one["to_time"], "last_time": other["from_time"],
         "length_ms": round((other["from_time"] - one["to_time"]).total_seconds() * 1000)}
        for one, other in itertools.pairwise(rows)
        if one["store"] == other["store"]
    ]  # fmt: skip
    return pa.Table.from_pylist(found, _SCHEMA)


def gap_findings(gaps: pa.Table) -> list[str]:
    """A sentence about the gaps, if there are any."""
    if not gaps.num_rows:
        return []
    longest = max(rows_of(gaps), key=lambda row: row["length_ms"])
    return [
        say("{gaps} without samples, {all} together; the longest from {begin} for {length}.",
            gaps=number(gaps.num_rows, "time"), all=duration_text(total(gaps, "length_ms")), begin=clock(longest["first_time"]),
            length=duration_text(longest["length_ms"]))
    ]  # fmt: skip
