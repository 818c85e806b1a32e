"""Command line of `cluster`: brokers, topics and groups of a cluster that runs elsewhere.

    cluster (--ns HOST:PORT | --connection NAME | --connection-file FILE) [--json]

It only looks: everything goes through the administration requests of the protocol, and no group's offsets move.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from broker_core.access import HELP, ClusterAccess, FindSaved, access_of, add_access, no_saved
from broker_core.broker.names import is_system_group
from broker_core.client.route import PERMISSION_READ, PERMISSION_WRITE
from broker_core.errors import CancelledByUserError, OrbitError
from broker_core.json_errors import JsonParser, fail
from broker_core.remoting.codes import version_name
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from broker_core.worker.attached.figures import ClusterFigures

EXIT_PARTIAL = 1
EXIT_PIPE_CLOSED = 141
NO_BROKER = "no broker is registered there now: is it the right name server, and do the brokers run?"

_CODES = (
    "exit codes: 0 all answered, 1 a part did not answer or no broker is registered, 2 wrong arguments, 4 no connection, "
    "6 refused, 130 interrupted"
)


def main(argv: list[str], *, find_saved: FindSaved = no_saved) -> int:
    """Print the overview of a cluster.

    Args:
        argv: Arguments behind ``cluster``.
        find_saved: Reads saved connections.

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
    except BrokenPipeError:
        # The reader has seen enough (head, less). Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE_CLOSED
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


@dataclass(slots=True)
class _Group:
    """What is known of a group over all brokers."""

    members: set[str]
    topics: set[str]
    lag_messages: int | None = None


def overview_of(cluster: AttachedCluster) -> dict[str, Any]:
    """Brokers, topics, groups and faults as JSON holds them; None for what is not known."""
    return {
        "name_servers": cluster.link.name_servers,
        "clusters": sorted(cluster.figures.cluster_names),
        "brokers": [_broker_row(cluster, name) for name in cluster.link.numbers.names],
        "topics": _topic_rows(cluster.figures),
        "groups": [
            {
                "name": name,
                "system": is_system_group(name),
                "members": len(group.members),
                "topics": sorted(group.topics),
                "lag_messages": group.lag_messages,
            }
            for name, group in sorted(_groups(cluster.figures).items())
        ],
        "faults": cluster.figures.faults() if cluster.link.numbers.names else {"name server": NO_BROKER},
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
        "topics": len(figures.topics),
        "put_per_second": rates["putTps"],
        "get_per_second": rates["getTotalTps"],
    }


def _first_rate(text: str | None) -> float | None:
    """The rate of the last ten seconds; brokers give three rates with spaces between them."""
    try:
        return float((text or "").split()[0])
    except (IndexError, ValueError):
        return None


def _topic_rows(figures: ClusterFigures) -> list[dict[str, Any]]:
    catalog = figures.listed()
    rows = []
    for place, topic in enumerate(catalog.topics):
        held = [of.offsets[topic] for of in figures.brokers.values() if topic in of.topics and topic in of.offsets]
        is_known = len(held) == sum(topic in of.topics for of in figures.brokers.values())
        kept = sum(queue.max_offset - queue.min_offset for queues in held for queue in queues.values())
        last_ms = max((queue.last_store_ms for queues in held for queue in queues.values()), default=0)
        rows.append(
            {
                "name": topic,
                "system": catalog.topic_is_system[place],
                "read_queues": catalog.topic_read_queues[place],
                "write_queues": catalog.topic_write_queues[place],
                "permission": _permission_text(catalog.topic_permission[place]),
                "messages": kept if is_known else None,
                "last_stored_ms": last_ms or None,
            }
        )
    return rows


def _permission_text(permission: int) -> str:
    letters = ("R" if permission & PERMISSION_READ else "-", "W" if permission & PERMISSION_WRITE else "-")
    return "".join(letters)


def _groups(figures: ClusterFigures) -> dict[str, _Group]:
    found = {name: _Group(set(), set()) for name in figures.listed().groups}
    for of in figures.brokers.values():
        for group, members in of.members.items():
            if group in found:
                found[group].members |= members
        for (group, topic), queues in of.positions.items():
            held = of.offsets.get(topic)
            if group not in found or held is None:
                continue
            found[group].topics.add(topic)
            behind = sum(max(held[queue].max_offset - offset, 0) for queue, offset in queues.items() if queue in held)
            found[group].lag_messages = (found[group].lag_messages or 0) + behind
    return found


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
        (row["name"], str(row["write_queues"]), row["permission"], _figure(row["messages"]))
        for row in _users(overview, "topics")
    ]
    _table(out, _count("Topics", overview, "topics"), ("TOPIC", "QUEUES", "MAY", "MESSAGES"), topics)
    groups = [
        (row["name"], str(row["members"]), str(len(row["topics"])), _figure(row["lag_messages"]))
        for row in _users(overview, "groups")
    ]
    _table(out, _count("Groups", overview, "groups"), ("GROUP", "MEMBERS", "TOPICS", "LAG"), groups)
    out.writelines(f"{part}: {reason}\n" for part, reason in overview["faults"].items())


def _users(overview: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Topics or groups that are not the brokers' own."""
    return [row for row in overview[kind] if not row["system"]]


def _count(title: str, overview: dict[str, Any], kind: str) -> str:
    """How many there are; where no broker told any, nobody knows."""
    if overview["faults"] and not overview["topics"] and not overview["groups"]:
        return f"{title}: ?"
    users = len(_users(overview, kind))
    return f"{title}: {users:,}, and {len(overview[kind]) - users:,} of the brokers' own"


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
