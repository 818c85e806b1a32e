"""Consumed offsets of each group: the table of ``consumerOffset.json``.

    {"dataVersion":{…},"offsetTable":{"T@CG":{"0":7},"rmq_sys_REVIVE_LOG_C@CID_RMQ_SYS_REVIVE_GROUP":{"0":7}}}

With ``enableLmq`` all of it is in ``lmqConsumerOffset.json`` instead, as in RocketMQ, and light groups are beside the others:

    {…,"lmqOffsetTable":{"%LMQ%q@%LMQ%g":5}}

7 is the next offset of CG, and the last finished offset of the revive group. Orbit up to 0.1.0 wrote the next offset of the
revive group too, and no ``dataVersion``. `load` subtracts one from the revive offsets of such a file, so that no pop is lost.

Source: docs/spec/store.md §7.5, §7.9; docs/spec/broker.md §12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker_core.engine.nameserver.registration import DataVersion
from broker_core.engine.store.config_file import ConfigRule, object_in, whole_number
from broker_core.errors import CodecError
from broker_core.protocol.names import LMQ_PREFIX, REVIVE_GROUP, is_system_group

OFFSETS_FILE = "consumerOffset.json"
LIGHT_OFFSETS_FILE = "lmqConsumerOffset.json"
OFFSETS_RULE = ConfigRule(
    "every group begins like a new one: its messages come again or are skipped, as the consumeFromWhere of its consumers says",
    by_hand='{"offsetTable":{"TOPIC@GROUP":{"QUEUE ID":OFFSET}}}',
)
LIGHT_TABLE = "lmqOffsetTable"
SEPARATOR = "@"


def names_of_offsets(*, light: bool) -> Mapping[str, tuple[str, ...]]:
    """For `ConfigFiles`: the file that is written, and the one to read where that is missing."""
    files = OFFSETS_FILE, LIGHT_OFFSETS_FILE
    return {OFFSETS_FILE: files[::-1] if light else files}


class ConsumerOffsets:
    """``topic@group`` → queue id → offset of the next message to consume; for the revive group of the last finished record.

    ``light``: The file is that of ``enableLmq``.

    Attributes:
        changes: Incremented with every change; equal numbers mean nothing to write.
        committed: Called with group, topic and queue id after each `commit`, if set.
        removed: Called with topic and group whose offsets are removed, if set.
        was_reset: Called with topic, group and queue id after each `reset`, if set.
        beside: Returns more top-level entries of the file, if set; readers that do not know them ignore them.
    """

    def __init__(self, *, light: bool = False) -> None:
        self._light = light
        self._table: dict[str, dict[int, int]] = {}
        self._version = DataVersion(0, 0)
        self.changes = 0
        self.committed: Callable[[str, str, int], None] | None = None
        self.removed: Callable[[str, str], None] | None = None
        self.was_reset: Callable[[str, str, int], None] | None = None
        self.beside: Callable[[], Mapping[str, Any]] | None = None

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Set an offset, also to a smaller one: a reset is a commit."""
        self.put(group, topic, queue_id, offset)
        if self.committed is not None:
            self.committed(group, topic, queue_id)

    def reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Set an offset for somebody who is not a member of the group, also to the one that it has."""
        self.commit(group, topic, queue_id, offset)
        if self.was_reset is not None:
            self.was_reset(topic, group, queue_id)

    def put(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Set an offset without calling `committed`."""
        queues = self._table.setdefault(topic + SEPARATOR + group, {})
        if queues.get(queue_id) != offset:
            queues[queue_id] = offset
            self.changes += 1

    def get(self, group: str, topic: str, queue_id: int) -> int:
        """The stored offset, -1 if there is none."""
        return self._table.get(topic + SEPARATOR + group, {}).get(queue_id, -1)

    def topics_of(self, group: str) -> list[str]:
        return [topic for topic, known in self._pairs() if known == group]

    def groups_of(self, topic: str) -> list[str]:
        return [group for known, group in self._pairs() if known == topic]

    def groups(self) -> set[str]:
        return {group for _topic, group in self._pairs()}

    def items(self) -> list[tuple[str, str, dict[int, int]]]:
        """All offsets as ``(topic, group, {queue id: offset})``; the dictionaries are the live ones, not to be changed."""
        return [(topic, group, self._table[topic + SEPARATOR + group]) for topic, group in self._pairs()]

    def bring_into(self, end: Callable[[str, int], int]) -> list[str]:
        """Move offsets beyond the end of their queue to it, after a crash that took the end of the log; returns which.

        Else their groups would miss what is sent until the queue gets there. The services of system groups do it themselves.
        After a clean end nothing is lost: such offsets are of a wild commit or a deleted topic, and are shown as what they are.

        Args:
            end: Returns the offset of a queue's next message, hidden ones included.
        """
        moved: list[str] = []
        for topic, group, queues in self.items():
            for queue_id, offset in [] if is_system_group(group) else list(queues.items()):
                last = max(end(topic, queue_id), 0)
                if offset > last:
                    self.put(group, topic, queue_id, last)
                    moved.append(f"{topic}@{group} {queue_id}: {offset:,} to {last:,}")
        return moved

    def forget(self, group: str, topic: str, queue_id: int) -> None:
        """Remove the offset of one queue."""
        del self._table[topic + SEPARATOR + group][queue_id]
        self.changes += 1

    def remove_group(self, group: str) -> None:
        self._remove([pair for pair in self._pairs() if pair[1] == group])

    def remove_topic(self, topic: str) -> None:
        self._remove([pair for pair in self._pairs() if pair[0] == topic])

    def _remove(self, pairs: list[tuple[str, str]]) -> None:
        for topic, group in pairs:
            del self._table[topic + SEPARATOR + group]
            self.changes += 1
            if self.removed is not None:
                self.removed(topic, group)

    def _pairs(self) -> list[tuple[str, str]]:
        # Neither topics nor groups may contain the separator, so the first one divides.
        return [(topic, group) for topic, _, group in (key.partition(SEPARATOR) for key in self._table)]

    def to_json(self) -> dict[str, Any]:
        """Content of the file; queue ids as text, which every reader accepts."""
        beside = self.beside() if self.beside is not None else {}
        table = {key: {str(q): o for q, o in sorted(self._table[key].items())} for key in sorted(self._table)}
        if self._light:
            alone = [key for key in table if table[key] and key.partition(SEPARATOR)[2].startswith(LMQ_PREFIX)]
            beside = {**beside, LIGHT_TABLE: {key: next(iter(table.pop(key).values())) for key in alone}}
        version = {
            "counter": self._version.counter + self.changes,
            "stateVersion": self._version.state_version,
            "timestamp": self._version.timestamp_ms,
        }
        return {"dataVersion": version, "offsetTable": table, **beside}

    def load(self, value: Mapping[str, Any]) -> list[str]:
        """Load ``consumerOffset.json``; returns the negative offsets, which are left out, as ``topic@group``, queue and offset.

        RocketMQ stores whatever a client commits; its clients treat a negative offset as none.

        Raises:
            CodecError: A key names no topic and group, or a queue id or an offset is invalid; nothing is loaded.
        """
        offsets = object_in(value, "offsetTable")
        light = {key: {"0": at} for key, at in object_in(value, LIGHT_TABLE).items()} if LIGHT_TABLE in value else {}
        table = {key: _positions(key, object_in(given, key)) for given in (offsets, light) for key in given}
        version = DataVersion.from_json(value["dataVersion"]) if "dataVersion" in value else None
        self._table = {key: {queue: at for queue, at in queues.items() if at >= 0} for key, queues in table.items()}
        if version is None:
            self._take_one_off_revive_offsets()
        else:
            self._version = version
        return [f"{key} {queue}: {at}" for key, queues in table.items() for queue, at in queues.items() if at < 0]

    def _take_one_off_revive_offsets(self) -> None:
        for topic in self.topics_of(REVIVE_GROUP):
            key = topic + SEPARATOR + REVIVE_GROUP
            self._table[key] = {queue: offset - 1 for queue, offset in self._table[key].items() if offset > 0}


def _positions(key: str, queues: Mapping[str, Any]) -> dict[int, int]:
    if SEPARATOR not in key:
        raise CodecError(f"{key!r} should be a topic and a group with {SEPARATOR} between them")
    found = {whole_number(queue, f"a queue of {key}"): whole_number(at, f"an offset of {key}") for queue, at in queues.items()}
    if wrong := [queue for queue in found if not 0 <= queue < 2**31]:
        raise CodecError(f"{wrong[0]} of {key} is no queue id")
    return found
