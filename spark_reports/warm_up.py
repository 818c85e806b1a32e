"""Warming Spark up: reports over an empty store, so that a real one finds its classes loaded and its code generated.

Idle sessions do this, and the preparation of the archive of Java's classes.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from broker_core.machine_limits import processors
from spark_reports import catalog
from spark_reports.cancel import Cancellation
from spark_reports.class_cache import ClassCache
from spark_reports.connect import Session
from spark_reports.datasource.plan import ReadPlan
from spark_reports.driver_rows import DriverRows
from spark_reports.java import find_java
from spark_reports.parameters import ReportParameters, read_values
from spark_reports.report_input import ReportInput
from spark_reports.run import OUTPUT_MODULES, gather, own_session
from spark_reports.session import ReportSession, SparkOptions

_FROM_MS, _TO_MS = 1_700_000_000_000, 1_700_000_060_000
_QUERY = "select topic, tag, count(*) as messages from messages group by topic, tag order by messages desc"


def warm_workers(session: Session) -> None:
    """Run a report whose rows Spark's workers read: the workers start, or stay, and load their modules."""
    for name in (*OUTPUT_MODULES, "spark_reports.datasource.kernels"):
        importlib.import_module(name)
    report = importlib.import_module(f"spark_reports.reports.{catalog.reports()[0].module}")
    nothing = ReadPlan(tasks=((),) * processors())
    gather(ReportInput(session.begin(), nothing, ReportParameters()), report)


def reports_to_warm(session: Session) -> tuple[catalog.ReportSpec, ...]:
    """Reports that `warm_report` takes; none for a session whose Spark runs elsewhere."""
    return catalog.reports() if isinstance(session, ReportSession) and session.is_local else ()


def warm_report(session: Session, spec: catalog.ReportSpec, is_wanted: Callable[[], bool] = lambda: True) -> None:
    """Run the queries of one report over no rows, with the plans and the code of those over a small log.

    ``is_wanted`` is called before each query; if it returns false, the rest is skipped.
    """
    assert isinstance(session, ReportSession)
    with tempfile.TemporaryDirectory(dir=session.folder, prefix="warm-up-") as folder:
        keys = Path(folder, "keys.csv")
        keys.write_text("key\nnone\n", encoding="utf-8")
        own = {"keys-file": str(keys), "key": "none", "query": _QUERY}
        values = read_values(spec, {one.name: own[one.name] for one in spec.parameters if one.name in own})
        parameters = ReportParameters(_FROM_MS, _TO_MS, values=values)
        reading = ReportInput(session.begin(), ReadPlan(), parameters, driver_rows=DriverRows(Path(folder)))
        for query in importlib.import_module(f"spark_reports.reports.{spec.module}").queries(reading).values():
            if not is_wanted():
                break
            query.toArrow()
        reading.spark.catalog.clearCache()


def prepare_classes(folder: Path, java_home: Path | None, cancellation: Cancellation) -> Path:
    """Run all reports over no rows while Java records the classes it loads, then archive these: a start takes half the time.

    Takes a minute or two of one core. Returns the archive.

    Raises:
        JavaError: Java could not be run or could not write the archive.
        Interrupt: It was cancelled.
    """
    cache = ClassCache(folder, find_java(java_home))
    options = SparkOptions(java_home=java_home, java_options=tuple(cache.recording_options()))
    with own_session(options, cancellation) as session:
        session.connect()
        cancellation.install()
        warm_workers(session)
        for spec in reports_to_warm(session):
            cancellation.check()
            warm_report(session, spec)
    session.close()
    cache.build()
    return cache.path
