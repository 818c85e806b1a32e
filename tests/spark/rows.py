"""A few messages as a data frame, and what a transform makes of them: five rows in, five rows out."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from spark_reports.datasource.schema import ALL_COLUMNS, columns

START_MS = 1_772_409_600_000  # Monday 2026-03-02 00:00 UTC
PARTITIONS = 3
"""Rows are spread over so many: what a transform gives must not depend on which lie together."""

_DEFAULTS = {
    "store": "one", "topic": "orders", "queue_id": 0, "born_host": "10.0.0.1:4711", "body_bytes": 10, "store_bytes": 100,
    "body_crc": 7, "keys": [], "properties": {}, "sys_flag": 0, "reconsume_times": 0, "prepared_offset": 0, "kind": "normal",
}  # fmt: skip


def at(milliseconds):
    """A moment so long after the start."""
    return datetime.fromtimestamp((START_MS + milliseconds) / 1000, UTC)


def messages(spark, names, *rows):
    """Messages in some columns of the data source.

    Args:
        spark: Session.
        names: Columns.
        rows: What is not as usual. ``ms``: store time behind the start; the n-th message lies at offset 100 n, second n.
    """
    made = []
    for place, row in enumerate(rows):
        ms = row.get("ms", place * 1_000)
        usual = {"physical_offset": place * 100, "queue_offset": place, "store_time": at(ms), "born_time": at(ms)}
        values = _DEFAULTS | usual | row
        made.append({"real_topic": values["topic"], "real_queue_id": values["queue_id"]} | values)
    schema = to_arrow_schema(columns(*names), timezone="UTC")
    data = [[row.get(name) for row in made] for name in names]
    table = pa.Table.from_arrays(
        [pa.array([list(one.items()) if isinstance(one, dict) else one for one in values], field.type)
         for values, field in zip(data, schema, strict=True)], schema=schema,
    )  # fmt: skip
    return spark.createDataFrame(table, columns(*names)).repartition(PARTITIONS)


def rows(frame, *names):
    """The rows of a frame as tuples of some columns, sorted."""
    found = frame.select(*names).toArrow().to_pylist()
    return sorted((tuple(row[name] for name in names) for row in found), key=repr)


assert set(_DEFAULTS) <= set(ALL_COLUMNS.names)
