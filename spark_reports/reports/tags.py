"""Report ``tags``: tags and properties in use, and tags gone silent."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from spark_reports.reading import Reading
from spark_reports.reports.common import ACCOUNTING, Found, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import Headline, ReportResult
from spark_reports.reports.wording import clock, number, part
from spark_reports.transforms.tags import TAG_COLUMNS, property_rows, tag_rows
from spark_reports.vocabulary import Unit

DAY_MS = 86_400_000
NO_TAG = "(no tag)"
EXAMPLE_CHARACTERS = 60


def queries(reading: Reading) -> dict[str, DataFrame]:
    """Rows by tag and by property."""
    source = read(reading, *TAG_COLUMNS)
    return {ACCOUNTING: source.accounting, "tags": tag_rows(source.messages), "properties": property_rows(source.messages)}


def result(found: Found) -> ReportResult:
    """The catalogue."""
    tags = ordered(found["tags"], "-messages", "topic", "tag")
    properties = _cut(ordered(found["properties"], "topic", "property"))
    days = found.parameters.number("silent-days")
    gone = tags.filter(pc.and_(pc.is_valid(tags["tag"]), pc.greater_equal(tags["silent_ms"], days * DAY_MS)))
    named = tags.filter(pc.is_valid(tags["tag"]))
    return found.result(
        headlines=(
            Headline(named.num_rows, Unit.COUNT, "tags", f"of {number(len(set(tags['topic'].to_pylist())), 'topic')}"),
            Headline(gone.num_rows, Unit.COUNT, "gone silent", f"{days} days or more before their topic"),
            Headline(len(set(properties["property"].to_pylist())), Unit.COUNT, "properties"),
        ),
        findings=_findings(found.messages, named, gone),
        charts=(
            bars(
                "tags",
                "Messages by topic and tag",
                [f"{row['topic']} · {row['tag'] or NO_TAG}" for row in rows_of(tags)],
                tags["messages"].to_pylist(),
            ),
        ),
        tables=(
            table("by_tag", "By topic and tag", tags, totals=("messages",)),
            table("gone", "Tags gone silent", gone, totals=("messages",)),
            table("properties", "Properties by topic", properties),
        ),
        notes=(
            "Which tags somebody subscribes to is not in the log: a tag gone silent is one nobody sends any more.",
            "Properties are those on disk, the system's among them.",
        ),
    )


def _cut(properties: pa.Table) -> pa.Table:
    """Examples of a length to look at; cut here, for in a part nobody finds what is to be masked."""
    place = properties.column_names.index("example")
    return properties.set_column(place, "example", pc.utf8_slice_codeunits(properties["example"], 0, EXAMPLE_CHARACTERS))


def _findings(messages: int, named: pa.Table, gone: pa.Table) -> list[str]:
    sentences = [f"{part(total(named, 'messages'), messages)} messages have a tag."]
    sentences += [
        f"{row['messages']:,} messages have the tag {row['tag']} of {row['topic']}, the most frequent one."
        for row in rows_of(named.slice(0, 1))
    ]
    sentences += [
        (
            f"{number(gone.num_rows, 'tag')} went silent; the most used of them is {row['tag']} of {row['topic']} with "
            f"{number(row['messages'], 'message')}, the last one at {clock(row['last_time'])}."
        )
        for row in rows_of(gone.slice(0, 1))
    ]
    return sentences
