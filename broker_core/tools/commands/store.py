"""Command line of `store`: verifies or prints a store, or deletes its old files. Only the last changes anything.

    store verify DIR [--delay-levels TEXT] [--commit-log DIRS]
    store dump DIR [--topic T] [--kind messages|queues|index|config] [--commit-log DIRS]
    store clean DIR [--reserved-hours N]

Findings are written to standard output (verify) or standard error (dump); standard output of a dump is JSON Lines.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from broker_core.config import StoreConfig
from broker_core.counted import counted
from broker_core.engine.store.inspection.dump import Row, dump_config, dump_index, dump_messages, dump_queues
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.engine.store.inspection.verify import Verification
from broker_core.engine.store.log_places import paths_of
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.ownership import check_directory, open_failed
from broker_core.errors import ForeignStoreError, OrbitError
from broker_core.json_errors import fail
from broker_core.platform.file_names import wide_path
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.tools.commands.control import say

_T = TypeVar("_T")

EXIT_UNSOUND = 1

_KINDS = ("messages", "queues", "index", "config")


def main(argv: list[str]) -> int:
    """Run one command, with the arguments after ``store``.

    Returns 0 if all is well, 1 if the store has inconsistencies or a dump left something out, else the error's code.
    """
    arguments = _parser().parse_args(argv)
    try:
        code = _COMMANDS[arguments.command](arguments)
        sys.stdout.flush()
    except OrbitError as error:
        return fail("orbit store", error)
    return code


@contextmanager
def _of_store(root: Path) -> Iterator[None]:
    """Tell faults of the operating system as those of the store; standard output has its own."""
    try:
        yield
    except OSError as error:
        raise open_failed(root, error) from error


def _read(root: Path, rows: Iterable[_T]) -> Iterator[_T]:
    with _of_store(root):
        yield from rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="orbit store", description="Look into a RocketMQ store directory, or clean it.")
    commands = parser.add_subparsers(dest="command", required=True)
    verify = commands.add_parser("verify", help="report every inconsistency; exit code 0 only if there is none")
    dump = commands.add_parser("dump", help="print the content as JSON Lines")
    for command in (verify, dump):
        command.add_argument("directory", type=wide_path, metavar="DIR", help="store directory, the one that holds commitlog/")
        command.add_argument(
            "--delay-levels",
            metavar="TEXT",
            default=StoreConfig().message_delay_level,
            help="messageDelayLevel of the store's broker (default: %(default)s)",
        )
        command.add_argument(
            "--commit-log",
            metavar="DIRS",
            default="",
            help="directories of the commit log, separated by commas (storePathCommitLog; default: DIR/commitlog)",
        )
    clean = commands.add_parser("clean", help="delete what is too old from a store that nobody has open; prints how much")
    clean.add_argument("directory", type=wide_path, metavar="DIR", help="store directory, the one that holds commitlog/")
    clean.add_argument(
        "--reserved-hours",
        type=int,
        metavar="N",
        default=StoreConfig().file_reserved_hours,
        help="files that were written to within N hours stay (default: %(default)s)",
    )
    dump.add_argument("--topic", metavar="T", help="only this topic")
    dump.add_argument("--kind", choices=_KINDS, default="messages", help="what to print (default: %(default)s)")
    return parser


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _clean(arguments: argparse.Namespace) -> int:
    root: Path = arguments.directory
    with _of_store(root):
        check_directory(root, read_only=True)
        with MessageStore.open(StoreConfig(root=root, file_reserved_hours=arguments.reserved_hours)) as store:
            cleaned, begin = store.clean(), store.commit_log_min_offset
    _print(
        f"{root}: deleted: {counted(cleaned.log_files, 'commit log file')} ({counted(cleaned.log_bytes, 'byte')}), "
        f"{counted(cleaned.queue_files, 'consume queue file')}, {counted(cleaned.index_files, 'index file')}; "
        f"the log begins at {begin:,}"
    )
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    root: Path = arguments.directory
    with _of_store(root):
        run = Verification(root, DelayLevels(arguments.delay_levels), _log_directories(arguments))
    count = 0
    for finding in _read(root, run.findings()):
        count += 1
        _print(str(finding))
    for note in run.notes:
        _print(f"note: {note}")
    examined = (
        f"{counted(run.records, 'record')} from {run.log_min_offset:,} to {run.log_end:,}, {counted(run.queues, 'queue')}, "
        f"{counted(run.index_files, 'index file')}"
    )
    _print(f"{root}: {examined}: " + (counted(count, "inconsistency", "inconsistencies") if count else "sound"))
    return EXIT_UNSOUND if count else 0


def _dump(arguments: argparse.Namespace) -> int:
    root: Path = arguments.directory
    levels = DelayLevels(arguments.delay_levels)
    with _of_store(root):
        check_directory(root, read_only=True, logs=_log_directories(arguments))
    findings: list[StoreFinding] = []
    left_out = 0
    for line in _read(root, _lines(arguments, root, levels, findings)):
        sys.stdout.write(line + "\n")
        if findings:
            left_out += _tell(findings)
    left_out += _tell(findings)
    return EXIT_UNSOUND if left_out else 0


def _log_directories(arguments: argparse.Namespace) -> list[Path]:
    """Directories of the commit log as given, empty for the store's own; raises `ForeignStoreError` if one does not exist."""
    found = paths_of(arguments.commit_log)
    for path in found:
        if not path.is_dir():
            raise ForeignStoreError(f"there is no commit log directory {path}. Check --commit-log", path=str(path))
    return found


def _tell(findings: list[StoreFinding]) -> int:
    """Print and clear the findings; returns their number."""
    for finding in findings:
        say(str(finding))
    count = len(findings)
    findings.clear()
    return count


def _lines(arguments: argparse.Namespace, root: Path, levels: DelayLevels, findings: list[StoreFinding]) -> Iterator[str]:
    topic: str | None = arguments.topic
    if arguments.kind == "messages":
        return dump_messages(root, topic, levels, findings, _log_directories(arguments))
    if arguments.kind == "queues":
        return map(_line, dump_queues(root, topic))
    if arguments.kind == "index":
        return map(_line, dump_index(root, topic, findings, _log_directories(arguments)))
    return map(_line, dump_config(root, topic, findings))


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


_COMMANDS = {"verify": _verify, "dump": _dump, "clean": _clean}
