"""Rows for practice: of every schema that reports read, and such that the steps of a query have something to do."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from spark_reports.datasource.schema import ALL_ARROW, SUM_KEYS, sums
from spark_reports.practice_rows import BEGIN_MS, END_MS, ROWS, practice_rows
from spark_reports.samples.tables import TABLES, table_schema

SCHEMAS = {
    "messages": ALL_ARROW,
    "sums": to_arrow_schema(sums(*SUM_KEYS), timezone="UTC"),
    **{name: to_arrow_schema(table_schema(name), timezone="UTC") for name in TABLES},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_rows_are_as_the_schema_has_them(name):
    rows = practice_rows(SCHEMAS[name])
    assert rows.schema == SCHEMAS[name]
    assert rows.num_rows == ROWS
    rows.validate(full=True)
    known = [one for one in rows.column_names if not one.startswith("skipped_")]
    assert [one for one in known if rows[one].null_count == ROWS] == []


def test_messages_are_of_all_kinds_most_of_them_plain_and_within_their_time():
    rows = practice_rows(ALL_ARROW)
    kinds = {row["values"]: row["counts"] for row in pc.value_counts(rows["kind"]).to_pylist()}
    assert kinds["normal"] > ROWS / 2
    assert {"delay", "delivered", "half", "op", "committed", "retry", "dead_letter"} < kinds.keys()
    times = pc.min_max(rows["store_time"]).as_py()
    assert BEGIN_MS <= times["min"].timestamp() * 1_000 <= times["max"].timestamp() * 1_000 < END_MS
    assert len(pc.unique(rows["unique_key"])) == ROWS
    assert rows["member_key"].null_count > ROWS / 2
