"""Command line of the report process: ``report NAME --store DIR --out DIR …`` and ``report --list``.

Exit codes are those of the error tree in `broker_core.errors`; 130 after a cancellation.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from broker_core.errors import CancelledByUserError, OrbitError, UsageError
from spark_reports import catalog
from spark_reports.cancel import Cancellation, watch_parent
from spark_reports.class_cache import cache_folder
from spark_reports.parameters import ReportParameters, read_parameter_file, read_parameters, read_values
from spark_reports.progress import Progress
from spark_reports.saved_queries import names

DESCRIPTION = (
    "Make a report on the messages of a store, also while a broker is writing to it. The result is a folder with a page "
    "(report.html), tables as Parquet and CSV (JSON Lines, XLSX and PDF on demand), and manifest.json, "
    "which says what was read and what was left out."
)
_VALUE_OPTIONS = ("--from", "--to")
EXTRA_FORMATS = ("jsonl", "xlsx", "pdf")
PREPARATION = catalog.ReportSpec(
    "parquet", "Prepared messages", "", "", "", "", (), tuple(one for one in catalog.STAGES if one[0] == "java")
)
"""A run that only continues a folder of prepared messages."""
LOW_PRIORITY = 10
"""Added to the niceness, which goes from -20 to 19."""


def main(argv: Sequence[str]) -> int:
    """Run the command line; return the exit code."""
    arguments = _parser().parse_args(_joined(argv))
    try:
        if arguments.list:
            _print_list()
            return 0
        if arguments.estimate:
            return _estimate(arguments)
        if arguments.prepare:
            return _prepare(arguments)
        return _report(arguments)
    except OrbitError as error:
        print(f"orbit: {error.message}", file=sys.stderr)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="orbit report", description=DESCRIPTION)
    parser.add_argument("name", nargs="?", metavar="NAME", help="which report; see --list")
    parser.add_argument("--list", action="store_true", help="list the reports and leave")
    parser.add_argument("--estimate", action="store_true", help="say as JSON how much would be read, and leave")
    parser.add_argument("--prepare", action="store_true", help="prepare Java's classes once, so that reports start faster")
    parser.add_argument("--store", action="append", default=[], metavar="DIR", help="store directory; several are read as one")
    parser.add_argument(
        "--commit-log", default="", metavar="DIRS",
        help="directories of the store's commit log, separated by commas (storePathCommitLog)",
    )  # fmt: skip
    parser.add_argument(
        "--parquet", type=Path, metavar="DIR",
        help="prepared messages: continued from --store if that is given, and read instead of the log; no NAME: only continued",
    )  # fmt: skip
    parser.add_argument(
        "--bodies", action=argparse.BooleanOptionalAction, default=None, help="prepare bodies too (a new folder: without)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the result; an earlier result there is replaced")
    parser.add_argument("--from", dest="from_time", metavar="T", help="stored at or after: 2026-03-01T08:00, epoch ms, -2h")
    parser.add_argument("--to", dest="to_time", metavar="T", help="stored before; default: the newest message")
    parser.add_argument("--topic", action="append", default=[], metavar="T", help="only this topic; may be repeated")
    for parameter in _own_parameters():
        parser.add_argument(f"--{parameter.name}", dest=f"own_{parameter.name}", metavar="V", help=parameter.help)
    parser.add_argument("--params", type=Path, metavar="FILE", help="JSON object of parameters; options given here win")
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="language of the page")
    parser.add_argument("--also", action="append", default=[], choices=EXTRA_FORMATS, help="write the tables in this form too")
    parser.add_argument("--master", default="local[*]", help="Spark master, or sc://HOST:PORT; default local[*], this machine")
    parser.add_argument("--spark-conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark")
    parser.add_argument("--driver-host", metavar="ADDRESS", help="where the workers of a cluster reach this machine")
    parser.add_argument("--memory-mib", type=int, metavar="N", help="heap of Java in MiB; default a third of the free memory")
    parser.add_argument("--java-home", type=Path, metavar="DIR", help="use this Java (17 or newer) instead of the packaged one")
    parser.add_argument("--progress", choices=("text", "json"), default="text", help="progress lines for people or programs")
    parser.add_argument("--low-priority", action="store_true", help="leave the processor to other programs")
    parser.add_argument("--parent-pipe", action="store_true", help="cancel when standard input ends")
    return parser


def _own_parameters() -> list[catalog.Parameter]:
    """The parameters that only some reports have."""
    found = {one.name: one for spec in catalog.reports() for one in spec.parameters if one not in catalog.BOUNDS}
    return list(found.values())


def _with_file(arguments: argparse.Namespace, spec: catalog.ReportSpec) -> ReportParameters:
    """Parameters from the file that ``--params`` names and from the options."""
    filed = read_parameter_file(arguments.params) if arguments.params is not None else {}
    own = {name: str(value) for name, value in filed.items() if name not in ("from", "to", "topic")}
    own |= {one.name: text for one in _own_parameters() if (text := getattr(arguments, f"own_{one.name}")) is not None}
    topics = filed.get("topic", [])
    bounds = read_parameters(
        arguments.from_time or _text_or_none(filed.get("from")),
        arguments.to_time or _text_or_none(filed.get("to")),
        arguments.topic or ([str(one) for one in topics] if isinstance(topics, list) else [str(topics)]),
        now_ms=time.time_ns() // 1_000_000,
    )
    return replace(bounds, values=read_values(spec, own))


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _joined(argv: Sequence[str]) -> list[str]:
    """Join ``--from -2h`` to one word: the parser would take ``-2h`` for an option."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] in _VALUE_OPTIONS:
            words[-1] = f"{words[-1]}={word}"
        else:
            words.append(word)
    return words


def _print_list() -> None:
    for spec in catalog.reports():
        print(f"{spec.name:<14} {spec.title}. {spec.summary}.")
        print(f"{'':<14} {spec.question}")
    if saved := names():
        print(f"Saved queries: {', '.join(saved)}")


def _report(arguments: argparse.Namespace) -> int:
    if not arguments.name and not (arguments.parquet and arguments.store):
        raise UsageError(
            "name a report, for example: report throughput --store DIR --out DIR (see --list); or prepare messages: report "
            "--parquet DIR --store DIR."
        )
    spec = catalog.find(arguments.name) if arguments.name else PREPARATION
    if arguments.name and (not (arguments.store or arguments.parquet) or arguments.out is None):
        raise UsageError(
            f"report {spec.name} needs --store DIR (what to read; or --parquet DIR) and --out DIR (where the result goes)"
        )
    progress = Progress(spec, json_lines=arguments.progress == "json")
    cancellation = Cancellation()
    cancellation.install()
    if arguments.parent_pipe:
        cancellation.watch_parent()
    if arguments.low_priority and sys.platform != "win32":
        os.nice(LOW_PRIORITY)
    try:
        fields, text = _run(arguments, spec, progress, cancellation)
    except (KeyboardInterrupt, Exception) as error:
        if cancellation.requested or isinstance(error, KeyboardInterrupt):
            progress.end("cancelled", {}, "")
            raise CancelledByUserError("the report was cancelled; nothing of it is left") from error
        progress.end("failed", {"error": type(error).__name__, "message": str(error)}, "")
        raise
    finally:
        cancellation.uninstall()
    progress.end("done", fields, text)
    return 0


def _run(
    arguments: argparse.Namespace, spec: catalog.ReportSpec, progress: Progress, cancellation: Cancellation
) -> tuple[dict[str, object], str]:
    """Run; return what the last line of progress says, for programs and for people."""
    from spark_reports.datasource.log_files import directories_of  # noqa: PLC0415  a refused command line should not wait for numpy
    from spark_reports.run import ReportRun, prepare_messages, run_report  # noqa: PLC0415  as above
    from spark_reports.session import SparkOptions  # noqa: PLC0415  as above

    parameters = _with_file(arguments, spec)
    heap_bytes = None if arguments.memory_mib is None else arguments.memory_mib << 20
    spark = SparkOptions(
        arguments.master, heap_bytes, arguments.java_home, cache_folder(), conf=_settings(arguments.spark_conf),
        driver_host=arguments.driver_host,
    )  # fmt: skip
    run = ReportRun(
        spec, tuple(arguments.store), arguments.out or Path(), parameters, spark, tuple(dict.fromkeys(arguments.also)),
        directories_of(arguments.commit_log, arguments.store), arguments.parquet, arguments.bodies, arguments.lang,
    )  # fmt: skip
    if spec is PREPARATION:
        folder = prepare_messages(run, progress, cancellation)
        rows = sum(part.rows for part in folder.parts)
        fields: dict[str, object] = {"state": "complete", "out": str(folder.path), "rows": rows, "seconds": progress.seconds}
        return fields, f"{folder.path}: {rows:,} messages in {len(folder.parts):,} files"
    manifest = run_report(run, progress, cancellation)
    page = arguments.out / str(manifest["page"])
    fields = {"state": manifest["state"], "out": str(arguments.out), "html": str(page), "seconds": manifest["seconds"]}
    return fields | {"rows": manifest["rows"]["read"]}, f"{manifest['state']}: {page}"  # type: ignore[index]


def _settings(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Spark settings from ``KEY=VALUE``.

    Raises:
        UsageError: One is not written like that.
    """
    for text in texts:
        if not text.startswith("spark.") or "=" not in text:
            raise UsageError(f"--spark-conf takes a setting such as spark.executor.memory=4g, not “{text}”", text=text)
    return tuple((text.partition("=")[0], text.partition("=")[2]) for text in texts)


def _estimate(arguments: argparse.Namespace) -> int:
    from spark_reports.datasource.estimate import estimate  # noqa: PLC0415  as in _run
    from spark_reports.datasource.log_files import directories_of  # noqa: PLC0415  as in _run

    if not arguments.store:
        raise UsageError("an estimate needs --store DIR (what would be read)")
    if arguments.parent_pipe:
        watch_parent()
    filed = read_parameter_file(arguments.params) if arguments.params is not None else {}
    bounds = read_parameters(
        arguments.from_time or _text_or_none(filed.get("from")), arguments.to_time or _text_or_none(filed.get("to")), [],
        now_ms=time.time_ns() // 1_000_000,
    )  # fmt: skip
    found = estimate(
        arguments.store, directories=directories_of(arguments.commit_log, arguments.store), from_ms=bounds.from_ms,
        to_ms=bounds.to_ms,
    )  # fmt: skip
    print(json.dumps(found.fields()))
    return 0


def _prepare(arguments: argparse.Namespace) -> int:
    from spark_reports.prepare import prepare_classes  # noqa: PLC0415  as in _run

    cancellation = Cancellation()
    cancellation.install()
    if arguments.parent_pipe:
        cancellation.watch_parent()
    if arguments.low_priority and sys.platform != "win32":
        os.nice(LOW_PRIORITY)
    print("Preparing Java's classes for reports; this takes about a minute.", flush=True)
    try:
        archive = prepare_classes(cache_folder(), arguments.java_home, cancellation)
    except KeyboardInterrupt as error:
        raise CancelledByUserError("the preparation was cancelled; reports work without it") from error
    finally:
        cancellation.uninstall()
    print(f"Prepared: {archive}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
