"""Report ``dead-letters``: their ages, origins, and common properties."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from broker_core.protocol.retry_names import ALTERNATIVES, NOTHING_KNOWN, KnownNames
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import clock, part
from spark_reports.transforms.origin import dead_group, first_and_last, meant_topic, one_of, pop_names, pop_retry_topic
from spark_reports.vocabulary import ValueUnit

DEAD_COLUMNS = (
    "topic", "real_topic", "retry_topic", "origin_id", "kind", "tag", "born_host", "store_time", "store_bytes",
    "reconsume_times", "properties",
)  # fmt: skip
AGES = ("under an hour", "under a day", "under a week", "under 30 days", "older")
_AGE_LIMITS_MS = (3_600_000, 86_400_000, 7 * 86_400_000, 30 * 86_400_000)
_OF_THE_SYSTEM = (
    "UNIQ_KEY", "KEYS", "WAIT", "CLUSTER", "ORIGIN_MESSAGE_ID", "RETRY_TOPIC", "REAL_TOPIC", "REAL_QID", "DELAY", "MSG_REGION",
    "TRACE_ON", "TRAN_MSG", "PGROUP", "DLQ_ORIGIN_MESSAGE_ID", "DLQ_ORIGIN_TOPIC", "MAX_RECONSUME_TIMES", "RECONSUME_TIME",
    "MIN_OFFSET", "MAX_OFFSET", "BUYER_ID", "TRANSFER_FLAG", "CORRECTION_FLAG", "MQ2_FLAG", "CONSUME_START_TIME",
    "TRAN_PREPARED_QUEUE_OFFSET", "TRANSACTION_CHECK_TIMES", "CHECK_IMMUNITY_TIME_IN_SECONDS", "INSTANCE_ID", "CORRELATION_ID",
    "REPLY_TO_CLIENT", "TTL", "ARRIVE_TIME", "PUSH_REPLY_TIME", "MSG_TYPE", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET",
    "INNER_NUM", "INNER_BASE", "POP_CK", "POP_CK_OFFSET", "1ST_POP_TIME", "ORIGIN_GROUP", "EXTEND_UNIQ_INFO", "DUP_INFO",
    "PROPERTY_FORWARD_QUEUE_ID", "REDIRECT", "TRACE_CONTEXT", "BORN_TIMESTAMP",
)  # fmt: skip
"""Names that clients and brokers set; those of timers begin with TIMER_, some of 5.x with two underscores."""
FIRST = ("origins",)
CAUSES_MAX = 500
_SHARED = f"A topic with “{ALTERNATIVES.strip()}” is one of several: pairs of group and topic share the retry topic of its pop."


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *DEAD_COLUMNS, topics_of="meant")
    dead = dead_letters(source.messages, reading.parameters.now_ms, reading.known_names).persist()
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
            *([_SHARED] if any(ALTERNATIVES in (row["topic"] or "") for row in rows_of(origins)) else []),
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


def dead_letters(messages: DataFrame, now_ms: int, known: KnownNames = NOTHING_KNOWN) -> DataFrame:
    """Dead letters with group, original topic (all possible ones of a shared retry topic) and age (index into `AGES`)."""
    age_ms = F.lit(now_ms) - F.unix_millis("store_time")
    age = F.lit(len(_AGE_LIMITS_MS))
    for index in range(len(_AGE_LIMITS_MS) - 1, -1, -1):
        age = F.when(age_ms < _AGE_LIMITS_MS[index], index).otherwise(age)
    dead = messages.where("kind = 'dead_letter'").withColumns({"pop": pop_retry_topic(), "dead_group": dead_group()})
    names = pop_names(messages.where("kind = 'dead_letter'"), known)
    dead = dead.join(F.broadcast(names), ["pop", "dead_group"], "left").withColumn("group", F.col("dead_group"))
    return dead.withColumn("topic", F.coalesce(one_of("pop_topics"), meant_topic())).withColumn("age", age)


def dead_by(dead: DataFrame, *keys: str) -> DataFrame:
    """Dead letters by some columns: dead, store_bytes, first_time, last_time."""
    return dead.groupBy(*keys).agg(
        F.count("*").alias("dead"),
        F.sum("store_bytes").alias("store_bytes"),
        *first_and_last(),
    )


def causes(dead: DataFrame) -> DataFrame:
    """Values of the application's own properties among dead letters: group, property, cause (the value), dead."""
    pairs = dead.select("group", F.explode("properties").alias("property", "cause"))
    own = pairs.where(~F.col("property").isin(*_OF_THE_SYSTEM)).where(~F.col("property").rlike("^(__|TIMER_)"))
    return own.groupBy("group", "property", "cause").agg(F.count("*").alias("dead"))
