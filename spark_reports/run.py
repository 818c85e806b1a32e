"""One run of a report: plan, start Spark, read, write. Knows no command line."""

from __future__ import annotations

import contextlib
import importlib
import json
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from broker_core.machine_limits import processors
from spark_reports.cancel import Cancellation
from spark_reports.catalog import BEFORE, CLUSTER, EARLIER, PREPARING, ReportSpec
from spark_reports.connect import Session, open_session
from spark_reports.datasource.cluster_plan import ClusterPlan, Plan
from spark_reports.datasource.log_files import require_store
from spark_reports.datasource.plan import ReadPlan, plan_read
from spark_reports.java import is_local
from spark_reports.output.folder import CHARTS, MANIFEST, PAGE, check_target, result_folder
from spark_reports.output.pdf import find_browser, print_page
from spark_reports.parameters import ReportParameters
from spark_reports.parquet.bounds import Bounds, plan_of
from spark_reports.parquet.folder import PreparedFolder, open_folder
from spark_reports.progress import ReportProgress
from spark_reports.query_runner import AT_ONCE, collect
from spark_reports.report_input import ReportInput
from spark_reports.samples.database import history_of, require_history
from spark_reports.session import SparkOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from spark_reports.clusters import ReportCluster
    from spark_reports.masking import ReportMask
    from spark_reports.reports.common import QueryResults
    from spark_reports.reports.result import ReportResult

WATCH_INTERVAL_S = 0.3
OUTPUT_MODULES = ("spark_reports.output.page", "spark_reports.output.tables", "spark_reports.output.manifest")
"""Modules that write a result."""
MINUTE_MS, DAY_MS = 60_000, 86_400_000


@dataclass(frozen=True, slots=True)
class ReportRun:
    """A run of a report.

    Attributes:
        also: Further forms of the result: jsonl, xlsx, pdf.
        directories: All directories of the commit log of the only store; by default its own.
        parquet: Folder of prepared messages, read instead of the log; continued from the stores first, if there are any.
        bodies: Whether bodies are prepared too; None: as the folder has it.
        language: Of the page, ``en`` or ``zh``.
        originals: Nothing is masked at the user's request, which the manifest notes.
        cluster: Read this one instead of stores.
    """

    spec: ReportSpec
    stores: tuple[str, ...]
    out: Path
    parameters: ReportParameters
    spark: SparkOptions
    also: tuple[str, ...] = ()
    directories: tuple[Path, ...] = ()
    parquet: Path | None = None
    bodies: bool | None = None
    language: str = "en"
    mask: ReportMask | None = None
    originals: bool = False
    cluster: ReportCluster | None = None


@dataclass(frozen=True, slots=True)
class _Gathered:
    plan: Plan
    report: ModuleType
    found: QueryResults
    java_version: str
    stores: tuple[str, ...]


def run_report(
    run: ReportRun, progress: ReportProgress, cancellation: Cancellation, kept: Session | None = None
) -> dict[str, Any]:
    """Make a report; return its manifest. The report has its own session unless one is ``kept``.

    Raises:
        OrbitError: It failed, see the tree in `broker_core.errors`.
        Interrupt: It was cancelled; no result is left.
    """
    check_target(run.out)
    _require_sources(run)
    browser = find_browser() if "pdf" in run.also else None
    cluster = _plan_cluster(run, progress)
    if kept is not None:
        try:
            gathered = _gather(kept, run, progress, cancellation, cluster)
            cancellation.check()
            return _write(run, gathered, progress, browser, cancellation)
        except Exception as error:
            raise kept.explain(error) from error
    with own_session(run.spark, cancellation) as session:
        gathered = _gather(session, run, progress, cancellation, cluster)
        cancellation.check()
    # Java takes a second to end; the page is written meanwhile.
    closing = threading.Thread(target=session.close, name="spark-end")
    closing.start()
    try:
        return _write(run, gathered, progress, browser, cancellation)
    finally:
        closing.join()


def prepare_messages(run: ReportRun, progress: ReportProgress, cancellation: Cancellation) -> PreparedFolder:
    """Only continue the folder of prepared messages."""
    assert run.parquet is not None
    with own_session(run.spark, cancellation) as session:
        progress.begin("java")
        spark = session.begin()
        cancellation.install()
        folder = _continued(spark, run, run.parquet, progress)
        cancellation.check()
        progress.finish()
    session.close()
    return folder


@contextlib.contextmanager
def own_session(options: SparkOptions, cancellation: Cancellation) -> Iterator[Session]:
    """A session that is killed if the block fails; otherwise the caller closes it."""
    session = open_session(options)
    cancellation.on_request(session.kill)
    try:
        yield session
    except Exception as error:
        explained = session.explain(error)
        session.kill()
        raise explained from error
    except BaseException:
        session.kill()
        raise


def _require_sources(run: ReportRun) -> None:
    """Check that the stores and the history that the report needs exist, before Java is started."""
    for store in run.stores:
        require_store(Path(store))
        if run.spec.needs_history:
            require_history(store)


def _plan_cluster(run: ReportRun, progress: ReportProgress) -> ClusterPlan | None:
    if run.cluster is None:
        return None
    from spark_reports.clusters import plan_report

    progress.begin("plan")
    return plan_report(run.cluster, run.spec, run.parameters, _earliest(run))


def _sources(run: ReportRun) -> tuple[str, ...]:
    return run.stores if run.cluster is None else (CLUSTER + run.cluster.options.name_servers,)


def _gather(
    session: Session, run: ReportRun, progress: ReportProgress, cancellation: Cancellation, cluster: ClusterPlan | None
) -> _Gathered:
    plan: Plan | None = cluster
    prepared = None
    if cluster is None:
        progress.begin("plan")
        prepared = open_folder(run.parquet) if run.parquet is not None and not run.stores else None
        plan = None if run.parquet is not None else _plan(run)
    progress.begin("java")
    report = _report(run.spec, run.parameters)
    spark = session.begin()
    cancellation.install()
    if run.parquet is not None:
        prepared = prepared or _continued(spark, run, run.parquet, progress)
        plan = plan_of(prepared, Bounds(_earliest(run), run.parameters.to_ms))
    assert plan is not None
    stores = tuple(one.store for one in prepared.stores) if prepared is not None else _sources(run)
    sampled = stores if run.cluster is None else (str(run.cluster.history),)
    progress.begin("read", total=len(plan.tasks))
    found = _read(session, run, report, ReportInput(spark, plan, run.parameters, prepared, sampled, run.mask), progress)
    return _Gathered(plan, report, found, session.java_version, stores)


def _read(session: Session, run: ReportRun, report: ModuleType, reading: ReportInput, progress: ReportProgress) -> QueryResults:
    """Run the queries; the driver counts its own rows, and Spark is watched if its workers read them."""
    from spark_reports.driver_rows import open_driver_rows

    plan, is_prepared = reading.plan, reading.prepared is not None
    with open_driver_rows(session, None if is_prepared else plan, progress) as driver_rows:
        reading = replace(reading, driver_rows=driver_rows)
        by_driver = (driver_rows if run.spec.is_summed else reading.driver_messages) is not None
        count_rows = not run.spec.is_summed or is_prepared
        watched = None if by_driver else watching(session, progress, len(plan.tasks), count_rows=count_rows)
        with watched or contextlib.nullcontext():
            return gather(reading, report, progress, at_once=AT_ONCE if by_driver else 1)


def _plan(run: ReportRun) -> ReadPlan:
    if run.spec.needs_samples:
        return ReadPlan(files=tuple(str(history_of(store)) for store in run.stores))
    cores = processors() if is_local(run.spark.master) else None
    return plan_read(
        run.stores, directories=run.directories, cores=cores, from_ms=_earliest(run), to_ms=run.parameters.to_ms,
        for_sums=run.spec.is_summed,
    )  # fmt: skip


def _continued(spark: SparkSession, run: ReportRun, path: Path, progress: ReportProgress) -> PreparedFolder:
    from spark_reports.parquet.advance import Addition, advance

    addition = Addition(run.stores, run.directories, run.bodies)
    return advance(spark, path, addition, lambda tasks: progress.begin(PREPARING[0], total=tasks))


def _earliest(run: ReportRun) -> int | None:
    """Store time from which the log is needed; a report that looks further back has a parameter for the distance."""
    if run.parameters.from_ms is None:
        return None
    values = run.parameters.values
    return run.parameters.from_ms - int(values.get(EARLIER.name, 0)) * DAY_MS - int(values.get(BEFORE.name, 0)) * MINUTE_MS


def _report(spec: ReportSpec, parameters: ReportParameters) -> ModuleType:
    """The module of a report, after it checked its parameters; it and the output modules load while Java starts."""
    for name in OUTPUT_MODULES:
        importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what third-party modules say at import is not the report's business
        module = importlib.import_module(f"spark_reports.reports.{spec.module}")
    check: Callable[[ReportParameters], None] | None = getattr(module, "check", None)
    if check is not None:
        check(parameters)
    return module


def gather(
    reading: ReportInput, report: ModuleType, progress: ReportProgress | None = None, *, at_once: int = 1
) -> QueryResults:
    """Run the queries of a report, ``at_once`` of them at the same time; ``progress`` receives its first table."""
    from spark_reports.datasource.source import RocketMQStoreDataSource
    from spark_reports.reports.common import QueryResults
    from spark_reports.samples.source import OrbitSamplesDataSource

    reading.spark.dataSource.register(RocketMQStoreDataSource)
    if isinstance(reading.plan, ClusterPlan):
        from spark_reports.datasource.cluster_source import RocketMQClusterDataSource

        reading.spark.dataSource.register(RocketMQClusterDataSource)
    reading.spark.dataSource.register(OrbitSamplesDataSource)
    queries: Mapping[str, DataFrame] = report.queries(reading)
    tables = collect(
        queries,
        at_once,
        first=getattr(report, "FIRST", ()),
        tell=partial(_tell_first, reading, report, progress) if progress else None,
    )
    reading.spark.catalog.clearCache()
    return QueryResults(tables, reading.parameters)


def _tell_first(reading: ReportInput, report: ModuleType, progress: ReportProgress, tables: Mapping[str, pa.Table]) -> None:
    from spark_reports.reports.common import QueryResults

    found = QueryResults(tables, reading.parameters)
    progress.show(report.first(found.masked(reading.mask, report)))


def _write(
    run: ReportRun, gathered: _Gathered, progress: ReportProgress, browser: Path | None, cancellation: Cancellation
) -> dict[str, object]:
    from spark_reports.output import manifest as manifests
    from spark_reports.output.page import charts_text, render_page
    from spark_reports.output.tables import WORKBOOK, write_table, write_workbook

    result, parameters, masked = _masked(run, gathered)
    if run.cluster is not None and not run.spec.needs_samples:
        from spark_reports.clusters import NOTE

        result = replace(result, notes=(*result.notes, NOTE))
    tasks = len(gathered.plan.tasks)
    progress.step(tasks, tasks, rows=result.rows)
    progress.begin("write")
    source = manifests.Source(gathered.stores, gathered.plan, run.spark.master, gathered.java_version)
    facts = manifests.manifest(run.spec, parameters, source, result, now=datetime.now(UTC), masked=masked)
    with result_folder(run.out) as folder:
        files = {table.name: write_table(table, folder, json_lines="jsonl" in run.also) for table in result.tables}
        if "xlsx" in run.also:
            result = replace(result, notes=(*result.notes, *write_workbook(result.tables, folder)))
            facts |= {"workbook": WORKBOOK, "notes": list(result.notes)}
        so_far = manifests.with_times(manifests.with_files(facts, result, files), progress.stages, progress.seconds)
        (folder / PAGE).write_text(render_page(result, so_far, run.spec.question, run.language), encoding="utf-8")
        if result.charts:
            (folder / CHARTS).write_text(charts_text(result), encoding="utf-8")
        if browser is not None:
            so_far["pdf"] = print_page(folder / PAGE, browser)
        progress.finish()
        whole = manifests.with_times(so_far, progress.stages, progress.seconds)
        (folder / MANIFEST).write_text(json.dumps(whole, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        cancellation.check()
    return whole


def _masked(run: ReportRun, gathered: _Gathered) -> tuple[ReportResult, ReportParameters, dict[str, object] | None]:
    """The masked result and parameters, and the manifest's entry about the masks."""
    mask, found = run.mask, gathered.found
    if mask is None:
        result: ReportResult = gathered.report.result(found)
        if not run.originals:
            return result, run.parameters, None
        from spark_reports.masking import NOTHING_MASKED, ORIGINALS

        return replace(result, notes=(*result.notes, NOTHING_MASKED)), run.parameters, ORIGINALS
    result = gathered.report.result(found.masked(mask, gathered.report))
    shown = mask.parameters(run.parameters)
    return replace(result, notes=(*result.notes, mask.note())), shown, mask.facts(run.parameters)


@contextlib.contextmanager
def watching(session: Session, progress: ReportProgress, total: int, *, count_rows: bool) -> Iterator[None]:
    """Report tasks, and rows if they are messages, of the running query for the duration of the block."""
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(session, progress, total, done, count_rows), name="spark-progress")
    try:
        watcher.start()
        yield
    finally:
        done.set()  # a cancellation may have come while it started
        if watcher.is_alive():
            watcher.join()


def _watch(session: Session, progress: ReportProgress, total: int, done: threading.Event, count_rows: bool) -> None:
    while not done.wait(WATCH_INTERVAL_S):
        state = session.progress()
        if state is not None:
            progress.step(min(state[0], total), total, rows=state[1] if count_rows else 0)
