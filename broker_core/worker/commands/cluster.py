"""Command line of `cluster`: brokers, topics and groups of a cluster that runs elsewhere.

    cluster (--ns HOST:PORT | --connection NAME | --connection-file FILE) [--json]

It only reads, by administration requests of the protocol; no group's offsets move.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TextIO

from broker_core.cluster.access import HELP, ClusterAccess, FindSaved, access_of, add_access, no_saved
from broker_core.errors import CancelledByUserError, OrbitError
from broker_core.json_errors import JsonParser, fail
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.admin.topics import PERM_READ, PERM_WRITE
from broker_core.protocol.codes import version_name
from broker_core.protocol.names import is_system_group
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.questions.standing import Standing, standing, summed

EXIT_PARTIAL = 1
NO_BROKER = "no broker is registered there now: is it the right name server, and do the brokers run?"

_CODES = (
    "exit codes: 0 all answered, 1 a part did not answer or no broker is registered, 2 wrong arguments, 4 no connection, "
    "6 refused, 130 interrupted"
)


def main(argv: list[str], *, find_saved: FindSaved = no_saved) -> int:
    """Print the overview of a cluster; ``find_saved`` reads saved connections.

    Returns:
        0 if every broker answered; 1 if not, or if there is none; else the error's code.
    """
    arguments = _parser().read(argv)
    try:
        access = access_of(arguments, find_saved)
        assert access is not None  # the parser wants one
        overview = asyncio.run(_look(access))
        if arguments.json:
            sys.stdout.write(json.dumps(overview, ensure_ascii=False, indent=2) + "\n")
        else:
            _print(overview, sys.stdout)
        sys.stdout.flush()
    except OrbitError as error:
        return fail("orbit cluster", error, as_json=arguments.json)
    except KeyboardInterrupt:
        return fail("orbit cluster", CancelledByUserError("interrupted"), as_json=arguments.json)
    return EXIT_PARTIAL if overview["faults"] else 0


def _parser() -> JsonParser:
    parser = JsonParser(
        prog="orbit cluster",
        description="Print brokers, topics and consumer groups of a RocketMQ cluster; changes nothing.",
        epilog=f"{HELP}\n\n{_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_access(parser.add_mutually_exclusive_group(required=True))
    parser.add_argument(
        "--json", action="store_true", help='print it as JSON, with all topics and groups; an error as {"error": …}'
    )
    return parser


async def _look(access: ClusterAccess) -> dict[str, Any]:
    cluster = AttachedCluster(AttachOptions(access.name_servers, security=access.security))
    try:
        await cluster.connect()
        await cluster.sampling.once()
        return overview_of(cluster)
    finally:
        await cluster.close()


def overview_of(cluster: AttachedCluster) -> dict[str, Any]:
    """Brokers, topics, groups and faults as JSON holds them; None for figures that are unknown, or not known of all brokers."""
    figures = cluster.figures
    return {
        "name_servers": cluster.link.name_servers,
        "clusters": sorted(figures.cluster_names),
        "brokers": [_broker_row(cluster, name) for name in cluster.link.numbers.names],
        "topics": _topic_rows(figures),
        "groups": _group_rows(figures),
        "brokers_untold": figures.listed().brokers_untold,
        "faults": figures.reasons() if cluster.link.numbers.names else {"name server": NO_BROKER},
    }


def _broker_row(cluster: AttachedCluster, name: str) -> dict[str, Any]:
    place, figures = cluster.link.brokers[name], cluster.figures.of(name)
    version = cluster.link.versions.get(name)
    rates = {key: _first_rate(figures.runtime.get(key)) for key in ("putTps", "getTotalTps")}
    return {
        "name": name,
        "cluster": place.cluster,
        "addresses": {str(number): address for number, address in sorted(place.addresses.items())},
        "version": None if version is None else version_name(version),
        "answers": not figures.is_lost,
        "topics": len(figures.topics) if figures.has_told_tables else None,
        "put_per_second": rates["putTps"],
        "get_per_second": rates["getTotalTps"],
    }


def _first_rate(text: str | None) -> float | None:
    """The rate of the last ten seconds, the first of the three rates of a broker."""
    try:
        return float((text or "").split()[0])
    except (IndexError, ValueError):
        return None


def _topic_rows(figures: ClusterFigures) -> list[dict[str, Any]]:
    catalog, queues = figures.listed(), figures.queue_offsets()
    of_topic: dict[int, list[QueueOffsets | None]] = defaultdict(list)
    for place, held in zip(catalog.queue_topic, queues, strict=True):
        of_topic[place].append(held)
    rows = []
    for place, topic in enumerate(catalog.topics):
        is_part = catalog.topic_in_part[place]
        read = [held for held in of_topic[place] if held is not None]
        is_known = not is_part and len(read) == len(of_topic[place]) and figures.is_read(topic)
        last_ms = max((held.last_store_ms for held in read), default=0)
        rows.append(
            {
                "name": topic,
                "system": catalog.topic_is_system[place],
                "read_queues": None if is_part else catalog.topic_read_queues[place],
                "write_queues": None if is_part else catalog.topic_write_queues[place],
                "permission": _permission_text(catalog.topic_permission[place]),
                "messages": sum(held.max_offset - held.min_offset for held in read) if is_known else None,
                "last_stored_ms": (last_ms or None) if is_known else None,
            }
        )
    return rows


def _permission_text(permission: int) -> str:
    letters = ("R" if permission & PERM_READ else "-", "W" if permission & PERM_WRITE else "-")
    return "".join(letters)


def _group_rows(figures: ClusterFigures) -> list[dict[str, Any]]:
    catalog, queues = figures.listed(), figures.queue_offsets()
    topics: dict[int, set[str]] = defaultdict(set)
    for group, row in zip(catalog.position_group, catalog.position_queue, strict=True):
        topics[group].add(catalog.topics[catalog.queue_topic[row]])
    standings: dict[int, list[Standing]] = defaultdict(list)
    places = zip(catalog.position_group, figures.position_offsets(), catalog.position_queue, strict=True)
    for group, offset, row in places:
        held = queues[row]
        standings[group].append(
            standing(offset, -1, -1) if held is None else standing(offset, held.min_offset, held.max_offset)
        )
    rows = []
    for place, name in enumerate(catalog.groups):
        members = figures.members_of(name)
        is_known = all(one.beyond is not None for one in standings[place]) and not catalog.brokers_without_offsets
        lag, lost, beyond = summed(standings[place])
        rows.append(
            {
                "name": name,
                "system": is_system_group(name),
                "members": None if members is None else len(members),
                "topics": sorted(topics[place]),
                "lag_messages": lag if is_known else None,
                "lost_messages": lost if is_known or lost else None,
                "beyond_messages": beyond if is_known or beyond else None,
            }
        )
    return rows


# ---- as text -----------------------------------------------------------------------------------------------------------


def _print(overview: dict[str, Any], out: TextIO) -> None:
    brokers = [
        (
            row["name"],
            ", ".join(f"{number}: {address}" for number, address in row["addresses"].items()),
            row["version"] or "?",
            "NO" if not row["answers"] else "in part" if row["name"] in overview["faults"] else "yes",
            _figure(row["put_per_second"]),
            _figure(row["get_per_second"]),
        )
        for row in overview["brokers"]
    ]
    _table(out, f"Cluster {', '.join(overview['clusters']) or '?'} at {overview['name_servers']}", (), [])
    _table(out, "", ("BROKER", "ADDRESSES", "VERSION", "ANSWERS", "PUT/S", "GET/S"), brokers)
    topics = [
        (row["name"], _figure(row["write_queues"]), row["permission"], _figure(row["messages"]))
        for row in _users(overview, "topics")
    ]
    _table(out, _count("Topics", overview, "topics"), ("TOPIC", "QUEUES", "MAY", "MESSAGES"), topics)
    groups = [
        (
            row["name"],
            _figure(row["members"]),
            _figure(_topics_of(row, overview)),
            _figure(row["lag_messages"]),
            _standing_text(row),
        )
        for row in _users(overview, "groups")
    ]
    _table(out, _count("Groups", overview, "groups"), ("GROUP", "MEMBERS", "TOPICS", "LAG", "STANDING"), groups)
    untold = overview["brokers_untold"]
    if untold and (overview["topics"] or overview["groups"]):
        out.write(f"? stands where {', '.join(untold)} may hold a part: its topics and groups are not known\n")
    out.writelines(f"{part}: {reason}\n" for part, reason in overview["faults"].items())


def _standing_text(group: dict[str, Any]) -> str:
    """What no lag tells: a position beyond the end, messages that were deleted before they were read."""
    beyond, lost = group["beyond_messages"], group["lost_messages"]
    told = [f"BEYOND THE END by {beyond:,}"] if beyond else []
    return ", ".join([*told, *([f"{lost:,} LOST UNREAD"] if lost else [])])


def _topics_of(group: dict[str, Any], overview: dict[str, Any]) -> int | None:
    return None if overview["brokers_untold"] else len(group["topics"])


def _users(overview: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [row for row in overview[kind] if not row["system"]]


def _count(title: str, overview: dict[str, Any], kind: str) -> str:
    """How many there are: "?" without any report, else those of the brokers that reported."""
    if overview["faults"] and not overview["topics"] and not overview["groups"]:
        return f"{title}: ?"
    users = len(_users(overview, kind))
    of = f"{title} of the other brokers" if overview["brokers_untold"] else title
    return f"{of}: {users:,}, and {len(overview[kind]) - users:,} of the brokers' own"


def _figure(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _table(out: TextIO, title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    if title:
        out.write(f"{title}\n")
    if rows:
        widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
        for row in (heads, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            out.write(f"  {'  '.join(cells).rstrip()}\n")
    if heads:
        out.write("\n")
