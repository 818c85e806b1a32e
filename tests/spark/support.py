"""Running one report inside a session, without a command line."""

import importlib
import io
import json
import tempfile
from pathlib import Path

from spark_reports import catalog
from spark_reports.datasource.plan import plan_read
from spark_reports.driver_rows import DriverRows
from spark_reports.output.tables import csv_text
from spark_reports.parameters import ReportParameters, read_values
from spark_reports.parquet.bounds import Bounds, plan_of
from spark_reports.progress import FIRST_ROWS_MAX, ReportProgress
from spark_reports.report_input import ReportInput
from spark_reports.run import gather
from tests.support import known_store as known


def run(
    spark,
    root,
    name,
    *,
    split_bytes=1 << 20,
    topics=(),
    from_ms=None,
    to_ms=None,
    prepared=None,
    mask=None,
    workers=False,
    **own,
):
    """A report over a store; its rows are read by this process, as those of small logs are, or by Spark's workers.

    The table that it tells before the rest is one of its tables, word for word.
    """
    spec = catalog.find(name)
    values = read_values(spec, {key.replace("_", "-"): str(value) for key, value in own.items()})
    parameters = ReportParameters(from_ms, to_ms, topics, values, known.NOW_MS)
    report = importlib.import_module(f"spark_reports.reports.{spec.module}")
    plan = plan_read([root], split_bytes=split_bytes) if prepared is None else plan_of(prepared, Bounds())
    told = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        driver_rows = None if workers or prepared is not None else DriverRows(Path(folder))
        found = gather(
            ReportInput(spark, plan, parameters, prepared, (str(root),), mask, driver_rows),
            report,
            ReportProgress(spec, json_lines=True, out=told),
        )
    result = report.result(found if mask is None else mask.found(found, report))
    check_first(report, [json.loads(line) for line in told.getvalue().splitlines()], result)
    return result


PARTS = {"Same unique key, by topic": "By sameness and topic"}
"""Titles of first tables that are rows of a table of the result, and its title."""


def check_first(report, told, result):
    if not hasattr(report, "FIRST"):
        assert not told
        return
    (line,) = told
    assert line["stage"] == "first"
    lines = line["csv"].splitlines()
    if line["title"] in PARTS:
        whole = csv_text(next(table for table in result.tables if table.title == PARTS[line["title"]]), 1 << 30)
        assert lines[0] == whole.splitlines()[0]
        assert set(lines[1:]) <= set(whole.splitlines()[1:])
        assert line["rows"] == len(lines) - 1
        return
    table = next(table for table in result.tables if table.title == line["title"])
    assert line["rows"] == table.data.num_rows
    whole = csv_text(table, FIRST_ROWS_MAX)
    assert whole == line["csv"] or (whole.startswith(line["csv"]) and len(whole) > len(line["csv"]) > 0)


def rows(result, name):
    return next(table for table in result.tables if table.name == name).data.to_pylist()


def only(result, name, **wanted):
    (row,) = [row for row in rows(result, name) if all(row[key] == value for key, value in wanted.items())]
    return row
