"""Arguments of the command line `replay`: the parser, checks, and the cluster that messages are sent to."""

from __future__ import annotations

import argparse
from pathlib import Path

from broker_core.cluster.access import (
    HELP,
    ClusterAccess,
    FindSaved,
    access_of,
    access_of_environment,
    access_of_line,
    add_access,
    add_details_flag,
    target_environment,
)
from broker_core.errors import UsageError
from broker_core.platform.file_names import wide_path
from broker_core.tools.replay.journal import ReplayPlan

FAILURES_MAX = 10

_KEPT_IN_JOURNAL = (
    "filter", "to", "to_group", "to_origin", "to_ns", "rate", "speed", "limit", "journal", "dry_run", "allow_partial",
    "new_ids", "born_now", "without_delay", "no_link", "any_queue", "now",
)  # fmt: skip

_HELP = f"""\
The filter is that of “orbit search”. Each new message carries the id of its origin in the property ORBIT_ORIGIN_ID.

examples:
  orbit replay --ns 127.0.0.1:9876 'topic = "orders" and stored >= -2h' --to orders-test --dry-run
  orbit replay --store /data/store 'topic = "orders"' --to orders --to-ns 127.0.0.1:9876 --speed 10
  orbit replay --from-file hits.jsonl --to-origin --to-ns 127.0.0.1:9876 --rate 500

{HELP}
Those of the environment are for --ns; where --to-ns is another cluster, its keys are ORBIT_TO_ACCESS_KEY and so on.

exit codes: 0 all sent, 1 some failed or were left out, or it stopped early, 2 wrong arguments, 3 the store cannot be used,
4 no connection, 6 a broker refused, 130 interrupted (go on with --resume)"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="orbit replay",
        description="Send messages again, with all that their producers gave them.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = made.add_mutually_exclusive_group(required=True)
    source.add_argument("--store", type=wide_path, metavar="DIR", help="find them in a store directory")
    add_access(source, of="the cluster in which to find them")
    source.add_argument("--from-file", type=Path, metavar="FILE", help="take those of an export: .jsonl, .csv or .parquet")
    source.add_argument("--resume", type=Path, metavar="DIR", help="go on with the replay in this folder, as it was begun")
    made.add_argument("filter", nargs="?", metavar="FILTER", help="which messages, with --store and --ns")
    goal = made.add_mutually_exclusive_group()
    goal.add_argument("--to", default="", metavar="TOPIC", help="send all to one topic")
    goal.add_argument("--to-group", default="", metavar="GROUP", help="send them to one consumer group alone")
    goal.add_argument("--to-origin", action="store_true", help="send each to the topic it was first sent to")
    add_access(made.add_mutually_exclusive_group(), prefix="to-", of="the cluster they go to (default: where they are found)")
    add_details_flag(made)
    production_help = "confirm that they may go to this connection, which the window keeps as a production one"
    made.add_argument("--production", default="", metavar="NAME", help=production_help)
    made.add_argument("--dry-run", action="store_true", help="say what would be sent, and send nothing")
    made.add_argument("--rate", type=float, metavar="N", help="messages a second at most; default: no limit")
    made.add_argument("--speed", type=float, metavar="X", help="1: at the pace of the originals, 10: ten times faster")
    made.add_argument("--limit", type=int, metavar="N", help="only the first N that the search finds")
    made.add_argument("--allow-partial", action="store_true", help="send also when the search could not look everywhere")
    made.add_argument("--new-ids", action="store_true", help="give each a unique id of its own")
    made.add_argument("--born-now", action="store_true", help="born when they are sent, not when the originals were")
    made.add_argument("--without-delay", action="store_true", help="deliver at once what was sent with a delay")
    made.add_argument("--no-link", action="store_true", help="leave out the property with the origin")
    made.add_argument("--any-queue", action="store_true", help="spread them over the queues, not as the originals were")
    one_help = "send each when the one before is answered; --failures-max then counts failures one after another"
    made.add_argument("--one-by-one", action="store_true", help=one_help)
    failures_help = "stop after so many failures (default: %(default)s)"
    made.add_argument("--failures-max", type=int, default=FAILURES_MAX, metavar="N", help=failures_help)
    made.add_argument("--journal", type=Path, metavar="DIR", help="folder of journal and receipt; default: a new one")
    made.add_argument("--now", type=int, metavar="MS", help="what -2h counts from, in ms since 1970; default: now")
    made.add_argument("--control", action="store_true", help="take pause, resume and stop as lines on standard input")
    return made


def refuse_with_resume(arguments: argparse.Namespace) -> None:
    """Refuse arguments that a resumed replay has in its journal already; raises `UsageError`."""
    given = [name for name in _KEPT_IN_JOURNAL if getattr(arguments, name)]
    if given:
        names = ", ".join(name.replace("_", "-") for name in given)
        raise UsageError(f"a replay goes on as it was begun: leave out {names}")


def check_arguments(arguments: argparse.Namespace) -> None:
    """Refuse arguments that exclude each other; raises `UsageError`."""
    if arguments.from_file is None and not arguments.filter:
        raise UsageError("give a FILTER that says which messages; all of a topic: 'topic = \"NAME\"'")
    if arguments.from_file is not None and (arguments.filter or arguments.limit):
        raise UsageError("a file is replayed as a whole: leave FILTER and --limit to the search that writes it")


def goal_of_arguments(
    arguments: argparse.Namespace, find_saved: FindSaved, source: ClusterAccess | None, details: ClusterAccess | None
) -> ClusterAccess | None:
    """The cluster that messages are sent to; None if none is named, which a dry run allows."""
    if source is not None and arguments.to_ns == source.name_servers:
        return source
    environment = target_environment(alone=source is None)
    return access_of(arguments, find_saved, details, prefix="to_", environment=environment) or source


def goal_of_plan(
    plan: ReplayPlan, arguments: argparse.Namespace, find_saved: FindSaved, details: ClusterAccess | None
) -> ClusterAccess:
    """The cluster of a resumed replay, with its keys, which no journal has."""
    if details is not None and details.name_servers == plan.name_servers:
        return details
    goal = access_of(arguments, find_saved, prefix="to_")
    if goal is None and plan.saved_as:
        goal = access_of_line(find_saved(plan.saved_as), saved_as=plan.saved_as)
    if goal is None:
        return access_of_environment(plan.name_servers, target_environment(alone=True))
    if goal.name_servers != plan.name_servers:
        text = (
            f"this replay goes to {plan.name_servers}, the connection leads to {goal.name_servers}: give one that leads there"
        )
        raise UsageError(text)
    return goal
