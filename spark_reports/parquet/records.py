"""Prepared messages as rows of a report: the same columns, the same selection, the same accounting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_core.errors import UsageError
from spark_reports.datasource.plan import INCOMPLETE
from spark_reports.datasource.schema import SKIPPED_BYTES, SKIPPED_COLUMNS, SKIPPED_REASON, SKIPPED_ROWS, columns
from spark_reports.datasource.skipped import OTHER_TOPIC, OUTSIDE_RANGE
from spark_reports.local_parquet import local_parquet
from spark_reports.parquet.bounds import Bounds, plan_of
from spark_reports.parquet.folder import PreparedFolder

DERIVED = {
    "real_queue_id": "coalesce(if(properties['REAL_TOPIC'] is null, null, try_cast(properties['REAL_QID'] as int)), queue_id)",
    "roll_times": "try_cast(properties['TIMER_ROLL_TIMES'] as int)",
}
"""Columns that folders of an older Orbit lack, as SQL over other columns."""
_DERIVED_FROM = ("properties", "queue_id")


def records(spark: SparkSession, folder: PreparedFolder, names: Sequence[str], bounds: Bounds) -> DataFrame:
    """Rows of the messages within bounds, with accounting rows if their columns are among ``names``.

    Raises `UsageError` if a column was not prepared.
    """
    wanted = [name for name in names if name not in SKIPPED_COLUMNS]
    derived = [name for name in wanted if name not in folder.columns and name in DERIVED]
    missing = [name for name in wanted if name not in folder.columns and name not in derived]
    if missing:
        way = (
            "prepare another folder with --bodies"
            if missing[0] == "body"
            else "name the store too (--store): the folder is then read again, if the log still holds all that is in it"
        )
        raise UsageError(
            f"{folder.path} was prepared without {missing[0]}, which this report needs. Read the store itself, or {way}.",
            column=missing[0],
        )
    stored = [name for name in wanted if name not in derived] + [*(_DERIVED_FROM if derived else ())]
    needed = [*dict.fromkeys([*stored, "store_time", "store_bytes", "topic", "real_topic", "retry_topic"])]
    paths = [Path(task[0].path) for task in plan_of(folder, bounds).tasks]
    rows = local_parquet(spark, columns(*needed), paths) if paths else spark.createDataFrame([], columns(*needed))
    rows = rows.withColumns({name: F.expr(DERIVED[name]) for name in derived}) if derived else rows
    inside, among = _tests(bounds)
    skipped = [name for name in names if name in SKIPPED_COLUMNS]
    types = columns(*names)
    nothing = [F.lit(None).cast(types[name].dataType).alias(name) for name in skipped]
    messages = rows.where(inside & among).select(*wanted, *nothing).select(*names)
    if SKIPPED_REASON not in names:
        return messages
    parts = [messages, _damage(spark, folder, names)]
    if bounds != Bounds():
        parts.append(_left_out(rows, names, inside, among))
    together = parts[0]
    for part in parts[1:]:
        together = together.unionByName(part)
    return together


def _tests(bounds: Bounds) -> tuple[Column, Column]:
    inside, among = F.lit(True), F.lit(True)
    if bounds.from_ms is not None:
        inside = inside & (F.col("store_time") >= F.timestamp_millis(F.lit(bounds.from_ms)))
    if bounds.to_ms is not None:
        inside = inside & (F.col("store_time") < F.timestamp_millis(F.lit(bounds.to_ms)))
    if bounds.topics:
        topic = F.coalesce("retry_topic", "real_topic") if bounds.meant else F.col("topic")
        among = topic.isin(*bounds.topics)
    return inside, among


def _left_out(rows: DataFrame, names: Sequence[str], inside: Column, among: Column) -> DataFrame:
    reason = F.when(~inside, OUTSIDE_RANGE).when(~among, OTHER_TOPIC)
    sums = rows.withColumn(SKIPPED_REASON, reason).where(F.col(SKIPPED_REASON).isNotNull()).groupBy(SKIPPED_REASON)
    counted = sums.agg(F.count("*").alias(SKIPPED_ROWS), F.sum("store_bytes").cast("bigint").alias(SKIPPED_BYTES))
    types = columns(*names)
    return counted.select(
        *(F.col(name) if name in counted.columns else F.lit(None).cast(types[name].dataType).alias(name) for name in names)
    )


def _damage(spark: SparkSession, folder: PreparedFolder, names: Sequence[str]) -> DataFrame:
    places = [(one.store, place.offset, place.reason, place.bytes) for one in folder.stores for place in one.damage]
    places += [(one.store, one.end, INCOMPLETE, one.tail_bytes) for one in folder.stores if one.tail_bytes]
    known = ("store", "physical_offset", SKIPPED_REASON, SKIPPED_BYTES)
    rows = [{**dict(zip(known, place, strict=True)), SKIPPED_ROWS: 1} for place in places]
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], columns(*names))
