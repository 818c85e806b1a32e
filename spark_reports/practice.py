"""What a session does while nobody waits: reports over rows that nobody stored, so that a real one finds all compiled."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from spark_reports import catalog
from spark_reports.datasource.plan import ReadPlan
from spark_reports.driver_rows import DriverRows
from spark_reports.parameters import ReportParameters, read_values
from spark_reports.practice_rows import BEGIN_MS, END_MS, practice_rows
from spark_reports.report_input import ReportInput
from spark_reports.run import OUTPUT_MODULES, Session, gather
from spark_reports.session import ReportSession

_QUERY = "select topic, tag, count(*) as messages from messages group by topic, tag order by messages desc"


class _Made(ReportInput):
    """Made-up messages, and a made-up history beside them."""

    __slots__ = ()

    @property
    def has_history(self) -> bool:
        """Queries over the history are practised too."""
        return True


def practise(session: Session) -> None:
    """Run a report over nothing, so that what the next one needs is loaded, here and in the Python workers."""
    for name in (*OUTPUT_MODULES, "spark_reports.datasource.kernels"):
        importlib.import_module(name)
    report = importlib.import_module(f"spark_reports.reports.{catalog.reports()[0].module}")
    nothing = ReadPlan(tasks=((),) * (os.cpu_count() or 1))
    gather(ReportInput(session.begin(), nothing, ReportParameters()), report)


def lessons(session: Session) -> tuple[catalog.ReportSpec, ...]:
    """Reports that are worth practising one by one: those that Spark makes of rows that this process reads."""
    if not isinstance(session, ReportSession) or not session.is_local:
        return ()
    return tuple(spec for spec in catalog.reports() if not spec.is_summed)


def practise_report(session: Session, spec: catalog.ReportSpec, is_wanted: Callable[[], bool] = lambda: True) -> None:
    """Run the queries of one report over made-up rows, as those over a small log: their code is that of the real ones.

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
        parameters = ReportParameters((BEGIN_MS + END_MS) // 2, END_MS, values=values)
        reading = _Made(session.begin(), ReadPlan(), parameters, driver_rows=DriverRows(Path(folder), made=practice_rows))
        for query in importlib.import_module(f"spark_reports.reports.{spec.module}").queries(reading).values():
            if not is_wanted():
                break
            query.toArrow()
        reading.spark.catalog.clearCache()
