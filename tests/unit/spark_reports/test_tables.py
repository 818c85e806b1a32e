import csv
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet

from spark_reports.output.tables import write_table
from spark_reports.reports.result import Table


def test_both_files_hold_the_same_rows(tmp_path):
    rows = [
        {"topic": 'with "quotes", commas;', "tag": None, "at": datetime(2026, 3, 1, 8, tzinfo=UTC), "messages": 5},
        {"topic": "中文", "tag": "x", "at": datetime(2026, 3, 1, 9, tzinfo=UTC), "messages": 7},
    ]
    data = pa.Table.from_pylist(rows).set_column(2, "at", pa.array([row["at"] for row in rows], pa.timestamp("us", "UTC")))
    assert write_table(Table("name", "Title", data, {}, {}), tmp_path) == ["name.parquet", "name.csv"]
    assert pyarrow.parquet.read_table(tmp_path / "name.parquet").equals(data)
    with (tmp_path / "name.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"topic": 'with "quotes", commas;', "tag": "", "at": "2026-03-01T08:00:00.000Z", "messages": "5"},
            {"topic": "中文", "tag": "x", "at": "2026-03-01T09:00:00.000Z", "messages": "7"},
        ]
