"""Report ``producers``: who sends here, since when, and what."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name every Spark program uses

from spark_reports.reading import Reading
from spark_reports.reports.common import ACCOUNTING, Found, bars, ordered, read, rows_of, table, with_share
from spark_reports.reports.result import Headline, ReportResult
from spark_reports.reports.wording import clock, number, part
from spark_reports.transforms.producers import PRODUCER_COLUMNS, producer_rows
from spark_reports.vocabulary import Unit

NEW_WITHIN = timedelta(days=1)


def queries(reading: Reading) -> dict[str, DataFrame]:
    """Rows by host, by host and topic, and by host and day."""
    source = read(reading, *PRODUCER_COLUMNS, topics_of="meant")
    return {
        ACCOUNTING: source.accounting,
        "hosts": producer_rows(source.messages, "host"),
        "topics": producer_rows(source.messages, "host", "topic", "group").drop("topics"),
        "days": producer_rows(source.messages, "host", F.date_format("store_time", "yyyy-MM-dd").alias("day")).drop("topics"),
    }


def result(found: Found) -> ReportResult:
    """The inventory."""
    hosts = ordered(with_share(found["hosts"]), "-messages", "host")
    newest = max((row["last_time"] for row in rows_of(hosts)), default=None)
    new = [row for row in rows_of(hosts) if newest - row["first_time"] < NEW_WITHIN]
    gone = [row for row in rows_of(hosts) if newest - row["last_time"] >= NEW_WITHIN]
    return found.result(
        headlines=(
            Headline(hosts.num_rows, Unit.COUNT, "producer hosts"),
            Headline(len(new), Unit.COUNT, "new in the last day", ", ".join(row["host"] for row in new[:3])),
            Headline(len(gone), Unit.COUNT, "silent in the last day", ", ".join(row["host"] for row in gone[:3])),
        ),
        findings=_findings(hosts, new, gone),
        charts=(bars("hosts", "Messages by host", hosts["host"].to_pylist(), hosts["messages"].to_pylist()),),
        tables=(
            table("by_host", "By host", hosts, totals=("messages", "store_bytes")),
            table(
                "by_topic",
                "By host and topic",
                ordered(found["topics"], "host", "-messages", "topic", "group"),
                totals=("messages", "store_bytes"),
            ),
            table("by_day", "By host and day", ordered(found["days"], "host", "day"), totals=("messages", "store_bytes")),
        ),
        notes=(
            "A host is the address the broker saw: behind address translation many hosts are one.",
            "The producer group is stored with transactional messages only; the client's version is not stored at all.",
            "New and silent refer to the newest message of the range.",
        ),
    )


def _findings(hosts: pa.Table, new: list[dict[str, object]], gone: list[dict[str, object]]) -> list[str]:
    rows = rows_of(hosts)
    if not rows:
        return ["0 messages were sent by a producer in this range."]
    messages = sum(row["messages"] for row in rows)
    sentences = [
        f"{part(rows[0]['messages'], messages)} messages come from {rows[0]['host']}, one of {number(len(rows), 'host')}."
    ]
    if new:
        sentences.append(f"{number(len(new), 'host')} sent for the first time in the last day: {_names(new)}.")
    if gone:
        sentences.append(
            f"{number(len(gone), 'host')} did not send in the last day: {_names(gone)}, last {clock(gone[0]['last_time'])}."
        )
    return sentences


def _names(rows: list[dict[str, object]]) -> str:
    names = ", ".join(str(row["host"]) for row in rows[:5])
    return f"{names} and {len(rows) - 5} more" if len(rows) > 5 else names
