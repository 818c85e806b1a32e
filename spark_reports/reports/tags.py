"""Report ``tags``: tags and properties in use, tags gone silent, and dead ones, which no group subscribes."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import (
    ACCOUNTING,
    DAY_MS,
    QueryResults,
    bars,
    ordered,
    read,
    rows_of,
    table,
    topic_tag_labels,
    total,
)
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import clock, duration_text, number, part, say
from spark_reports.samples.tables import SUBSCRIPTIONS
from spark_reports.transforms.origin import first_and_last
from spark_reports.vocabulary import ValueUnit

TAG_COLUMNS = ("topic", "tag", "kind", "store_time", "properties")
FOR_CONSUMERS = ("normal", "fifo", "delivered", "committed")
"""Kinds of messages that consumers of users read."""
BY_TAG = ("TAG", "")
"""Types of expressions that name tags; an unknown type is taken for one of them."""
FIRST = ("tags", "recorded")
EXAMPLE_CHARACTERS = 60
SUBSCRIBED, FILTERED, DEAD, UNKNOWN = "subscribed", "perhaps, by a filter", "dead", "not known"


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *TAG_COLUMNS)
    tags = tag_rows(source.messages)
    made = {ACCOUNTING: source.accounting, "properties": property_rows(source.messages)}
    if not reading.has_history:
        return made | {"tags": tags}
    subscriptions = reading.samples(SUBSCRIPTIONS)
    recorded = subscriptions.where("group is null").select("store", "from_time", "to_time")
    every = reading.spark.createDataFrame([(store, None, None) for store in reading.stores], recorded.schema)
    return made | {"tags": with_subscribers(tags, subscriptions), "recorded": recorded.unionByName(every)}


def first(found: QueryResults) -> ReportTable:
    recorded_ms = _recorded_ms(found.tables.get("recorded"))
    tags = _judged(ordered(found["tags"], "-messages", "topic", "tag"), is_known=recorded_ms > 0)
    return table("by_tag", "By topic and tag", tags, totals=("messages",))


def result(found: QueryResults) -> ReportResult:
    recorded_ms = _recorded_ms(found.tables.get("recorded"))
    by_tag = first(found)
    tags = by_tag.data
    properties = _cut(ordered(found["properties"], "topic", "property"))
    days = found.parameters.number("silent-days")
    named = tags.filter(pc.is_valid(tags["tag"]))
    gone = named.filter(pc.greater_equal(named["silent_ms"], days * DAY_MS))
    dead = named.filter(pc.equal(named["state"], DEAD))
    return found.result(
        headlines=(
            KeyFigure(named.num_rows, ValueUnit.COUNT, "tags", f"of {number(len(set(tags['topic'].to_pylist())), 'topic')}"),
            KeyFigure(gone.num_rows, ValueUnit.COUNT, "gone silent", f"{days} days or more before their topic"),
            KeyFigure(
                dead.num_rows if recorded_ms else math.nan, ValueUnit.COUNT, "dead tags", "sent, and subscribed by nobody"
            ),
            KeyFigure(len(set(properties["property"].to_pylist())), ValueUnit.COUNT, "properties"),
        ),
        findings=[*_findings(found.messages, named, gone), *_dead_findings(dead, recorded_ms)],
        charts=(bars("tags", "Messages by topic and tag", topic_tag_labels(tags), tags["messages"].to_pylist()),),
        tables=(
            by_tag,
            table("gone", "Tags gone silent", gone, totals=("messages",)),
            table("dead", "Dead tags", dead.drop_columns("state"), totals=("messages",)),
            table("properties", "Properties by topic", properties),
        ),
        notes=(
            "A tag gone silent is one that nobody sends any more; a dead one is sent, and nobody subscribes it.",
            *(_RECORDED if recorded_ms else _NOT_RECORDED),
            "Properties are those on disk, the system's among them.",
        ),
    )


_RECORDED = (
    (
        "Who subscribes is not in the log, but was recorded while Orbit ran the broker or watched it: a group that was there "
        "at other times only is not known."
    ),
    "A filter by SQL92 or a class cannot be told from the tag: such tags may be subscribed.",
)
_NOT_RECORDED = (
    (
        "Who subscribes is not in the log, and was not recorded here in this range: which tags are dead is not known. Orbit "
        "records it while it runs the broker or watches it."
    ),
)


def _recorded_ms(recorded: pa.Table | None) -> int:
    """How long subscriptions were recorded, of several stores the shortest time; 0: they are unknown.

    A row without times stands for a store, so that one without a record counts too.
    """
    by_store: dict[str, float] = {}
    for row in rows_of(recorded) if recorded is not None else []:
        seconds = 0.0 if row["from_time"] is None else (row["to_time"] - row["from_time"]).total_seconds()
        by_store[row["store"]] = by_store.get(row["store"], 0.0) + seconds
    return round(min(by_store.values(), default=0.0) * 1000)


def _judged(tags: pa.Table, *, is_known: bool) -> pa.Table:
    """Tags with ``state``; null if no consumers of users read the topic."""
    if not is_known:
        states = [UNKNOWN if row["for_consumers"] else None for row in rows_of(tags)]
    else:
        states = [_state(row) for row in rows_of(tags)]
    kept = [name for name in tags.column_names if name not in ("for_consumers", "filters")]
    return tags.select(kept).append_column("state", pa.array(states, pa.string()))


def _state(row: dict[str, Any]) -> str | None:
    if not row["for_consumers"]:
        return None
    return SUBSCRIBED if row["subscribers"] else FILTERED if row["filters"] else DEAD


def _dead_findings(dead: pa.Table, recorded_ms: int) -> list[str]:
    if not recorded_ms:
        return []
    recorded = duration_text(recorded_ms)
    if not dead.num_rows:
        return [say("0 tags are dead: somebody subscribed each in the {time} for which that was recorded.", time=recorded)]
    first = rows_of(dead)[0]
    return [
        say("{tags} dead: nobody subscribed in the {time} for which that was recorded. The most used is {tag} of {topic} with "
            "{n}.",
            tags=f"{number(dead.num_rows, 'tag')} {'is' if dead.num_rows == 1 else 'are'}", time=recorded, tag=first["tag"],
            topic=first["topic"], n=number(first["messages"], "message"))
    ]  # fmt: skip


def _cut(properties: pa.Table) -> pa.Table:
    """Examples of a readable length; cut only here, because masking needs the whole text."""
    place = properties.column_names.index("example")
    return properties.set_column(place, "example", pc.utf8_slice_codeunits(properties["example"], 0, EXAMPLE_CHARACTERS))


def _findings(messages: int, named: pa.Table, gone: pa.Table) -> list[str]:
    sentences = [f"{part(total(named, 'messages'), messages)} messages have a tag."]
    sentences += [
        f"{number(row['messages'], 'message')} {'has' if row['messages'] == 1 else 'have'} the tag {row['tag']} of "
        f"{row['topic']}, the most frequent one."
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


def tag_rows(messages: DataFrame) -> DataFrame:
    """One row for each topic and tag.

    Returns:
        topic, tag (null: none), messages, first_time, last_time, silent_ms (until the topic's last message), for_consumers
        (whether consumers of users read there).
    """
    rows = messages.groupBy("topic", "tag").agg(
        F.count("*").alias("messages"),
        *first_and_last(),
        F.max(F.col("kind").isin(*FOR_CONSUMERS)).alias("for_consumers"),
    )
    end = F.max("last_time").over(Window.partitionBy("topic"))
    return rows.withColumn("silent_ms", F.unix_millis(end) - F.unix_millis("last_time"))


def with_subscribers(tags: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Tag rows with the groups that subscribed them at any recorded time, by the table ``subscriptions`` of the samples.

    Returns:
        The columns of ``tags``, subscribers (groups whose tags match), filters (groups with another filter on the topic).
    """
    wants = subscriptions.where("group is not null")
    is_tag = F.col("expression_type").isin(*BY_TAG)
    all_of_topic = F.coalesce(F.trim("expression"), F.lit("")).isin("", "*")
    words = F.when(all_of_topic, F.array(F.lit("*"))).otherwise(F.split("expression", r"\s*\|\|\s*"))
    wanted = F.when(is_tag, F.transform(words, lambda word: F.struct("group", F.trim(word).alias("tag"))))
    by_topic = wants.groupBy("topic").agg(
        F.flatten(F.collect_list(wanted)).alias("wanted"),
        F.count_distinct(F.when(~is_tag, F.col("group"))).alias("filters"),
    )
    rows = tags.join(F.broadcast(by_topic), "topic", "left")
    takes = F.filter("wanted", lambda one: (one["tag"] == "*") | (one["tag"] == F.col("tag")))
    groups = F.size(F.array_distinct(F.transform(takes, lambda one: one["group"])))
    found = F.when(F.col("wanted").isNull(), 0).otherwise(groups)
    return rows.withColumns({"subscribers": found, "filters": F.coalesce("filters", F.lit(0))}).drop("wanted")


def property_rows(messages: DataFrame) -> DataFrame:
    """One row for each topic and property: messages, distinct_values, example, first_time, last_time."""
    pairs = messages.select("topic", "store_time", F.explode("properties").alias("property", "value"))
    return pairs.groupBy("topic", "property").agg(
        F.count("*").alias("messages"),
        F.countDistinct("value").alias("distinct_values"),
        F.min("value").alias("example"),
        *first_and_last(),
    )
