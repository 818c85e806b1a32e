"""Command line of `replay`: send messages again that a search finds, or that a file holds.

    replay (--store DIR | --ns HOST:PORT) FILTER (--to TOPIC | --to-group GROUP | --to-origin) [--to-ns HOST:PORT] …
    replay --from-file FILE (--to TOPIC | …) --to-ns HOST:PORT …
    replay --resume DIR

First all messages are gathered in a folder, the journal; then they are sent from there, each with its result in the folder's
receipt. So a replay never finds what it sends itself, and goes on after an interrupt, a crash or a restart.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.clock import wall_clock_ms
from broker_core.errors import OrbitError, UsageError
from broker_core.replay.audience import GROUPS_ASKED_MAX, warnings
from broker_core.replay.item import ReplayItem, item_of_message, item_of_row
from broker_core.replay.journal import RECEIPT_FILE, Journal, Progress, ReplayPlan, Spool
from broker_core.replay.pace import Pace
from broker_core.replay.rewrite import Target
from broker_core.replay.survey import Survey
from broker_core.search.expression import Expression
from broker_core.search.language import parse_filter
from broker_core.search.results import Outcome

if TYPE_CHECKING:
    from broker_core.client.admin import AdminClient

EXIT_PARTIAL = 1
EXIT_INTERRUPTED = 130
PRODUCER_GROUP = "orbit-replay"
FAILURES_MAX = 10
PROGRESS_INTERVAL_S = 1.0
STOPPED = "it was stopped"

_HELP = """\
The filter is that of “orbit search”. Each new message carries the id of its origin in the property ORBIT_ORIGIN_ID.

examples:
  orbit replay --ns 127.0.0.1:9876 'topic = "orders" and stored >= -2h' --to orders-test --dry-run
  orbit replay --store /data/store 'topic = "orders"' --to orders --to-ns 127.0.0.1:9876 --speed 10
  orbit replay --from-file hits.jsonl --to-origin --to-ns 127.0.0.1:9876 --rate 500

exit codes: 0 all sent, 1 some failed or were left out, or it stopped early, 2 wrong arguments, 3 the store cannot be used,
4 no connection, 6 a broker refused, 130 interrupted (go on with --resume)"""


def main(argv: list[str]) -> int:
    """Run one replay.

    Args:
        argv: Arguments behind ``replay``.

    Returns:
        0 if every message was sent, 1 if not, 130 after an interrupt, else the error's code.
    """
    arguments = _parser().parse_args(argv)
    try:
        return asyncio.run(_replay(arguments))
    except OrbitError as error:
        _say(f"orbit replay: {error.message}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("orbit replay: interrupted before anything was sent")
        return EXIT_INTERRUPTED
    except OSError as error:
        _say(f"orbit replay: {error}. Nothing more was sent; go on with --resume when this is mended")
        return EXIT_PARTIAL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="orbit replay",
        description="Send messages again, with all that their producers gave them.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--store", type=Path, metavar="DIR", help="find them in a store directory")
    source.add_argument("--ns", metavar="HOST:PORT", help="find them in a cluster, by its name server")
    source.add_argument("--from-file", type=Path, metavar="FILE", help="take those of an export: .jsonl, .csv or .parquet")
    source.add_argument("--resume", type=Path, metavar="DIR", help="go on with the replay in this folder, as it was begun")
    parser.add_argument("filter", nargs="?", metavar="FILTER", help="which messages, with --store and --ns")
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument("--to", default="", metavar="TOPIC", help="send all to one topic")
    goal.add_argument("--to-group", default="", metavar="GROUP", help="send them to one consumer group alone")
    goal.add_argument("--to-origin", action="store_true", help="send each to the topic it was first sent to")
    parser.add_argument("--to-ns", metavar="HOST:PORT", help="name server of the cluster they go to; default: that of --ns")
    parser.add_argument("--dry-run", action="store_true", help="say what would be sent, and send nothing")
    parser.add_argument("--rate", type=float, metavar="N", help="messages a second at most; default: no limit")
    parser.add_argument("--speed", type=float, metavar="X", help="1: at the pace of the originals, 10: ten times faster")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N that the search finds")
    parser.add_argument("--allow-partial", action="store_true", help="send also when the search could not look everywhere")
    parser.add_argument("--new-ids", action="store_true", help="give each a unique id of its own")
    parser.add_argument("--born-now", action="store_true", help="born when they are sent, not when the originals were")
    parser.add_argument("--without-delay", action="store_true", help="deliver at once what was sent with a delay")
    parser.add_argument("--no-link", action="store_true", help="leave out the property with the origin")
    failures_help = "stop after so many failures (default: %(default)s)"
    parser.add_argument("--failures-max", type=int, default=FAILURES_MAX, metavar="N", help=failures_help)
    parser.add_argument("--journal", type=Path, metavar="DIR", help="folder of journal and receipt; default: a new one")
    parser.add_argument("--now", type=int, metavar="MS", help="what -2h counts from, in ms since 1970; default: now")
    parser.add_argument("--control", action="store_true", help="take pause, resume and stop as lines on standard input")
    return parser


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


async def _replay(arguments: argparse.Namespace) -> int:
    if arguments.resume is not None:
        _refuse_with_resume(arguments)
        return await _send(arguments.resume, arguments)
    name_servers = _name_servers(arguments)
    target = Target(
        topic=arguments.to,
        group=arguments.to_group,
        to_origin=arguments.to_origin,
        new_ids=arguments.new_ids,
        born_now=arguments.born_now,
        without_delay=arguments.without_delay,
        link=not arguments.no_link,
    )
    survey = Survey(target, Pace(arguments.rate, arguments.speed))
    if arguments.dry_run:
        outcome = await _gather(arguments, survey, None)
        _tell(survey, outcome)
        if name_servers:
            await _check_goal(name_servers, survey)
        _say("dry run: nothing was sent")
        return 0 if outcome is None or outcome.is_complete else EXIT_PARTIAL
    folder = arguments.journal or _new_folder()
    await _prepare(arguments, folder, survey, name_servers)
    return await _send(folder, arguments)


def _refuse_with_resume(arguments: argparse.Namespace) -> None:
    given = [name for name in ("filter", "to", "to_group", "to_origin", "to_ns", "rate", "speed", "limit", "journal")
             if getattr(arguments, name)]  # fmt: skip
    if given or arguments.dry_run:
        names = ", ".join(name.replace("_", "-") for name in given) or "dry-run"
        raise UsageError(f"a replay goes on as it was begun: leave out {names}")


def _name_servers(arguments: argparse.Namespace) -> str:
    """Name servers of the cluster that messages go to; may be empty for a dry run."""
    if arguments.from_file is None and not arguments.filter:
        raise UsageError("give a FILTER that says which messages; all of a topic: 'topic = \"NAME\"'")
    if arguments.from_file is not None and (arguments.filter or arguments.limit):
        raise UsageError("a file is replayed as a whole: leave FILTER and --limit to the search that writes it")
    found = arguments.to_ns or arguments.ns or ""
    if not found and not arguments.dry_run:
        raise UsageError("say with --to-ns HOST:PORT which cluster the messages go to")
    return str(found)


def _new_folder() -> Path:
    import platformdirs  # noqa: PLC0415  only where no folder is named

    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    base = platformdirs.user_data_path("orbit", appauthor=False) / "replays"
    for number in range(1, 1_000):
        folder = base / (stamp if number == 1 else f"{stamp}-{number}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder
    raise UsageError(f"a thousand replays began this second in {base}: name a folder with --journal")


# ---- gathering ---------------------------------------------------------------------------------------------------------


async def _prepare(arguments: argparse.Namespace, folder: Path, survey: Survey, name_servers: str) -> None:
    """Gather all messages in the journal's folder and check that they can be sent."""
    spool = Spool(folder)
    try:
        outcome = await _gather(arguments, survey, spool)
        _tell(survey, outcome)
        limited = arguments.limit is not None and spool.count >= arguments.limit
        if outcome is not None and not outcome.is_complete and not (limited or arguments.allow_partial):
            raise UsageError("not all messages were found, so nothing was sent: mend the cause, or give --allow-partial")
        await _check_goal(name_servers, survey)
        source = str(arguments.from_file or f"{arguments.store or arguments.ns}: {arguments.filter}")
        spool.finish(
            ReplayPlan(
                source=source,
                name_servers=name_servers,
                target=survey.target,
                pace=survey.pace,
                count=spool.count,
                body_bytes=spool.body_bytes,
            )
        )
    finally:
        spool.close()


async def _gather(arguments: argparse.Namespace, survey: Survey, spool: Spool | None) -> Outcome | None:
    def take(item: ReplayItem) -> None:
        survey.add(item)
        if spool is not None:
            spool.add(item)

    if arguments.from_file is not None:
        for item in _items_of_file(arguments.from_file):
            take(item)
        return None
    expression = parse_filter(arguments.filter, now_ms=arguments.now or wall_clock_ms())
    search = _Search(arguments, expression)
    async for item in search.items():
        take(item)
    return search.outcome


def _items_of_file(path: Path) -> Iterator[ReplayItem]:
    from broker_core.search.export import read_rows  # noqa: PLC0415

    now_ms = wall_clock_ms()
    for number, row in read_rows(path):
        yield item_of_row(row, f"message {number:,} of {path.name}", now_ms)


class _Search:
    """A search for the messages of a replay, of a directory or a cluster."""

    def __init__(self, arguments: argparse.Namespace, expression: Expression) -> None:
        self.outcome: Outcome | None = None
        self._arguments = arguments
        self._expression = expression

    async def items(self) -> AsyncIterator[ReplayItem]:
        if self._arguments.store is not None:
            for item in self._of_store():
                yield item
            return
        from broker_core.client.admin import AdminClient  # noqa: PLC0415  takes its time; not for a wrong filter
        from broker_core.search.cluster import ClusterSearch  # noqa: PLC0415

        async with AdminClient(self._arguments.ns) as admin:
            search = ClusterSearch(admin, self._expression, limit=self._arguments.limit)
            await search.prepare()
            _say(f"search: {search.plan}")
            async for step in search.steps():
                for hit in step.hits:
                    yield item_of_message(hit.message)
            self.outcome = search.outcome

    def _of_store(self) -> Iterator[ReplayItem]:
        from broker_core.search.scan import StoreSearch  # noqa: PLC0415  numpy takes its time

        search = StoreSearch(self._arguments.store, self._expression, limit=self._arguments.limit)
        _say(f"search: {search.plan}")
        for step in search.steps():
            for hit in step.hits:
                yield item_of_message(hit.message)
        self.outcome = search.outcome


def _tell(survey: Survey, outcome: Outcome | None) -> None:
    if outcome is not None:
        _say(f"search: {outcome}")
    for line in survey.lines():
        _say(line)


async def _check_goal(name_servers: str, survey: Survey) -> None:
    """Refuse before anything is sent, rather than make topics that nobody asked for; say what groups would reject."""
    from broker_core.client.admin import AdminClient  # noqa: PLC0415  as above
    from broker_core.client.names import check_topic  # noqa: PLC0415

    topics = survey.topics
    for topic in topics:
        check_topic(topic)
    async with AdminClient(name_servers) as admin:
        missing = sorted(topics - set(await admin.topics()))
        if missing:
            more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
            raise UsageError(f"{name_servers} has no topic {', '.join(missing[:5])}{more}: create it first. Nothing was sent")
        for line in await _audience(admin, survey):
            _say(line)


async def _audience(admin: AdminClient, survey: Survey) -> list[str]:
    """Warnings about the groups that would get the messages. What a broker does not tell stops nothing."""
    target, kinds = survey.target, survey.kinds
    try:
        if target.group:
            found = await admin.subscriptions(target.group)
            lines = list(warnings(target.group, found, kinds.counts, alone=True))
        else:
            lines = []
            for topic in sorted(survey.topics)[:GROUPS_ASKED_MAX]:
                for group in (await admin.groups_of_topic(topic))[:GROUPS_ASKED_MAX]:
                    lines += warnings(group, await admin.subscriptions(group), kinds.of(topic), alone=False)
    except OrbitError as error:
        return [f"warning: what groups would reject is not known: {error.message}"]
    if kinds.left_out:
        lines.append(f"warning: {kinds.left_out:,} messages of further tags were not held against subscriptions")
    return lines


# ---- sending -----------------------------------------------------------------------------------------------------------


async def _send(folder: Path, arguments: argparse.Namespace) -> int:
    from broker_core.client.producer import Producer  # noqa: PLC0415  as above
    from broker_core.message.message_id import UniqueIdGenerator  # noqa: PLC0415
    from broker_core.replay.runner import ReplayRunner, Surroundings  # noqa: PLC0415

    loop = asyncio.get_running_loop()
    changed = asyncio.Event()

    async def wait(seconds: float) -> None:
        changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await changed.wait()

    with Journal(folder) as journal:
        ids = UniqueIdGenerator(b"\x7f\0\0\x01", os.getpid(), random.randrange(1 << 31), wall_clock_ms)
        outside = Surroundings(loop.time, wait, wall_clock_ms, ids.next_id)
        _say(f"journal: {folder}, {journal.left:,} of {journal.plan.count:,} messages to send")
        async with Producer(journal.plan.name_servers, PRODUCER_GROUP) as producer:
            runner = ReplayRunner(journal, producer, outside, failures_max=arguments.failures_max)

            def command(word: str) -> None:
                if word == "pause":
                    runner.pause()
                elif word == "resume":
                    runner.resume()
                else:
                    runner.stop(STOPPED)
                changed.set()

            with _interrupts(lambda: command("stop")):
                watch = asyncio.create_task(_watch(journal, lambda: runner.is_paused), name="replay progress")
                listener = await _listen(command) if arguments.control else None
                try:
                    await runner.run()
                finally:
                    watch.cancel()
                    if listener is not None:
                        listener.close()
        _say(_last_word(journal, runner.stopped_because, runner.last_failure))
        return _exit_code(journal, runner.stopped_because)


def _exit_code(journal: Journal, stopped_because: str) -> int:
    if journal.left == 0 and not journal.progress.skipped:
        return 0
    return EXIT_INTERRUPTED if stopped_because == STOPPED else EXIT_PARTIAL


def _last_word(journal: Journal, stopped_because: str, last_failure: str) -> str:
    receipt = f"receipt: {journal.folder / RECEIPT_FILE}"
    if journal.left == 0:
        return f"complete: {journal.progress}; {receipt}"
    why = stopped_because or f"messages failed, the last because {last_failure}"
    going_on = f"go on with: orbit replay --resume {journal.folder}"
    return f"partial: {journal.progress}, {journal.left:,} left; {why}; {receipt}; {going_on}"


@contextlib.contextmanager
def _interrupts(stop: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _watch(journal: Journal, is_paused: Callable[[], bool]) -> None:
    """A line of progress a second."""
    before = -1
    while True:
        await asyncio.sleep(PROGRESS_INTERVAL_S)
        progress = journal.progress
        done = progress.sent + progress.failed + progress.skipped
        if done != before or is_paused():
            _say(_progress_line(progress, journal.left, paused=is_paused()))
        before = done


def _progress_line(progress: Progress, left: int, *, paused: bool) -> str:
    return f"progress: {progress}, {left:,} left{', paused' if paused else ''}"


class _Lines(asyncio.Protocol):
    """Commands on standard input; its end is a stop, for then whoever started this is gone."""

    def __init__(self, command: Callable[[str], None]) -> None:
        self._command = command
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            word = line.strip().decode("ascii", "replace")
            if word in ("pause", "resume", "stop"):
                self._command(word)
            elif word:
                _say(f"there is no command {json.dumps(word[:40])}: pause, resume and stop")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's signature
        self._command("stop")


async def _listen(command: Callable[[str], None]) -> asyncio.ReadTransport:
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.connect_read_pipe(lambda: _Lines(command), sys.stdin)
    except (ValueError, OSError) as error:
        raise UsageError(f"standard input cannot be read ({error}): --control is for programs with a pipe") from error
    return transport
