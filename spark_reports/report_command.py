"""Executes one order of the command line, from its options to the last line of progress. Invalid ones raise `UsageError`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_core.errors import CancelledByUserError, UsageError
from spark_reports import catalog
from spark_reports.cancel import Cancellation
from spark_reports.class_cache import cache_folder
from spark_reports.cluster_access import is_cluster
from spark_reports.parameters import ReportParameters, read_parameter_file, read_parameters, read_values
from spark_reports.progress import ReportProgress

if TYPE_CHECKING:
    from spark_reports.clusters import ReportCluster
    from spark_reports.connect import Session
    from spark_reports.masking import ReportMask
    from spark_reports.session import SparkOptions

PREPARATION = catalog.ReportSpec(
    "parquet", "Prepared messages", "", "", "", "", (), tuple(one for one in catalog.STAGES if one[0] == "java")
)
"""A run that only continues a folder of prepared messages."""
LACKS_TOLD = 5
"""Reasons for an incomplete report in its last lines."""


def spec_of(arguments: argparse.Namespace) -> catalog.ReportSpec:
    """The requested report.

    Raises:
        UsageError: No report, source or target is named, or they contradict each other.
        UnknownReportError: There is none of that name.
    """
    if not arguments.name and not (arguments.parquet and arguments.store):
        raise UsageError(
            "name a report, for example: report throughput --store DIR --out DIR (see --list); or prepare messages: report "
            "--parquet DIR --store DIR."
        )
    spec = catalog.find(arguments.name) if arguments.name else PREPARATION
    if not arguments.name and arguments.mask is not None:
        raise UsageError(
            "prepared messages are kept as they are stored, for reports have to count with them. Leave --mask out here and "
            "give it to the reports made of them."
        )
    if is_cluster(arguments) and (arguments.store or arguments.parquet or arguments.commit_log):
        raise UsageError(
            "a report reads a cluster (--ns or a connection) or stores (--store, --parquet, --commit-log), not both"
        )
    if arguments.name and (not (arguments.store or arguments.parquet or is_cluster(arguments)) or arguments.out is None):
        raise UsageError(
            f"report {spec.name} needs --store DIR (what to read; or --parquet DIR, or --ns HOST:PORT) and --out DIR (where "
            "the result goes)"
        )
    return spec


def carry_out(
    arguments: argparse.Namespace, spec: catalog.ReportSpec, cancellation: Cancellation, session: Session | None = None
) -> bool:
    """Run a report; its progress is written to standard output.

    The report has its own session unless one is given.

    Returns:
        Whether everything could be read; else the manifest lists what is missing.

    Raises:
        CancelledByUserError: It was cancelled; no result is left.
        OrbitError: It failed.
    """
    progress = ReportProgress(spec, json_lines=arguments.progress == "json")
    try:
        fields, text = _run(arguments, spec, progress, cancellation, session)
    except (KeyboardInterrupt, Exception) as error:
        if cancellation.requested or isinstance(error, KeyboardInterrupt):
            progress.end("cancelled", {}, "")
            raise CancelledByUserError("the report was cancelled; nothing of it is left") from error
        progress.end("failed", {"error": type(error).__name__, "message": str(error)}, "")
        raise
    progress.end("done", fields, text)
    return fields["state"] == "complete"


def _run(
    arguments: argparse.Namespace,
    spec: catalog.ReportSpec,
    progress: ReportProgress,
    cancellation: Cancellation,
    session: Session | None,
) -> tuple[dict[str, object], str]:
    from spark_reports.datasource.log_files import directories_of
    from spark_reports.run import ReportRun, prepare_messages, run_report

    run = ReportRun(
        spec, tuple(arguments.store), arguments.out or Path(), with_file(arguments, spec), spark_options(arguments),
        tuple(dict.fromkeys(arguments.also)), directories_of(arguments.commit_log, arguments.store), arguments.parquet,
        arguments.bodies, arguments.lang, _mask(arguments), arguments.originals, cluster_of(arguments),
    )  # fmt: skip
    if spec is PREPARATION:
        folder = prepare_messages(run, progress, cancellation)
        rows = sum(part.rows for part in folder.parts)
        fields: dict[str, object] = {"state": "complete", "out": str(folder.path), "rows": rows, "seconds": progress.seconds}
        return fields, f"{folder.path}: {rows:,} messages in {len(folder.parts):,} files"
    manifest = run_report(run, progress, cancellation, session)
    page = arguments.out / str(manifest["page"])
    fields = {"state": manifest["state"], "out": str(arguments.out), "html": str(page), "seconds": manifest["seconds"]}
    return fields | {"rows": manifest["rows"]["read"]}, "\n".join(_end_lines(manifest, page))


def _end_lines(manifest: Mapping[str, Any], page: Path) -> list[str]:
    """The last lines of a report as text: its place, and what it lacks and why."""
    lacks = [f"  {skip['rows']:,}: {skip['reason']}" for skip in manifest["skipped"] if skip["damaged"]]
    more = [f"  and {len(lacks) - LACKS_TOLD:,} more; the manifest has all"] if len(lacks) > LACKS_TOLD else []
    return [f"{manifest['state']}: {page}", *lacks[:LACKS_TOLD], *more]


def cluster_of(arguments: argparse.Namespace) -> ReportCluster | None:
    if not arguments.ns:
        return None
    from spark_reports.clusters import ReportCluster
    from spark_reports.datasource.cluster_options import cluster_options_of

    options = {"name_servers": arguments.ns, "details": arguments.details}
    if arguments.rate_messages is not None:
        options["messages_per_second"] = str(arguments.rate_messages)
    if arguments.rate_mib is not None:
        options["bytes_per_second"] = str(arguments.rate_mib * (1 << 20))
    if arguments.offsets is not None:
        options["offsets"] = arguments.offsets
    return ReportCluster.of(cluster_options_of(options), arguments.history)


def _mask(arguments: argparse.Namespace) -> ReportMask | None:
    if arguments.mask is None:
        return None
    from spark_reports.masking import ReportMask

    return ReportMask(arguments.mask)


def with_file(arguments: argparse.Namespace, spec: catalog.ReportSpec) -> ReportParameters:
    """Parameters from the file of ``--params``, which is read once (it may be a pipe), and from the options."""
    filed = _filed(arguments)
    own = {name: str(value) for name, value in filed.items() if name not in ("from", "to", "topic")}
    own |= {one.name: text for one in own_parameters() if (text := getattr(arguments, f"own_{one.name}")) is not None}
    return replace(_bounds(arguments, filed), values=read_values(spec, own))


def bounds_of(arguments: argparse.Namespace) -> ReportParameters:
    """Times and topics from the same two places."""
    return _bounds(arguments, _filed(arguments))


def _bounds(arguments: argparse.Namespace, filed: Mapping[str, object]) -> ReportParameters:
    topics = filed.get("topic", [])
    asked = topics if isinstance(topics, list) else [topics]
    named = [one for one in asked if isinstance(one, str)]
    if named != asked:
        raise UsageError(f'“topic” in {arguments.params} takes names, such as ["orders"].', path=str(arguments.params))
    return read_parameters(
        _text_or_none(filed.get("from")) if arguments.from_time is None else arguments.from_time,
        _text_or_none(filed.get("to")) if arguments.to_time is None else arguments.to_time,
        arguments.topic or named,
        now_ms=time.time_ns() // 1_000_000,
    )


def _filed(arguments: argparse.Namespace) -> dict[str, object]:
    return read_parameter_file(arguments.params) if arguments.params is not None else {}


def own_parameters() -> list[catalog.Parameter]:
    """The parameters that only some reports have."""
    found = {one.name: one for spec in catalog.reports() for one in spec.parameters if one not in catalog.BOUNDS}
    return list(found.values())


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def spark_options(arguments: argparse.Namespace) -> SparkOptions:
    from spark_reports.java import HEAP_BYTES_MIN
    from spark_reports.session import SparkOptions

    heap_bytes = None if arguments.memory_mib is None else arguments.memory_mib << 20
    if heap_bytes is not None and heap_bytes < HEAP_BYTES_MIN:
        raise UsageError(
            f"Spark needs a heap of {HEAP_BYTES_MIN >> 20} MiB at least, not {arguments.memory_mib:,}. Give --memory-mib more, "
            "or leave it out.",
            mebibytes=arguments.memory_mib,
        )
    return SparkOptions(
        arguments.master, heap_bytes, arguments.java_home, cache_folder(), conf=_settings(arguments.spark_conf),
        driver_host=arguments.driver_host,
    )  # fmt: skip


def _settings(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    for text in texts:
        if not text.startswith("spark.") or "=" not in text:
            raise UsageError(f"--spark-conf takes a setting such as spark.executor.memory=4g, not “{text}”", text=text)
    return tuple((text.partition("=")[0], text.partition("=")[2]) for text in texts)
