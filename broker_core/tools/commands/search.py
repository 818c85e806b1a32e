"""Command line of `search`: messages of a store directory or a cluster that pass a filter.

    search (--store DIR | --ns HOST:PORT | --connection NAME | --connection-file FILE) FILTER
           [--limit N] [--format jsonl|csv|parquet] [--out FILE] [--mask RULES]

Messages are written to standard output or a file, one a line under the names that `store dump` uses. The last line on standard
error says ``complete: …`` or ``partial: …`` with the counts, and why. Changes nothing in the store, and no group's offsets.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from broker_core.clock import wall_clock_ms
from broker_core.cluster.access import (
    HELP,
    ClusterAccess,
    FindSaved,
    access_of,
    add_access,
    add_details_flag,
    given_details,
    no_saved,
)
from broker_core.config import StoreConfig
from broker_core.counted import counted
from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.ownership import open_failed
from broker_core.errors import FilterError, OrbitError, UsageError
from broker_core.json_errors import fail
from broker_core.outside import whole_of
from broker_core.platform import signals
from broker_core.platform.file_names import wide_path
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.tools.commands.control import say
from broker_core.tools.search.export import FORMATS, exported
from broker_core.tools.search.expression import Expression
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.message_row import message_row
from broker_core.tools.search.results import Hit, Outcome, SearchStep
from broker_core.tools.search.row_names import MASKED, NAMES, Row
from broker_core.transport.event_loop import new_event_loop

EXIT_PARTIAL = 1
EXIT_CANCELLED = 130
EXIT_TERMINATED = 143
_WRITING = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EISDIR))
"""A search only reads, so these errors concern its output."""
PROGRESS_INTERVAL_S = 1.0

_FILTER_HELP = f"""\
fields: topic queue offset position id key tag prop.NAME body body.PATH body_bytes size host born stored group state reconsume
delay_level; operators: = != < <= > >= ~ (regular expression) contains in; and, or, not, brackets; text in quotes, times as ISO
8601, milliseconds since 1970 or -15m, sizes as 10KB.

{HELP}

example: topic = "orders" and tag in ("new", "paid") and body contains "4711" and stored >= -2h

exit codes: 0 complete, 1 partial, 2 wrong arguments or filter, 3 the store cannot be used, 4 no connection, 6 a broker refused,
130 interrupted, 143 given up (terminated: no file is left)"""


class RowMasking(Protocol):
    """Hides values in rows by rules; this package does not know such rules."""

    @property
    def words(self) -> str:
        """How much was hidden."""

    def masked(self, row: Row) -> Row:
        """A row as it may be written; its member `MASKED` names the hidden values."""


OpenMask = Callable[[Path], RowMasking]


def main(argv: list[str], *, open_mask: OpenMask | None = None, find_saved: FindSaved = no_saved) -> int:
    """Run one search, with the arguments after ``search``; ``open_mask`` opens a file of rules, None: there are no rules.

    Returns 0 if every message that passes was written, 1 if not, 130 after an interrupt, else the error's code.
    """
    arguments = _parser().parse_args(argv)
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        return _search(arguments, open_mask, find_saved)
    finally:
        signal.signal(signal.SIGTERM, before)


def _search(arguments: argparse.Namespace, open_mask: OpenMask | None, find_saved: FindSaved) -> int:
    try:
        access = access_of(arguments, find_saved, given_details(arguments))
        if arguments.parent_pipe:
            signals.end_with_input()
        expression = parse_filter(arguments.filter, now_ms=arguments.now or wall_clock_ms())
        mask = _mask(arguments, open_mask)
        with exported(arguments.out, arguments.format, NAMES if mask is None else (*NAMES, MASKED)) as write:
            outcome = _run(arguments, access, expression, write if mask is None else lambda row: write(mask.masked(row)))
    except FilterError as error:
        say(f"orbit search: {error.message}\n  {_pointed_at(arguments.filter, error)}")
        return error.exit_code
    except BrokenPipeError:
        raise  # standard output has no reader any more
    except OSError as error:
        return fail("orbit search", _refused(arguments, error))
    except OrbitError as error:
        return fail("orbit search", error)
    if mask is not None or arguments.originals:
        say("originals: no rule of masking was applied" if mask is None else mask.words)
    for note in outcome.outcome.notes:
        say(f"note: {note}")
    say(str(outcome.outcome))
    if outcome.was_interrupted:
        return EXIT_CANCELLED
    return 0 if outcome.outcome.is_complete else EXIT_PARTIAL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="orbit search",
        description="Find messages in a RocketMQ store directory or a cluster; changes nothing.",
        epilog=_FILTER_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--store", type=wide_path, metavar="DIR", help="store directory, the one that holds commitlog/")
    add_access(place)
    add_details_flag(parser)
    parser.add_argument("filter", metavar="FILTER", help="which messages; see below")
    parser.add_argument("--limit", type=_count, metavar="N", help="stop after so many; default: all")
    parser.add_argument("--format", choices=FORMATS, default="jsonl", help="how to write them (default: %(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to a file instead of standard output")
    taken = parser.add_mutually_exclusive_group()
    taken.add_argument("--mask", type=Path, metavar="RULES", help="hide what the window's decoder-rules.json masks")
    taken.add_argument("--originals", action="store_true", help="say in the receipt that nothing is masked, as without --mask")
    parser.add_argument("--now", type=_count, metavar="MS", help="what -2h counts from, in ms since 1970; default: now")
    parser.add_argument("--parent-pipe", action="store_true", help="give up when standard input ends")
    return parser


def _mask(arguments: argparse.Namespace, open_mask: OpenMask | None) -> RowMasking | None:
    if arguments.mask is None:
        return None
    if open_mask is None:
        raise UsageError("this command masks nothing: leave out --mask")
    return open_mask(arguments.mask)


def _terminated(*_: object) -> None:
    """Exit; unlike an interrupt this leaves no file, not even a partial one."""
    raise SystemExit(EXIT_TERMINATED)


_SHOWN_CHARACTERS = 80


def _count(text: str) -> int:
    number = whole_of(text)
    if not number:
        raise argparse.ArgumentTypeError(f"a whole number from 1 on is meant, not “{text[:_SHOWN_CHARACTERS]}”")
    return number


def _refused(arguments: argparse.Namespace, error: OSError) -> OrbitError:
    """The error of a refused read of the store, or write of the output."""
    if (
        arguments.store
        and error.errno not in _WRITING
        and Path(error.filename or arguments.store).is_relative_to(arguments.store)
    ):
        return open_failed(arguments.store, error)
    place = arguments.out or "standard output"
    return UsageError(f"what was found could not be written to {place}: {error.strerror or error}. Choose another place")


def _pointed_at(text: str, error: FilterError) -> str:
    """The filter, and below it marks at the place of an error."""
    position, length = error.context["position"], error.context["length"]
    assert isinstance(position, int)
    assert isinstance(length, int)
    start = max(0, position - 60)
    line = text[start : start + 120].replace("\n", " ").replace("\t", " ")
    return f"{line}\n  {' ' * (position - start)}{'^' * max(1, min(length, 60))}"


# ---- the search --------------------------------------------------------------------------------------------------------


class _Run:
    def __init__(self, write: Callable[[Row], None], *, tells_progress: bool) -> None:
        self.was_interrupted = False
        self.outcome = Outcome(0, 0, ("it did not begin",))
        self._write = write
        self._is_writing = False
        self._tells_progress = tells_progress
        self._told_s = time.monotonic()
        self._levels = DelayLevels(StoreConfig().message_delay_level)

    def store(self, root: Path, expression: Expression, limit: int | None) -> None:
        from broker_core.tools.search.scan import StoreSearch

        search = StoreSearch(root, expression, limit=limit)
        say(f"plan: {search.plan}")

        def interrupted(*_: object) -> None:
            self.was_interrupted = True
            search.cancel()

        previous = signal.signal(signal.SIGINT, interrupted)
        try:
            for step in search.steps():
                for hit in step.hits:
                    self._give(hit, search.tags_code(hit.message))
                self._tell(step)
        finally:
            signal.signal(signal.SIGINT, previous)
        assert search.outcome is not None
        self.outcome = search.outcome
        for finding in self.outcome.findings:
            say(str(finding))

    async def cluster(self, access: ClusterAccess, expression: Expression, limit: int | None) -> None:
        from broker_core.tools.search.cluster import ClusterSearch

        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        search: ClusterSearch | None = None

        def interrupted() -> None:
            self.was_interrupted = True
            if search is None:
                task.cancel()
            else:
                search.cancel()

        def terminated(*_: object) -> None:
            if self._is_writing:
                # The output's reader may have stopped, so a callback of the loop would never run.
                raise SystemExit(EXIT_TERMINATED)
            # An exception raised in the middle of a connection's work would end the connection, and not the program.
            loop.call_soon_threadsafe(task.cancel)

        signals.on_signal(loop, signal.SIGINT, interrupted)
        signal.signal(signal.SIGTERM, terminated)
        try:
            async with access.admin() as admin:
                search = ClusterSearch(admin, expression, limit=limit)
                await search.prepare()
                say(f"plan: {search.plan}")
                async for step in search.steps():
                    self._give_all(step)
        finally:
            signals.off_signal(loop, signal.SIGINT)
            signal.signal(signal.SIGTERM, _terminated)
        assert search.outcome is not None
        self.outcome = search.outcome

    def _give_all(self, step: SearchStep) -> None:
        self._is_writing = True
        for hit in step.hits:
            self._give(hit, None)
        self._is_writing = False
        self._tell(step)

    def _tell(self, step: SearchStep) -> None:
        """Print progress at an interval, while hits are written to a file."""
        if self._tells_progress and time.monotonic() - self._told_s >= PROGRESS_INTERVAL_S:
            self._told_s = time.monotonic()
            say(f"progress: scanned {step.scanned:,} of {step.total:,}, {counted(step.found, 'hit')}")

    def _give(self, hit: Hit, unit_code: int | None) -> None:
        code = unit_code
        if code is None:
            message = hit.message
            code = unit_tags_code(message.topic, message.properties_bytes, message.store_timestamp_ms, self._levels)
        row, fault = message_row(hit, code)
        self._write(row)
        if fault:
            say(fault)


def _run(
    arguments: argparse.Namespace, access: ClusterAccess | None, expression: Expression, write: Callable[[Row], None]
) -> _Run:
    run = _Run(write, tells_progress=arguments.out is not None)
    if access is None:
        run.store(arguments.store, expression, arguments.limit)
    else:
        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(run.cluster(access, expression, arguments.limit))
        except asyncio.CancelledError:
            if not run.was_interrupted:
                raise SystemExit(EXIT_TERMINATED) from None
    return run
