"""Command line of the report process: ``report NAME --store DIR --out DIR …`` and ``report --list``.

Exit codes are those of the error tree in `broker_core.errors`; 130 after a cancellation.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from broker_core.errors import CancelledByUserError, OrbitError, UsageError
from spark_reports import catalog
from spark_reports.cancel import Cancellation
from spark_reports.class_cache import cache_folder
from spark_reports.parameters import ReportParameters, read_parameter_file, read_parameters, read_values
from spark_reports.progress import Progress

DESCRIPTION = (
    "Make a report on the messages of a store, also while a broker is writing to it. The result is a folder with a page "
    "(report.html), tables as Parquet and CSV (JSON Lines, XLSX and PDF on demand), and manifest.json, "
    "which says what was read and what was left out."
)
_VALUE_OPTIONS = ("--from", "--to")
EXTRA_FORMATS = ("jsonl", "xlsx", "pdf")
LOW_PRIORITY = 10
"""Added to the niceness, which goes from -20 to 19."""


def main(argv: Sequence[str]) -> int:
    """Run the command line; return the exit code."""
    arguments = _parser().parse_args(_joined(argv))
    try:
        if arguments.list:
            _print_list()
            return 0
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
    parser.add_argument("--prepare", action="store_true", help="prepare Java's classes once, so that reports start faster")
    parser.add_argument("--store", action="append", default=[], metavar="DIR", help="store directory; several are read as one")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the result; an earlier result there is replaced")
    parser.add_argument("--from", dest="from_time", metavar="T", help="stored at or after: 2026-03-01T08:00, epoch ms, -2h")
    parser.add_argument("--to", dest="to_time", metavar="T", help="stored before; default: the newest message")
    parser.add_argument("--topic", action="append", default=[], metavar="T", help="only this topic; may be repeated")
    for parameter in _own_parameters():
        parser.add_argument(f"--{parameter.name}", dest=f"own_{parameter.name}", metavar="V", help=parameter.help)
    parser.add_argument("--params", type=Path, metavar="FILE", help="JSON object of parameters; options given here win")
    parser.add_argument("--also", action="append", default=[], choices=EXTRA_FORMATS, help="write the tables in this form too")
    parser.add_argument("--master", default="local[*]", help="Spark master; default local[*], this machine")
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


def _report(arguments: argparse.Namespace) -> int:
    if not arguments.name:
        raise UsageError("name a report, for example: report throughput --store DIR --out DIR. See --list.")
    spec = catalog.find(arguments.name)
    if not arguments.store or arguments.out is None:
        raise UsageError(f"report {spec.name} needs --store DIR (what to read) and --out DIR (where the result goes)")
    progress = Progress(spec, json_lines=arguments.progress == "json")
    cancellation = Cancellation()
    cancellation.install()
    if arguments.parent_pipe:
        cancellation.watch_parent()
    try:
        manifest = _run(arguments, spec, progress, cancellation)
    except (KeyboardInterrupt, Exception) as error:
        if cancellation.requested or isinstance(error, KeyboardInterrupt):
            progress.end("cancelled", {}, "")
            raise CancelledByUserError("the report was cancelled; nothing of it is left") from error
        progress.end("failed", {"error": type(error).__name__, "message": str(error)}, "")
        raise
    finally:
        cancellation.uninstall()
    page = arguments.out / str(manifest["page"])
    fields = {"state": manifest["state"], "out": str(arguments.out), "html": str(page), "seconds": manifest["seconds"]}
    progress.end("done", fields | {"rows": manifest["rows"]["read"]}, f"{manifest['state']}: {page}")  # type: ignore[index]
    return 0


def _run(
    arguments: argparse.Namespace, spec: catalog.ReportSpec, progress: Progress, cancellation: Cancellation
) -> dict[str, object]:
    from spark_reports.run import ReportRun, run_report  # noqa: PLC0415  a refused command line should not wait for numpy
    from spark_reports.session import SparkOptions  # noqa: PLC0415  as above

    parameters = _with_file(arguments, spec)
    heap_bytes = None if arguments.memory_mib is None else arguments.memory_mib << 20
    spark = SparkOptions(arguments.master, heap_bytes, arguments.java_home, cache_folder())
    run = ReportRun(spec, tuple(arguments.store), arguments.out, parameters, spark, tuple(dict.fromkeys(arguments.also)))
    return run_report(run, progress, cancellation)


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
