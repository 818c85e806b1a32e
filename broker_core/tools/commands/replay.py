"""Command line of `replay`: sends messages found by a search, or read from a file, again.

    replay (--store DIR | --ns HOST:PORT) FILTER (--to TOPIC | --to-group GROUP | --to-origin) [--to-ns HOST:PORT] …
    replay --from-file FILE (--to TOPIC | …) --to-ns HOST:PORT …
    replay --resume DIR

A cluster may also be a saved connection or a file (--connection, --to-connection, …): see `broker_core.cluster.access`.

First all messages are written to a folder, the journal; then they are sent from there, each with its result in the folder's
receipt. So a replay never finds its own messages, and continues after an interrupt, a crash or a restart.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from broker_core.clock import wall_clock_ms
from broker_core.cluster.access import ClusterAccess, FindSaved, access_of, given_details, no_saved
from broker_core.counted import counted
from broker_core.errors import OrbitError, UsageError
from broker_core.json_errors import fail
from broker_core.tools.commands.control import STOPPED, Steered, Wakeable, cancelled_by_signals, names_by_time, say, steered
from broker_core.tools.commands.replay_arguments import (
    check_arguments,
    goal_of_arguments,
    goal_of_plan,
    parser,
    refuse_with_resume,
)
from broker_core.tools.replay.folder import replays_folder
from broker_core.tools.replay.item import ReplayItem, item_of_message, item_of_row
from broker_core.tools.replay.journal import RECEIPT_FILE, ReplayJournal, ReplayPlan, Spool
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.rewrite import ReplayTarget
from broker_core.tools.replay.survey import ReplaySurvey
from broker_core.tools.replay.target_checks import check_goal
from broker_core.tools.search.expression import Expression
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.results import Outcome

EXIT_PARTIAL = 1
EXIT_INTERRUPTED = 130
PROGRESS_INTERVAL_S = 1.0
PRODUCER_GROUP = "orbit-replay"


TargetRefusal = Callable[[str, str], str]
"""Name servers and the confirmed production connection → why nothing may be sent there; empty if it may."""


def main(argv: list[str], *, refusal: TargetRefusal = lambda _target, _confirmed: "", find_saved: FindSaved = no_saved) -> int:
    """Run one replay, with the arguments after ``replay``; ``refusal`` says whether a target may be sent to.

    Returns 0 if every message was sent, 1 if not, 130 after an interrupt, else the error's code.
    """
    arguments = parser().parse_args(argv)
    try:
        return asyncio.run(_replay(arguments, refusal, find_saved))
    except OrbitError as error:
        return fail("orbit replay", error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        say("orbit replay: interrupted before anything was sent")
        return EXIT_INTERRUPTED
    except OSError as error:
        place = f"{error.filename} cannot be read or written: {error.strerror}" if error.filename else str(error)
        say(f"orbit replay: {place}. Nothing more was sent; go on with --resume when this is mended")
        return EXIT_PARTIAL


async def _replay(arguments: argparse.Namespace, refusal: TargetRefusal, find_saved: FindSaved) -> int:
    details = given_details(arguments)

    def checked(goal: ClusterAccess) -> ClusterAccess:
        goal.check_sendable()
        reason = refusal(goal.name_servers, arguments.production)
        if reason:
            raise UsageError(f"nothing is sent to {goal.name_servers}: {reason}")
        return goal

    if arguments.resume is not None:
        refuse_with_resume(arguments)
        return await _send(
            arguments.resume, arguments, lambda plan: checked(goal_of_plan(plan, arguments, find_saved, details))
        )
    check_arguments(arguments)
    source = access_of(arguments, find_saved, details)
    goal = goal_of_arguments(arguments, find_saved, source, details)
    target = ReplayTarget(
        topic=arguments.to,
        group=arguments.to_group,
        to_origin=arguments.to_origin,
        new_ids=arguments.new_ids,
        born_now=arguments.born_now,
        without_delay=arguments.without_delay,
        link=not arguments.no_link,
        any_queue=arguments.any_queue,
    )
    survey = ReplaySurvey(target, Pace(arguments.rate, arguments.speed))
    if arguments.dry_run:
        outcome = await _gather(arguments, source, survey, None)
        _tell(survey, outcome)
        if goal is not None:
            await check_goal(goal, survey, say)
        reason = refusal(goal.name_servers, arguments.production) if goal is not None else ""
        say(f"dry run: nothing was sent{f'; a run would be refused: {reason}' if reason else ''}")
        return 0 if outcome is None or outcome.is_complete else EXIT_PARTIAL
    if goal is None:
        raise UsageError("say with --to-ns HOST:PORT or --to-connection NAME which cluster the messages go to")
    checked(goal)
    folder = arguments.journal or _new_folder()
    with cancelled_by_signals():
        await _prepare(arguments, source, folder, survey, goal)
    return await _send(folder, arguments, lambda _plan: goal)


def _new_folder() -> Path:
    base = replays_folder()
    for folder in map(base.joinpath, names_by_time()):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"{folder} cannot be made: {error.strerror}; name a folder with --journal") from error
        return folder
    raise UsageError(f"a thousand replays began this second in {base}: name a folder with --journal")


# ---- gathering ---------------------------------------------------------------------------------------------------------


async def _prepare(
    arguments: argparse.Namespace, found_in: ClusterAccess | None, folder: Path, survey: ReplaySurvey, goal: ClusterAccess
) -> None:
    """Write all messages to the journal's folder and check that they can be sent."""
    spool = Spool(folder)
    try:
        outcome = await _gather(arguments, found_in, survey, spool)
        _tell(survey, outcome)
        limited = arguments.limit is not None and spool.count >= arguments.limit
        if outcome is not None and not outcome.is_complete and not (limited or arguments.allow_partial):
            raise UsageError("not all messages were found, so nothing was sent: mend the cause, or give --allow-partial")
        await check_goal(goal, survey, say)
        place = arguments.store if found_in is None else found_in.saved_as or found_in.name_servers
        source = str(arguments.from_file or f"{place}: {arguments.filter}")
        spool.finish(
            ReplayPlan(
                source=source,
                name_servers=goal.name_servers,
                saved_as=goal.saved_as,
                target=survey.target,
                pace=survey.pace,
                count=spool.count,
                body_bytes=spool.body_bytes,
            )
        )
    finally:
        spool.close()


async def _gather(
    arguments: argparse.Namespace, source: ClusterAccess | None, survey: ReplaySurvey, spool: Spool | None
) -> Outcome | None:
    def take(item: ReplayItem) -> None:
        survey.add(item)
        if spool is not None:
            spool.add(item)

    if arguments.from_file is not None:
        for item in _items_of_file(arguments.from_file):
            take(item)
        return None
    expression = parse_filter(arguments.filter, now_ms=arguments.now or wall_clock_ms())
    search = _SourceSearch(arguments, source, expression)
    async for item in search.items():
        take(item)
    return search.outcome


def _items_of_file(path: Path) -> Iterator[ReplayItem]:
    from broker_core.tools.search.export import read_rows

    now_ms = wall_clock_ms()
    for number, row in read_rows(path):
        yield item_of_row(row, f"message {number:,} of {path.name}", now_ms)


class _SourceSearch:
    def __init__(self, arguments: argparse.Namespace, source: ClusterAccess | None, expression: Expression) -> None:
        self.outcome: Outcome | None = None
        self._arguments = arguments
        self._source = source
        self._expression = expression

    async def items(self) -> AsyncIterator[ReplayItem]:
        if self._source is None:
            for item in self._of_store():
                yield item
            return
        from broker_core.tools.search.cluster import ClusterSearch

        async with self._source.admin() as admin:
            search = ClusterSearch(admin, self._expression, limit=self._arguments.limit)
            await search.prepare()
            say(f"search: {search.plan}")
            async for step in search.steps():
                for hit in step.hits:
                    yield item_of_message(hit.message)
            self.outcome = search.outcome

    def _of_store(self) -> Iterator[ReplayItem]:
        from broker_core.tools.search.scan import StoreSearch

        search = StoreSearch(self._arguments.store, self._expression, limit=self._arguments.limit)
        say(f"search: {search.plan}")
        for step in search.steps():
            for hit in step.hits:
                yield item_of_message(hit.message)
        self.outcome = search.outcome


def _tell(survey: ReplaySurvey, outcome: Outcome | None) -> None:
    if outcome is not None:
        for note in outcome.notes:
            say(f"note: {note}")
        say(f"search: {outcome}")
    for line in survey.lines():
        say(line)


# ---- sending -----------------------------------------------------------------------------------------------------------


async def _send(folder: Path, arguments: argparse.Namespace, goal_of: Callable[[ReplayPlan], ClusterAccess]) -> int:
    from broker_core.protocol.message.message_id import UniqueIdGenerator
    from broker_core.tools.replay.runner import ReplayRunner, ReplaySurroundings

    loop = asyncio.get_running_loop()
    wakeable = Wakeable()

    with ReplayJournal(folder) as journal:
        ids = UniqueIdGenerator(b"\x7f\0\0\x01", os.getpid(), random.randrange(1 << 31), wall_clock_ms)
        outside = ReplaySurroundings(loop.time, wakeable.wait, wall_clock_ms, ids.next_id)
        say(f"journal: {folder}, {journal.left:,} of {counted(journal.plan.count, 'message')} to send")
        goal = goal_of(journal.plan)
        async with goal.producer(PRODUCER_GROUP) as producer:
            runner = ReplayRunner(
                journal, producer, outside, failures_max=arguments.failures_max, one_by_one=arguments.one_by_one
            )
            async with steered(runner, wakeable, _watch(journal, runner), by_input=arguments.control):
                await runner.run()
        say(_last_word(journal, runner.stopped_because, runner.last_failure))
        return _exit_code(journal, runner.stopped_because)


def _exit_code(journal: ReplayJournal, stopped_because: str) -> int:
    if journal.left == 0 and not journal.progress.skipped:
        return 0
    return EXIT_INTERRUPTED if stopped_because == STOPPED else EXIT_PARTIAL


def _last_word(journal: ReplayJournal, stopped_because: str, last_failure: str) -> str:
    receipt = f"receipt: {journal.folder / RECEIPT_FILE}"
    if journal.left == 0:
        return f"complete: {journal.progress}; {receipt}"
    why = stopped_because or f"messages failed, the last because {last_failure}"
    going_on = f"go on with: orbit replay --resume {journal.folder}"
    return f"partial: {journal.progress}, {journal.left:,} left; {why}; {receipt}; {going_on}"


async def _watch(journal: ReplayJournal, runner: Steered) -> None:
    before = -1
    while True:
        await asyncio.sleep(PROGRESS_INTERVAL_S)
        progress, is_paused = journal.progress, runner.is_paused
        done = progress.sent + progress.failed + progress.unknown + progress.skipped
        if done != before or is_paused:
            say(f"progress: {progress}, {journal.left:,} left{', paused' if is_paused else ''}")
        before = done
