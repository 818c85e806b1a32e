"""What a session does while nobody waits: reports over nothing or a row, so that a real one finds all loaded and compiled."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from spark_reports import catalog
from spark_reports.datasource.plan import ReadPlan
from spark_reports.here import RowsHere
from spark_reports.parameters import ReportParameters, read_values
from spark_reports.reading import Reading
from spark_reports.run import OUTPUT_MODULES, Session, gather
from spark_reports.session import ReportSession
from spark_reports.small_logs import SUMMED

_QUERY = "select topic, tag, count(*) as messages from messages group by topic, tag order by messages desc"
_ACCOUNTED = "skipped_"
"""Columns of accounting rows, which an ordinary row leaves empty."""


def one_row(schema: pa.Schema) -> pa.Table:
    """A row of ones and empty texts, so that each step of a query has something to do."""
    return pa.table([_one_value(field) for field in schema], schema=schema)


def _one_value(field: pa.Field) -> pa.Array:
    if field.name.startswith(_ACCOUNTED):
        return pa.nulls(1, field.type)
    if pa.types.is_map(field.type) or pa.types.is_list(field.type):
        return pa.array([[]], field.type)
    if pa.types.is_binary(field.type) or pa.types.is_string(field.type):
        return pa.array([""]).cast(field.type)
    return pa.array([1]).cast(field.type)  # nothing is divided by it in vain


def practise(session: Session) -> None:
    """Run a report over nothing, so that what the next one needs is loaded, here and in the Python workers."""
    for name in (*OUTPUT_MODULES, "spark_reports.datasource.kernels"):
        importlib.import_module(name)
    report = importlib.import_module(f"spark_reports.reports.{catalog.reports()[0].module}")
    nothing = ReadPlan(tasks=((),) * (os.cpu_count() or 1))
    gather(Reading(session.begin(), nothing, ReportParameters()), report)


def lessons(session: Session) -> tuple[catalog.ReportSpec, ...]:
    """Reports that are worth practising one by one: those that Spark makes of rows that this process reads."""
    if not isinstance(session, ReportSession) or not session.is_local:
        return ()
    return tuple(spec for spec in catalog.reports() if spec.name not in SUMMED)


def practise_report(session: Session, spec: catalog.ReportSpec, is_wanted: Callable[[], bool] = lambda: True) -> None:
    """Run the queries of one report over a row of nothing, as those over a small log: their code is that of the real ones.

    Args:
        session: Connected.
        spec: One of `lessons`.
        is_wanted: Asked before each query: whether nobody waits. If not, the rest is left out.
    """
    assert isinstance(session, ReportSession)
    with tempfile.TemporaryDirectory(dir=session.folder, prefix="practice-") as folder:
        keys = Path(folder, "keys.csv")
        keys.write_text("key\npractice\n", encoding="utf-8")
        told = {"keys-file": str(keys), "key": "practice", "query": _QUERY}
        values = read_values(spec, {one.name: told[one.name] for one in spec.parameters if one.name in told})
        parameters = ReportParameters(0, 1, values=values)
        reading = Reading(session.begin(), ReadPlan(), parameters, here=RowsHere(Path(folder), made=one_row))
        for query in importlib.import_module(f"spark_reports.reports.{spec.module}").queries(reading).values():
            if not is_wanted():
                break
            query.toArrow()
        reading.spark.catalog.clearCache()
