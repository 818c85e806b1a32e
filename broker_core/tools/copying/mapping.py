"""Target queue of each source queue, and the settings of a topic at the target. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.protocol.admin.topics import PERM_WRITE, READ_AND_WRITE
from broker_core.protocol.json_body import MessageQueue

_COMPARED = {
    "readQueueNums": "queues to read",
    "writeQueueNums": "queues to write",
    "perm": "permission",
    "topicFilterType": "kind of filter",
    "topicSysFlag": "system flag",
    "order": "order",
    "attributes": "attributes",
}
_DEFAULTS = {"perm": READ_AND_WRITE, "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False, "attributes": {}}


@dataclass(frozen=True, slots=True)
class TargetQueues:
    """A topic at the target: its settings on each broker that has it, and the names of all brokers."""

    topic: str
    configs: Mapping[str, Mapping[str, Any]]
    """Broker name → settings; empty when there is no such topic."""
    brokers: Sequence[str]

    @classmethod
    def of(cls, topic: str, tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> TargetQueues:
        """Those of a topic, from broker name → topic → settings."""
        return cls(topic, {name: table[topic] for name, table in tables.items() if topic in table}, sorted(tables))

    @property
    def exists(self) -> bool:
        return bool(self.configs)

    @property
    def queues(self) -> list[MessageQueue]:
        """Queues that take messages now."""
        return self._queues({
            name: int(config["writeQueueNums"])
            for name, config in self.configs.items()
            if int(config.get("perm", READ_AND_WRITE)) & PERM_WRITE
        })  # fmt: skip

    def created(self, wanted: Mapping[str, Any]) -> list[MessageQueue]:
        """Queues after its creation on all brokers."""
        return self._queues(dict.fromkeys(self.brokers, int(wanted["writeQueueNums"])))

    def after_change(self, wanted: Mapping[str, Any]) -> list[MessageQueue]:
        """Queues after a change of the settings on the brokers that have it."""
        return self._queues(dict.fromkeys(self.configs, int(self.enlarged(wanted)["writeQueueNums"])))

    def enlarged(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """``wanted`` with no fewer queues than there are, because messages of a removed queue could not be read any more."""
        return {
            **wanted,
            **{
                key: max([int(wanted[key]), *(int(config[key]) for config in self.configs.values())])
                for key in ("readQueueNums", "writeQueueNums")
            },
        }

    def _queues(self, counts: Mapping[str, int]) -> list[MessageQueue]:
        return [MessageQueue(self.topic, name, queue) for name in sorted(counts) for queue in range(counts[name])]


def wanted_queues(config: Mapping[str, Any], queues: Sequence[MessageQueue], *, brokers: int, plain: bool) -> dict[str, Any]:
    """Settings of a topic at the target, for each of its masters, from those of the source and its readable queues.

    ``plain`` makes it an ordinary topic, whatever the broker's own one was.
    """
    from_brokers = {queue.broker_name for queue in queues}
    each = max(queue.queue_id for queue in queues) + 1 if len(from_brokers) == brokers else -(-len(queues) // brokers)
    kept = {} if plain else {key: config[key] for key in _COMPARED if config.get(key) is not None}
    permission = int(kept.get("perm", READ_AND_WRITE)) & READ_AND_WRITE | READ_AND_WRITE
    return {**_DEFAULTS, **kept, "perm": permission, "readQueueNums": each, "writeQueueNums": each}


def differences(wanted: Mapping[str, Any], found: TargetQueues) -> tuple[str, ...]:
    """Differences of the target's topic from the settings it would be created with, in words."""
    others = dict.fromkeys(
        f"{words}: {_shown(there)}, not {_shown(wanted[key])}"
        for config in found.configs.values()
        for key, words in _COMPARED.items()
        if (there := _DEFAULTS.get(key) if config.get(key) is None else config[key]) != wanted[key]
    )
    missing = [name for name in found.brokers if found.exists and name not in found.configs]
    return (*others, *((f"not on {', '.join(missing)}",) if missing else ()))


def matched(queues: Sequence[MessageQueue], goals: Sequence[MessageQueue]) -> dict[MessageQueue, MessageQueue]:
    """Source queue → target queue: the same number on the broker of the same rank if all have it, else in turn.

    Both are in order of broker names and numbers. With fewer goals than queues some share one.
    """
    sources, targets = sorted({queue.broker_name for queue in queues}), sorted({goal.broker_name for goal in goals})
    if len(sources) == len(targets):
        by_rank = dict(zip(sources, targets, strict=True))
        same = {queue: MessageQueue(goals[0].topic, by_rank[queue.broker_name], queue.queue_id) for queue in queues}
        if set(same.values()) <= set(goals):
            return same
    return {queue: goals[number % len(goals)] for number, queue in enumerate(queues)}


def _shown(value: object) -> str:
    return str(value if value != {} else "none")
