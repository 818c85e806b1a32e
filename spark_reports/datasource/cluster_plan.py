"""Which messages of a cluster a read covers: slices of queues whose ends were fixed when it was planned.

What is stored later is not read. A plan travels to the readers as text, so that all queries of one report see the same
messages; it names the place of keys and never holds one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from broker_core.cluster.slices import QueueSlice, ReadLimits, Unknown


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
    limits: ReadLimits = field(default_factory=ReadLimits)
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
