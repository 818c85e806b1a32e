"""Command line of `copy`: copies topics, groups, offsets and messages of one cluster to another.

    copy --from HOST:PORT (--to HOST:PORT | --to-store DIR) --topic T … [range] [--groups G …] [--offsets] [--dry-run]
    copy --resume FILE

Either cluster may also be a saved connection or a file (--from-connection, --to-connection-file, …): see
`broker_core.cluster.access`. The source is never changed, and an interrupted copy continues from its receipt.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from broker_core.client.instance import ClientSecurity
from broker_core.clock import wall_clock_ms
from broker_core.cluster.access import FindSaved, access_of, access_of_environment, no_saved, target_environment
from broker_core.counted import counted
from broker_core.errors import OrbitError, UsageError
from broker_core.json_errors import fail
from broker_core.platform.file_names import wide_path
from broker_core.tools.commands.control import STOPPED, Wakeable, cancelled_by_signals, names_by_time, say, steered
from broker_core.tools.commands.store_end import serving_store
from broker_core.tools.copying.control import CopyControl, CopySurroundings
from broker_core.tools.copying.ends import Ends, check_same, opened
from broker_core.tools.copying.order import CopyOrder, CopyRange
from broker_core.tools.copying.planner import CopyPlanner
from broker_core.tools.copying.receipt import CopyReceipt
from broker_core.tools.copying.runner import CopyRunner
from broker_core.tools.search.literals import parse_time

EXIT_PARTIAL = 1
EXIT_INTERRUPTED = 130
PROGRESS_INTERVAL_S = 1.0
WAIT_MAX_S = 3_600.0

TargetRefusal = Callable[[str, bool], str]
"""Why nothing may be copied to a target (its text, whether it is a store); empty if it may."""

_HELP = """\
examples:
  orbit copy --from 10.0.0.5:9876 --to-store ~/.local/share/orbit/store --topic orders --last 10000 --dry-run
  orbit copy --from 10.0.0.5:9876 --to 127.0.0.1:9876 --topic orders --since -2h --groups '*' --offsets --rate 500
  orbit copy --from-connection-file prod.json --to-store ~/store --topic orders --last 10000
  orbit copy --resume receipt.jsonl

keys: of saved connections, of files (for their owner alone), or of the environment: ORBIT_ACCESS_KEY, ORBIT_SECRET_KEY,
ORBIT_SECURITY_TOKEN of the source, ORBIT_TO_ACCESS_KEY and so on of the target; never on the command line

exit codes: 0 all copied, 1 some left out or not set, or it stopped early, 2 wrong arguments, 3 the store cannot be used,
4 no connection, 6 a broker refused, 130 interrupted (go on with --resume)"""


def main(argv: list[str], *, refusal: TargetRefusal = lambda _target, _is_store: "", find_saved: FindSaved = no_saved) -> int:
    """Run one copy, with the arguments after ``copy``; ``refusal`` says whether a target may be changed.

    Returns 0 if all was copied, 1 if not, 130 after an interrupt, else the error's code.
    """
    arguments = parser().parse_args(argv)
    try:
        use_connections(arguments, find_saved)
        return asyncio.run(_cancellable(arguments, refusal))
    except OrbitError as error:
        return fail("orbit copy", error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        say("orbit copy: interrupted before anything was copied")
        return EXIT_INTERRUPTED
    except OSError as error:
        place = f"{error.filename} cannot be read or written: {error.strerror}" if error.filename else str(error)
        say(f"orbit copy: {place}. Nothing more was copied; go on with --resume when this is mended")
        return EXIT_PARTIAL


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="orbit copy",
        description="Copy topics, groups, offsets and messages from one cluster to another. The source is never changed.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("--from", dest="from_ns", metavar="HOST:PORT", help="name server of the source; several with ; between them")
    add("--to", dest="to_ns", metavar="HOST:PORT", help="name server of the target")
    for word, end in (("from", "source"), ("to", "target")):
        add(f"--{word}-connection", metavar="NAME", help=f"the {end} by the name of a connection that the window keeps")
        add(f"--{word}-connection-file", type=Path, metavar="FILE", help=f"the {end} by a file with keys, TLS and more")
    add("--to-store", type=wide_path, metavar="DIR", help="in place of --to: the store of an embedded broker that does not run")
    add("--topic", action="append", default=[], metavar="NAME", help="a topic; repeatable, or several with , between them")
    time_help = "ISO 8601, ms since 1970, or -2h"
    add("--since", default="", metavar="TIME", help=f"only messages stored at or after this: {time_help}")
    add("--until", default="", metavar="TIME", help="only messages stored before this")
    add("--from-offset", type=int, metavar="N", help="only messages of each queue from this offset on")
    add("--to-offset", type=int, metavar="N", help="only messages of each queue up to, not with, this offset")
    add("--last", type=int, metavar="N", help="only the newest N of those, of each queue")
    groups_help = "consumer groups whose settings are copied; repeatable, or with , between them; '*': all of the topics"
    add("--groups", action="append", default=[], metavar="NAMES", help=groups_help)
    add("--offsets", action="store_true", help="set the offsets of these groups at the target, too")
    change_help = "give topics and groups that the target has the settings of the source; else they stay as they are"
    add("--change-settings", action="store_true", help=change_help)
    add("--rate", type=float, metavar="N", help="messages a second at most; default: no limit")
    add("--dry-run", action="store_true", help="say what would be done, and change nothing")
    add("--receipt", type=Path, metavar="FILE", help="where the receipt is written; default: a new file")
    add("--resume", type=Path, metavar="FILE", help="go on with the copy of this receipt, as it was begun")
    wait_help = "end when a fault lasts so long; default: %(default).0f"
    add("--wait-max", type=float, default=WAIT_MAX_S, metavar="SECONDS", help=wait_help)
    add("--now", type=int, metavar="MS", help="what -2h counts from, in ms since 1970; default: now")
    add("--control", action="store_true", help="take pause, resume and stop as lines on standard input")
    details_help = "first read a line of JSON from the input: keys, TLS and address map of the {end}"
    for end in ("source", "target"):
        add(f"--{end}-details", action="store_true", help=details_help.format(end=end))
    return made


def use_connections(arguments: argparse.Namespace, find_saved: FindSaved) -> None:
    """Set the addresses and security of both ends in ``arguments``."""
    arguments.security = {}
    for end, prefix, by_input in (("source", "from_", arguments.source_details), ("target", "to_", arguments.target_details)):
        ways = (getattr(arguments, f"{prefix}{way}") for way in ("ns", "connection", "connection_file"))
        given = [str(way) for way in ways if way]
        if len(given) > 1:
            raise UsageError(f"the {end} is given {len(given)} times, as {' and '.join(given)}: leave all but one out")
        access = access_of(arguments, find_saved, prefix=prefix, environment={} if by_input else _environment(end))
        if access is not None and end == "target" and not arguments.dry_run:
            access.check_sendable()
        setattr(arguments, end, "" if access is None else access.name_servers)
        if access is not None:
            arguments.security[end] = access.security


def _environment(end: str) -> Mapping[str, str]:
    """Source of the keys of an end that is named by its address."""
    return target_environment(alone=False) if end == "target" else os.environ


async def _cancellable(arguments: argparse.Namespace, refusal: TargetRefusal) -> int:
    with cancelled_by_signals():
        return await _copy(arguments, refusal)


async def _copy(arguments: argparse.Namespace, refusal: TargetRefusal) -> int:
    # Both lines are read before --control reads the input.
    wanted = (("source", arguments.source_details), ("target", arguments.target_details))
    security = [_security() if by_input else arguments.security.get(end) for end, by_input in wanted]
    if not arguments.wait_max > 0:
        raise UsageError(f"a fault that may last {arguments.wait_max:g} s is no wait: give --wait-max more than 0")
    if arguments.resume is not None:
        _refuse_others(arguments)
        with CopyReceipt(arguments.resume) as receipt:
            order = _ends_of(arguments, receipt.plan.order)
            _check_target(order, refusal)
            source = security[0] or _keys("source")
            target = security[1] or (None if order.target_is_store else _keys("target"))
            async with opened(order, source=source, target=target, serve=serving_store) as ends:
                await check_same(receipt, ends)
                return await _carry_out(receipt, ends, arguments)
    order = _order(arguments)
    if not arguments.dry_run:
        _check_target(order, refusal)
    async with opened(order, source=security[0], target=security[1], serve=serving_store, dry=arguments.dry_run) as ends:
        plan = await CopyPlanner(order, ends.source, ends.target).plan()
        for line in plan.lines():
            say(line)
        if arguments.dry_run:
            reason = refusal(order.target, order.target_is_store)
            say(f"dry run: nothing was changed{f'; a run would be refused: {reason}' if reason else ''}")
            return 0
        with CopyReceipt(arguments.receipt or _new_file(), plan) as receipt:
            return await _carry_out(receipt, ends, arguments)


def _security() -> ClientSecurity:
    from broker_core.cluster.details import read_line, security_of

    return security_of(read_line(sys.stdin.fileno()))


def _keys(end: str) -> ClientSecurity:
    """Keys of the environment, for an end whose address the receipt has."""
    return access_of_environment("", _environment(end)).security


def _check_target(order: CopyOrder, refusal: TargetRefusal) -> None:
    reason = refusal(order.target, order.target_is_store)
    if reason:
        raise UsageError(f"nothing is copied to {order.target}: {reason}")


# ---- the order ---------------------------------------------------------------------------------------------------------


def _order(arguments: argparse.Namespace) -> CopyOrder:
    if not arguments.source:
        raise UsageError("say with --from HOST:PORT which cluster is copied from")
    if bool(arguments.target) == (arguments.to_store is not None):
        raise UsageError("say with --to HOST:PORT or with --to-store DIR where the copy goes, one of them")
    now_ms = arguments.now or wall_clock_ms()
    return CopyOrder(
        source=arguments.source,
        target=arguments.target or str(arguments.to_store.absolute()),
        target_is_store=arguments.to_store is not None,
        topics=_names(arguments.topic),
        wanted=CopyRange(
            since_ms=_time(arguments.since, "--since", now_ms),
            until_ms=_time(arguments.until, "--until", now_ms),
            first_offset=arguments.from_offset,
            end_offset=arguments.to_offset,
            last=arguments.last,
        ),
        groups=_names(arguments.groups),
        offsets=arguments.offsets,
        change_settings=arguments.change_settings,
        rate=arguments.rate,
    )


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))


def _time(text: str, name: str, now_ms: int) -> int | None:
    if not text:
        return None
    found = parse_time(text, now_ms)
    if found is None:
        raise UsageError(f"“{text}” of {name} is no time: write 2026-11-20T10:00, -2h, or ms since 1970")
    return found


def _refuse_others(arguments: argparse.Namespace) -> None:
    """Refuse arguments that the receipt fixes; only the two ends may have other addresses by now."""
    names = ("topic", "since", "until", "from_offset", "to_offset", "last", "groups", "offsets", "change_settings", "receipt")
    given = [name for name in (*names, "dry_run") if getattr(arguments, name)]
    if given:
        words = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"a copy goes on as it was begun: leave out {words}")


def _ends_of(arguments: argparse.Namespace, begun: CopyOrder) -> CopyOrder:
    """The order of a receipt, with the ends of the command line in place of its own."""
    if arguments.target and arguments.to_store is not None:
        raise UsageError("a copy has one target: give --to or --to-store, or neither")
    source = arguments.source or begun.source
    if arguments.to_store is not None:
        return replace(begun, source=source, target=str(arguments.to_store.absolute()), target_is_store=True)
    if arguments.target:
        return replace(begun, source=source, target=arguments.target, target_is_store=False)
    return replace(begun, source=source)


def _new_file() -> Path:
    import platformdirs

    folder = platformdirs.user_data_path("orbit", appauthor=False) / "copies"
    folder.mkdir(parents=True, exist_ok=True)
    found = next((path for name in names_by_time() if not (path := folder / f"{name}.jsonl").exists()), None)
    if found is None:
        raise UsageError(f"a thousand copies began this second in {folder}: name a file with --receipt")
    return found


# ---- copying -----------------------------------------------------------------------------------------------------------


async def _carry_out(receipt: CopyReceipt, ends: Ends, arguments: argparse.Namespace) -> int:
    wakeable = Wakeable()
    outside = CopySurroundings(asyncio.get_running_loop().time, wakeable.wait, say)
    rate = arguments.rate or receipt.plan.order.rate
    control = CopyControl(outside, rate=rate, wait_max_s=arguments.wait_max)
    runner = CopyRunner(receipt, ends.source.admin, ends.target.admin, ends.sender, control)
    say(f"journal: {receipt.path.absolute()}, {receipt.left:,} of {counted(receipt.plan.count, 'message')} to send")

    async with steered(control, wakeable, _watch(receipt, control), by_input=arguments.control):
        await runner.run()
    say(_last_word(receipt, control, runner))
    if _is_complete(receipt, runner):
        return 0
    return EXIT_INTERRUPTED if control.stopped_because == STOPPED else EXIT_PARTIAL


def _is_complete(receipt: CopyReceipt, runner: CopyRunner) -> bool:
    return runner.is_finished and not (receipt.counts.left_out or receipt.counts.gone or runner.offsets_not_set)


def _last_word(receipt: CopyReceipt, control: CopyControl, runner: CopyRunner) -> str:
    where = f"receipt: {receipt.path.absolute()}"
    if _is_complete(receipt, runner):
        return f"complete: {receipt.counts}; {where}"
    why = control.stopped_because or "see the receipt"
    if runner.offsets_not_set:
        why = counted(runner.offsets_not_set, "offset was", "offsets were") + " not set, as members of their groups are online"
    going_on = (
        ""
        if control.is_over_for_good or (runner.is_finished and not runner.offsets_not_set)
        else f"; go on with: orbit copy --resume {receipt.path.absolute()}"
    )
    return f"partial: {receipt.counts}, {receipt.left:,} left; {why}; {where}{going_on}"


async def _watch(receipt: CopyReceipt, control: CopyControl) -> None:
    """Print progress once a second, and sync the receipt."""
    before = -1
    while True:
        await asyncio.sleep(PROGRESS_INTERVAL_S)
        done = receipt.counts.done
        if done != before or control.is_paused:
            say(f"progress: {receipt.counts}, {receipt.left:,} left{', paused' if control.is_paused else ''}")
        before = done
        # After a crash of this machine the next run looks for messages missing in the receipt at the target.
        await asyncio.to_thread(receipt.sync)
