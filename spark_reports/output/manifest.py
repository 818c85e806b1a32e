"""The manifest of a result: the request, what was read, what was left out and why, the programs and the times.

format              1
report, title       name and title of the catalogue
state               "complete", or "partial" if something that belongs in the report could not be read
created_at          ISO 8601, UTC
parameters          topics and times as requested; values: the report's own parameters
source              stores (or cluster://NAME_SERVERS), log files, bytes covered by the plan; passed_over: log files wholly
                    outside the time range; of a cluster name_servers (empty: stores were read), brokers, queues and
                    messages of the plan, and bytes is -1
range               asked and found: from, to (ISO 8601, UTC; null = open or nothing found)
rows                looked_at = read + skipped; damaged_places; damaged_bytes
rows_are            "messages" or "samples"
skipped             reason, rows, bytes, damaged, store, first_offset
headlines, findings as on the page; findings_zh: these in Chinese; notes: what one must know to read them rightly
tables              name, title, rows, files; columns: name, title, unit of each
masked              null, or the masks: rules (their file; empty: originals were requested), values (column → number of
                    different masked ones), columns (of messages, masked before a query saw them), parameters (masked ones)
page                file name of the HTML page; workbook, pdf: of those, if they were requested
charts              file name of the figures of the charts; left out if there are none
stages, seconds     time by stage, and of the whole run up to the writing of this file
versions, master    of the programs that made the result
"""

from __future__ import annotations

import importlib.metadata
import math
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from broker_core.clock import utc_text
from broker_core.version import ORBIT_VERSION
from spark_reports.catalog import ReportSpec
from spark_reports.chinese_words import in_chinese
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.plan import ReadPlan
from spark_reports.output.folder import CHARTS, PAGE
from spark_reports.parameters import ReportParameters
from spark_reports.progress import StageTime
from spark_reports.reports.result import KeyFigure, ReportResult

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Source:
    """What was read, and by what; ``stores`` as named by the user."""

    stores: Sequence[str]
    plan: ReadPlan | ClusterPlan
    master: str
    java_version: str


def manifest(
    spec: ReportSpec,
    parameters: ReportParameters,
    source: Source,
    result: ReportResult,
    *,
    now: datetime,
    masked: dict[str, object] | None = None,
) -> dict[str, object]:
    """The manifest without times and files, see `with_files` and `with_times`; the parameters are masked.

    Without ``masked`` no masks were requested.
    """
    damaged = [skip for skip in result.skipped if skip.damaged]
    return {
        "format": FORMAT,
        "report": spec.name,
        "title": spec.title,
        "state": "complete" if result.complete else "partial",
        "created_at": now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "parameters": {
            "from": _time(parameters.from_ms),
            "to": _time(parameters.to_ms),
            "topics": list(parameters.topics),
            "values": dict(parameters.values),
        },
        "source": {
            "stores": list(source.stores),
            "files": list(source.plan.files),
            "bytes": source.plan.byte_count,
            "passed_over": list(source.plan.passed_over),
            **_cluster(source.plan),
        },
        "range": {
            "asked": {"from": _time(parameters.from_ms), "to": _time(parameters.to_ms)},
            "found": {"from": _time(result.found_from_ms), "to": _time(result.found_to_ms)},
        },
        "rows": {
            "looked_at": result.looked_at,
            "read": result.rows,
            "skipped": result.looked_at - result.rows,
            "damaged_places": sum(skip.rows for skip in damaged),
            "damaged_bytes": sum(skip.bytes for skip in damaged),
        },
        "rows_are": "samples" if spec.needs_samples else "messages",
        "skipped": [asdict(skip) for skip in result.skipped],
        "headlines": [_headline(headline) for headline in result.headlines],
        "findings": list(result.findings),
        "findings_zh": [in_chinese(sentence) for sentence in result.findings],
        "notes": list(result.notes),
        "masked": masked,
        "page": PAGE,
        "master": source.master,
        "versions": versions(source.java_version),
    }


def _cluster(plan: ReadPlan | ClusterPlan) -> dict[str, object]:
    if not isinstance(plan, ClusterPlan):
        return {"name_servers": ""}
    figures = {"brokers": list(plan.brokers), "queues": plan.queues, "messages": plan.messages}
    return {"name_servers": plan.name_servers, **figures}


def with_files(data: dict[str, object], result: ReportResult, files: dict[str, list[str]]) -> dict[str, object]:
    """The manifest with its tables and their files."""
    tables = [
        {
            "name": table.name,
            "title": table.title,
            "rows": table.data.num_rows,
            "files": files[table.name],
            "columns": [{"name": name, "title": table.titles[name], "unit": unit} for name, unit in table.units.items()],
        }
        for table in result.tables
    ]
    return data | {"tables": tables} | ({"charts": CHARTS} if result.charts else {})


def with_times(data: dict[str, object], stages: Sequence[StageTime], seconds: float) -> dict[str, object]:
    """The manifest with the times of the run."""
    return data | {"stages": [asdict(stage) for stage in stages], "seconds": round(seconds, 3)}


def versions(java_version: str) -> dict[str, str]:
    """Versions of the programs that made a result."""
    found = {"orbit": ORBIT_VERSION, "python": platform.python_version(), "java": java_version}
    for package in ("pyspark", "pyarrow", "plotly"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed as a package"
    return found


def _headline(headline: KeyFigure) -> dict[str, object]:
    """JSON has no NaN, so an unknown value is null."""
    fields = asdict(headline)
    return fields | {"value": headline.value if math.isfinite(headline.value) else None}


def _time(epoch_ms: int | None) -> str | None:
    return None if epoch_ms is None else utc_text(epoch_ms)
