"""Command line of the report process: ``report NAME --store DIR --out DIR …`` and ``report --list``.

Exit codes are those of `broker_core.errors`; `EXIT_PARTIAL` if something could not be read; 130 after a cancellation.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from broker_core.cluster.access import FindSaved, add_access, add_details_flag, no_saved
from broker_core.errors import CancelledByUserError, OrbitError, UsageError
from broker_core.parts import REPORTS, require
from broker_core.platform import machine, signals
from broker_core.platform.file_names import wide
from spark_reports import catalog
from spark_reports.cancel import Cancellation
from spark_reports.class_cache import cache_folder
from spark_reports.cluster_access import is_cluster, reached
from spark_reports.report_command import bounds_of, carry_out, cluster_of, own_parameters, spec_of
from spark_reports.saved_queries import names

DESCRIPTION = (
    "Make a report on the messages of a store, also while a broker is writing to it, or of a running cluster. The result is a "
    "folder with a page (report.html), tables as Parquet and CSV (JSON Lines, XLSX and PDF on demand), and manifest.json, "
    "which says what was read and what was left out."
)
EXIT_PARTIAL = 1
EXIT_CODES = (
    "exit codes: 0 complete; 1 partial: the result is there, and the last lines and manifest.json say what it lacks and why; "
    "2 wrong arguments; 3 the store cannot be used; 4 no connection; 6 a broker refused; 7 the report failed; 8 Java is "
    "missing, did not start or ran out of memory; 130 cancelled: nothing is left"
)
_VALUE_OPTIONS = ("--from", "--to")
EXTRA_FORMATS = ("jsonl", "xlsx", "pdf")
LOW_PRIORITY = 10
"""Added to the niceness, which ranges from -20 to 19."""


def main(argv: Sequence[str], find_saved: FindSaved = no_saved) -> int:
    """Run the command line; return the exit code. ``find_saved`` reads connections saved by the window."""
    arguments = parse(argv)
    try:
        if arguments.list:
            _print_list()
            return 0
        require(REPORTS)
        if arguments.estimate:
            return _estimate(arguments, find_saved)
        if arguments.prepare:
            return _prepare(arguments)
        if arguments.serve:
            return _serve(arguments, find_saved)
        return _report(arguments, find_saved)
    except OrbitError as error:
        print(f"orbit: {error.message}", file=sys.stderr)
        return error.exit_code


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Options of a command line; exits the program if they are invalid."""
    return _parser().parse_args(_joined(argv))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="orbit report", description=DESCRIPTION, epilog=EXIT_CODES)
    parser.add_argument("name", nargs="?", metavar="NAME", help="which report; see --list")
    parser.add_argument("--list", action="store_true", help="list the reports and leave")
    parser.add_argument("--estimate", action="store_true", help="say as JSON how much would be read, and leave")
    parser.add_argument("--prepare", action="store_true", help="prepare Java's classes once, so that reports start faster")
    parser.add_argument("--serve", action="store_true", help="stay with Spark started and take reports on standard input")
    parser.add_argument("--idle-s", type=float, default=300.0, metavar="S", help="with --serve: leave after such a rest")
    parser.add_argument(
        "--store", type=_absolute, action="append", default=[], metavar="DIR", help="store directory; several are read as one"
    )
    parser.add_argument(
        "--commit-log", type=_all_absolute, default="", metavar="DIRS",
        help="directories of the store's commit log, separated by commas (storePathCommitLog)",
    )  # fmt: skip
    _add_cluster(parser)
    parser.add_argument(
        "--parquet", type=_absolute_path, metavar="DIR",
        help="prepared messages: continued from --store if that is given, and read instead of the log; no NAME: only continued",
    )  # fmt: skip
    parser.add_argument(
        "--bodies", action=argparse.BooleanOptionalAction, default=None, help="prepare bodies too (a new folder: without)"
    )
    parser.add_argument(
        "--out", type=_absolute_path, metavar="DIR", help="folder of the result; an earlier result there is replaced"
    )
    parser.add_argument("--from", dest="from_time", metavar="T", help="stored at or after: 2026-03-01T08:00, epoch ms, -2h")
    parser.add_argument("--to", dest="to_time", metavar="T", help="stored before; default: the newest message")
    parser.add_argument("--topic", action="append", default=[], metavar="T", help="only this topic; may be repeated")
    for parameter in own_parameters():
        parser.add_argument(f"--{parameter.name}", dest=f"own_{parameter.name}", metavar="V", help=parameter.help)
    parser.add_argument("--params", type=Path, metavar="FILE", help="JSON object of parameters; options given here win")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--mask", type=Path, metavar="RULES", help="hide what the window's decoder-rules.json masks")
    shown.add_argument("--originals", action="store_true", help="say in the result that nothing is masked, as without --mask")
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="language of the page")
    parser.add_argument("--also", action="append", default=[], choices=EXTRA_FORMATS, help="write the tables in this form too")
    parser.add_argument("--master", default="local[*]", help="Spark master, or sc://HOST:PORT; default local[*], this machine")
    parser.add_argument("--spark-conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark")
    parser.add_argument("--driver-host", metavar="ADDRESS", help="where the workers of a cluster reach this machine")
    parser.add_argument("--memory-mib", type=int, metavar="N", help="heap of Java in MiB; default a third of the free memory")
    parser.add_argument(
        "--java-home", type=_absolute_path, metavar="DIR", help="use this Java (17 or newer) instead of the packaged one"
    )
    parser.add_argument("--progress", choices=("text", "json"), default="text", help="progress lines for people or programs")
    parser.add_argument("--low-priority", action="store_true", help="leave the processor to other programs")
    parser.add_argument("--parent-pipe", action="store_true", help="cancel when standard input ends")
    return parser


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    add_access(parser.add_mutually_exclusive_group(), of="a running cluster that is read in place of a store")
    add_details_flag(parser)
    parser.set_defaults(details="")
    add = parser.add_argument
    add("--rate-messages", type=_amount, metavar="N", help="messages a second from one broker of a cluster; 0: no bound")
    add("--rate-mib", type=_amount, metavar="N", help="MiB a second from one broker of a cluster; default 32, 0: no bound")
    add("--offsets", metavar="JSON", help='of a cluster these alone: {"TOPIC": {"BROKER:QUEUE": [FROM, TO]}}')
    add("--history", type=Path, metavar="DIR", help="folder of the recorded history of a cluster, if it is not the usual one")


# Java and Spark's processes run in a folder of their own.


def _absolute_path(text: str) -> Path:
    return wide(Path(text).absolute())


def _absolute(text: str) -> str:
    return text and str(_absolute_path(text))


def _all_absolute(text: str) -> str:
    return ",".join(_absolute(part.strip()) for part in text.split(","))


def _amount(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1e12:
        raise argparse.ArgumentTypeError(f"a rate is a number from 0, not “{text}”")
    return found


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


def _report(arguments: argparse.Namespace, find_saved: FindSaved) -> int:
    spec = spec_of(arguments)
    cancellation = Cancellation()
    cancellation.install()
    try:
        with reached(arguments, find_saved):
            _settle(arguments)
            return 0 if carry_out(arguments, spec, cancellation) else EXIT_PARTIAL
    finally:
        cancellation.uninstall()


def _settle(arguments: argparse.Namespace) -> None:
    if arguments.parent_pipe:
        signals.end_with_input()
    if arguments.low_priority:
        _give_way()


def _give_way() -> None:
    machine.lower_priority(LOW_PRIORITY)


def _serve(arguments: argparse.Namespace, find_saved: FindSaved) -> int:
    from spark_reports.serve import serve

    if arguments.low_priority:
        _give_way()
    return serve(arguments, parse, find_saved)


def _estimate(arguments: argparse.Namespace, find_saved: FindSaved) -> int:
    from spark_reports.datasource.estimate import estimate
    from spark_reports.datasource.log_files import directories_of

    if bool(arguments.store) == is_cluster(arguments):
        raise UsageError("an estimate needs --store DIR or --ns HOST:PORT (what would be read)")
    with reached(arguments, find_saved):
        if arguments.parent_pipe:
            signals.end_with_input()
        bounds = bounds_of(arguments)
        cluster = cluster_of(arguments)
        if cluster is None:
            found = estimate(
                arguments.store, directories=directories_of(arguments.commit_log, arguments.store), from_ms=bounds.from_ms,
                to_ms=bounds.to_ms,
            )  # fmt: skip
        else:
            from spark_reports.clusters import estimate_cluster

            spec = catalog.find(arguments.name) if arguments.name else None
            found = estimate_cluster(cluster, spec, bounds, bounds.from_ms)
    print(json.dumps(found.fields()))
    return 0


def _prepare(arguments: argparse.Namespace) -> int:
    from spark_reports.warm_up import prepare_classes

    cancellation = Cancellation()
    cancellation.install()
    _settle(arguments)
    print("Preparing Java's classes for reports; this takes a minute or two.", flush=True)
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
