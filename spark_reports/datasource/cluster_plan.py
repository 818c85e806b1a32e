"""Which messages of a cluster a read covers: slices of queues whose ends were fixed when it was planned.

What is stored later is not read. A plan travels to the readers as text, so that all queries of one report see the same
messages; it names the place of keys and never holds one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace

from broker_core.queue_reading.model import QueueSlice, ReadLimits, Unknown
from broker_core.queue_reading.reader import QueueReader
from spark_reports.datasource.cluster_options import ClusterOptions, wanted_of
from spark_reports.datasource.options import Selection


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """All that a read of a cluster covers.

    Args:
        name_servers: Of the cluster.
        place: Of keys, TLS and address map.
        tasks: Slices, all of one broker, one group for each task.
        limits: Of each broker, over all tasks.
        unknown: What could not be planned: broker and reason.
        brokers: Names of the cluster's brokers.
        files: None; as plans of stores have it.
        passed_over: None; likewise.
    """

    name_servers: str
    place: str = ""
    tasks: tuple[tuple[QueueSlice, ...], ...] = ()
    limits: ReadLimits = ReadLimits()
    unknown: tuple[Unknown, ...] = ()
    brokers: tuple[str, ...] = ()
    files: tuple[str, ...] = field(default=())
    passed_over: tuple[str, ...] = field(default=())

    @property
    def messages(self) -> int:
        """Messages covered, as far as queues have no gaps."""
        return sum(part.messages for task in self.tasks for part in task)

    @property
    def byte_count(self) -> int:
        """Bytes covered: a queue does not tell; -1."""
        return -1

    @property
    def queues(self) -> int:
        """Queues covered."""
        return len({(part.topic, part.broker, part.queue_id) for task in self.tasks for part in task})

    def limits_of(self, task: tuple[QueueSlice, ...]) -> ReadLimits:
        """The share of one task: all tasks of a broker may run at once."""
        address = task[0].address
        return self.limits.shared_by(sum(other[0].address == address for other in self.tasks))

    def to_json(self) -> str:
        """Text form, as the data source takes it in its ``plan`` option."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ClusterPlan:
        """Inverse of `to_json`."""
        data = json.loads(text)
        tasks = tuple(tuple(QueueSlice(**part) for part in task) for task in data["tasks"])
        unknown = tuple(Unknown(**one) for one in data["unknown"])
        limits = ReadLimits(**data["limits"])
        return cls(data["name_servers"], data["place"], tasks, limits, unknown, tuple(data["brokers"]))


def plan_cluster(options: ClusterOptions, selection: Selection) -> ClusterPlan:
    """Plan a read of a cluster as it is now.

    Raises:
        NetworkError: No name server answers, or it knows no broker.
        UsageError: None of the topics exists, or the place of keys holds none.
        RemoteError, CodecError: The name server answers otherwise.
    """
    with QueueReader(options.name_servers, options.place, limits=options.limits) as reader:
        found = reader.survey(wanted_of(selection, options.offsets))
    tasks = tuple(tasks_of(found.slices, options))
    return ClusterPlan(options.name_servers, options.place, tasks, options.limits, found.unknown, found.brokers)


def tasks_of(queues: Iterable[QueueSlice], options: ClusterOptions) -> Iterator[tuple[QueueSlice, ...]]:
    """Slices of queues as tasks, each of one broker.

    With limits there are at most ``tasks_per_broker`` tasks of a broker, for each gets a share of them, however many run at
    once; without, one for each slice, small ones put together.
    """
    pieces: dict[str, list[QueueSlice]] = {}
    for queue in queues:
        pieces.setdefault(queue.address, []).extend(_cut(queue, options.slice_messages))
    is_limited = options.limits.messages_per_second or options.limits.bytes_per_second
    for of_broker in pieces.values():
        total = sum(piece.messages for piece in of_broker)
        count = max(1, -(-total // options.slice_messages))
        yield from _spread(of_broker, min(count, options.tasks_per_broker) if is_limited else count)


def _cut(queue: QueueSlice, messages: int) -> Iterator[QueueSlice]:
    for first in range(queue.first, queue.end, messages):
        yield replace(queue, first=first, end=min(first + messages, queue.end))


def _spread(pieces: list[QueueSlice], count: int) -> Iterator[tuple[QueueSlice, ...]]:
    """Pieces over so many tasks, about evenly; neighbours stay together."""
    share = sum(piece.messages for piece in pieces) / count
    group: list[QueueSlice] = []
    filled, ended = 0, 1
    for piece in pieces:
        if group and ended < count and filled + piece.messages / 2 > share * ended:
            yield tuple(group)
            group, ended = [], ended + 1
        group.append(piece)
        filled += piece.messages
    if group:
        yield tuple(group)
