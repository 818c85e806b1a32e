"""Report ``dead-letters``: their ages, origins, and common properties."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import clock, part
from spark_reports.transforms.dead_letters import AGES, DEAD_COLUMNS, causes, dead_by, dead_letters
from spark_reports.vocabulary import ValueUnit

FIRST = ("origins",)
CAUSES_MAX = 500


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *DEAD_COLUMNS, topics_of="meant")
    dead = dead_letters(source.messages, reading.parameters.now_ms).persist()
    return {
        ACCOUNTING: source.accounting,
        "ages": dead_by(dead, "group", "age"),
        "origins": dead_by(dead, "group", "topic", "tag"),
        "causes": causes(dead).orderBy(F.desc("dead"), "group", "property", "cause").limit(CAUSES_MAX),
    }


def first(found: QueryResults) -> ReportTable:
    origins = ordered(found["origins"], "-dead", "group", "topic", "tag")
    return table("by_origin", "By group, topic and tag", origins, totals=("dead", "store_bytes"))


def result(found: QueryResults) -> ReportResult:
    ages = ordered(found["ages"], "group", "age")
    by_origin = first(found)
    origins = by_origin.data
    dead = total(origins, "dead")
    by_age = [sum(row["dead"] for row in rows_of(ages) if row["age"] == index) for index in range(len(AGES))]
    named = ages.set_column(
        ages.column_names.index("age"), "age", pa.array([AGES[one] for one in ages["age"].to_pylist()], pa.string())
    )
    oldest = min((row["first_time"] for row in rows_of(origins)), default=None)
    return found.result(
        headlines=(
            KeyFigure(dead, ValueUnit.COUNT, "dead letters", f"of {found.messages:,} records read"),
            KeyFigure(
                total(origins, "store_bytes"), ValueUnit.BYTES, "stored", f"the oldest of {clock(oldest)}" if oldest else ""
            ),
            KeyFigure(by_age[0] + by_age[1], ValueUnit.COUNT, "younger than a day"),
            KeyFigure(by_age[-1], ValueUnit.COUNT, "older than 30 days"),
        ),
        findings=_findings(dead, origins, found["causes"]),
        charts=(bars("ages", "Dead letters by age", list(AGES), by_age, words=True),),
        tables=(
            by_origin,
            table("by_age", "By group and age", named, totals=("dead", "store_bytes")),
            table(
                "by_property",
                "By property value",
                found["causes"],
                note=f"The first {CAUSES_MAX}." if found["causes"].num_rows == CAUSES_MAX else "",
            ),
        ),
        notes=(
            f"Ages are at {datetime.fromtimestamp(found.parameters.now_ms / 1000, UTC):%Y-%m-%d %H:%M UTC}.",
            "The consumer's exception is not in the message: causes are what dead letters have in common.",
            "A dead letter that was sent again stays in its topic until it is cleaned away.",
        ),
    )


def _findings(dead: int, origins: pa.Table, values: pa.Table) -> list[str]:
    if not dead:
        return ["0 dead letters are stored in this range."]
    first = rows_of(origins.slice(0, 1))[0]
    tag = f" with tag {first['tag']}" if first["tag"] else ""
    sentences = [f"{part(first['dead'], dead)} dead letters are of group {first['group']}, from {first['topic']}{tag}."]
    common = rows_of(values.slice(0, 1))
    if common:
        sentences.append(f"{part(common[0]['dead'], dead)} have {common[0]['property']} = {common[0]['cause']}.")
    return sentences
