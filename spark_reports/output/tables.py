"""Result tables as Parquet and CSV files.

CSV: UTF-8 with a header, comma separated, quoted where needed; times as ISO 8601 in UTC; no value is replaced.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from spark_reports.reports.result import Table


def write_table(table: Table, folder: Path) -> list[str]:
    """Write one table in both forms; return the names of the files."""
    parquet, csv = f"{table.name}.parquet", f"{table.name}.csv"
    pa_parquet.write_table(table.data, folder / parquet, compression="zstd")
    pa_csv.write_csv(_with_text_times(table.data), folder / csv)
    return [parquet, csv]


def _with_text_times(data: pa.Table) -> pa.Table:
    for index, field in enumerate(data.schema):
        if pa.types.is_timestamp(field.type):
            text = pc.strftime(data.column(index).cast(pa.timestamp("ms", tz="UTC")), "%Y-%m-%dT%H:%M:%SZ")
            data = data.set_column(index, field.name, text)
    return data
