"""The plan of a read of a cluster: slices of queues whose ends are fixed at planning.

Messages stored later are not read. The readers get a plan as text, so that all queries of one report see the same messages; it
names the place of keys and never contains keys.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from broker_core.cluster.slices import QueueSlice, ReadLimits, Unknown
from broker_core.outside import read_json
from spark_reports.datasource.plan import ReadPlan


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """All that a read of a cluster covers.

    Attributes:
        place: Of keys, TLS and address map.
        tasks: Slices of one broker for each task.
        limits: Of each broker, over all tasks.
        unknown: Brokers that could not be planned, and why.
        files: The history, for a report on samples; else empty.
        passed_over: Always empty; plans of stores have it.
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
        """Messages covered, if queues have no gaps."""
        return sum(part.messages for task in self.tasks for part in task)

    @property
    def byte_count(self) -> int:
        """-1: queues do not report bytes."""
        return -1

    @property
    def queues(self) -> int:
        return len({(part.topic, part.broker, part.queue_id) for task in self.tasks for part in task})

    def limits_of(self, task: tuple[QueueSlice, ...]) -> ReadLimits:
        """The share of one task, because all tasks of a broker may run at once."""
        address = task[0].address
        return self.limits.shared_by(sum(other[0].address == address for other in self.tasks))

    def to_json(self) -> str:
        """Text for the ``plan`` option of the data source."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ClusterPlan:
        data = read_json(text)
        tasks = tuple(tuple(QueueSlice(**part) for part in task) for task in data["tasks"])
        unknown = tuple(Unknown(**one) for one in data["unknown"])
        limits = ReadLimits(**data["limits"])
        return cls(data["name_servers"], data["place"], tasks, limits, unknown, tuple(data["brokers"]))


Plan = ReadPlan | ClusterPlan
