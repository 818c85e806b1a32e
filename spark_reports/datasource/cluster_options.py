"""The options of ``rocketmq-cluster``: the cluster, the part of it to read, and limits. Invalid ones raise `UsageError`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from broker_core.cluster.slices import BYTES_PER_SECOND, MESSAGES_PER_SECOND, RETRY_SECONDS, ReadLimits
from broker_core.errors import UsageError
from broker_core.machine_limits import processors
from broker_core.outside import read_json, whole_of

SLICE_MESSAGES = 50_000
"""Approximate messages of one task without rate limits."""
SLICE_MESSAGES_MAX = 10_000_000
TASKS_MAX = 64
_TASKS_USUAL = 8

Offsets = Mapping[str, Mapping[str, tuple[int, int]]]
"""Topic → ``BROKER:QUEUE`` → from, to."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The cluster to read, and how.

    Attributes:
        name_servers: ``host:port``, several separated by ``;``.
        place: Of keys, TLS and address map, see `broker_core.cluster.key_place`; empty: none.
        limits: For one broker, over all tasks.
        tasks_per_broker: Tasks that share the limits of a broker.
        offsets: Offsets of the only queues to read; None: all.
    """

    name_servers: str
    place: str = ""
    limits: ReadLimits = field(default_factory=ReadLimits)
    slice_messages: int = SLICE_MESSAGES
    tasks_per_broker: int = _TASKS_USUAL
    offsets: Offsets | None = None


def cluster_options_of(options: Mapping[str, str]) -> ClusterOptions:
    name_servers = options.get("name_servers", options.get("path", "")).strip()
    if not name_servers:
        raise UsageError(
            "name the cluster to read: option name_servers with HOST:PORT of a name server; several with ; between"
        )
    return ClusterOptions(
        name_servers,
        options.get("details", ""),
        ReadLimits(
            amount_of(options, "messages_per_second", MESSAGES_PER_SECOND),
            amount_of(options, "bytes_per_second", BYTES_PER_SECOND),
            amount_of(options, "retry_seconds", RETRY_SECONDS),
        ),
        _count_of(options, "slice_messages", SLICE_MESSAGES, SLICE_MESSAGES_MAX),
        _count_of(options, "tasks_per_broker", usual_tasks(), TASKS_MAX),
        offsets_of(options["offsets"]) if "offsets" in options else None,
    )


def usual_tasks() -> int:
    """Default tasks of a broker: as many as this machine runs at once, because each has a fixed share of the limits."""
    return min(processors(), _TASKS_USUAL)


def amount_of(options: Mapping[str, str], name: str, usual: float) -> float:
    """An option that is a number from 0."""
    text = options.get(name, str(usual))
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise UsageError(f"option {name} takes a number from 0 (no bound), not “{text}”")
    return found


def _count_of(options: Mapping[str, str], name: str, usual: int, most: int) -> int:
    text = options.get(name, str(usual))
    number = whole_of(text)
    if number is None or not 1 <= number <= most:
        raise UsageError(f"option {name} takes a whole number from 1 to {most:,}, not “{text}”")
    return number


def offsets_of(text: str) -> Offsets:
    """Offsets of queues from ``{"TOPIC": {"BROKER:QUEUE": [FROM, TO]}}``."""
    try:
        found = {
            str(topic): {str(queue): (int(first), int(end)) for queue, (first, end) in queues.items()}
            for topic, queues in read_json(text).items()
        }
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise UsageError('option offsets takes {"TOPIC": {"BROKER:QUEUE": [FROM, TO]}}, offsets from ≤ offset < to') from error
    for topic, queues in found.items():
        for queue, (first, end) in queues.items():
            if not 0 <= first < end:
                raise UsageError(f"option offsets: the range of {queue} in {topic} is empty: {first} is not before {end}")
    return found
