"""The topics, queues, groups and positions that there are to measure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from broker_core.protocol import names
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.worker.embedded.engine import EngineView
from broker_core.worker.questions.figures import Catalog


@dataclass(frozen=True, slots=True)
class Inventory:
    """A catalog with the keys of its rows."""

    catalog: Catalog
    queues: list[tuple[str, int]]
    positions: list[tuple[str, int]]
    """Group and row of the queue."""
    topic_rows: dict[str, range]
    """Rows of the queues of a topic."""


def take_inventory(engine: EngineView, revision: int) -> Inventory:
    """The catalog of the engine's tables.

    A topic with stored messages is listed even without a config. Of system topics only queues on disk are listed, because some
    have a thousand unused ones.
    """
    configs = engine.topics.all()
    stored: dict[str, set[int]] = defaultdict(set)
    for topic, queue_id in engine.store.queues():
        stored[topic].add(queue_id)
    topics = sorted({*configs, *stored})
    queues = [
        (topic, queue_id) for topic in topics for queue_id in _queue_ids(engine, topic, configs.get(topic), stored[topic])
    ]
    topic_rows = _topic_rows(queues)
    wanted = _wanted_positions(engine, topic_rows, queues)
    groups = _groups(engine, {group for group, _row in wanted})
    group_index = {group: index for index, group in enumerate(groups)}
    positions = sorted((item for item in wanted if item[0] in group_index), key=lambda item: (group_index[item[0]], item[1]))
    topic_index = {topic: index for index, topic in enumerate(topics)}
    nothing = TopicConfig("", 0, 0, 0)
    catalog = Catalog(
        revision=revision,
        topics=topics,
        topic_read_queues=[configs.get(topic, nothing).read_queues for topic in topics],
        topic_write_queues=[configs.get(topic, nothing).write_queues for topic in topics],
        topic_permission=[configs.get(topic, nothing).permission for topic in topics],
        topic_is_system=[engine.topics.is_system(topic) for topic in topics],
        queue_topic=[topic_index[topic] for topic, _queue_id in queues],
        queue_id=[queue_id for _topic, queue_id in queues],
        groups=groups,
        position_group=[group_index[group] for group, _row in positions],
        position_queue=[row for _group, row in positions],
        group_is_system=[names.is_system_group(group) for group in groups],
    )
    return Inventory(catalog, queues, positions, topic_rows)


def _queue_ids(engine: EngineView, topic: str, config: TopicConfig | None, stored: set[int]) -> list[int]:
    if config is None or engine.topics.is_system(topic):
        return sorted(stored)
    return sorted({*range(max(config.read_queues, config.write_queues)), *stored})


def _topic_rows(queues: list[tuple[str, int]]) -> dict[str, range]:
    rows: dict[str, range] = {}
    for row, (topic, _queue_id) in enumerate(queues):
        first = rows[topic].start if topic in rows else row
        rows[topic] = range(first, row + 1)
    return rows


def _wanted_positions(engine: EngineView, topic_rows: dict[str, range], queues: list[tuple[str, int]]) -> set[tuple[str, int]]:
    """Committed offsets, and queues that a group subscribes without having committed yet.

    Broadcasting consumers keep their offsets themselves, so the broker has no positions of them.
    """
    row_of = {queue: row for row, queue in enumerate(queues)}
    wanted = {
        (group, row_of[topic, queue_id])
        for topic, group, offsets in engine.offsets.items()
        for queue_id in offsets
        if (topic, queue_id) in row_of
    }
    for group in engine.consumers.groups():
        if not group.broadcasting:
            wanted.update((group.name, row) for topic in group.subscriptions for row in topic_rows.get(topic, ()))
    return wanted


def _groups(engine: EngineView, with_positions: set[str]) -> list[str]:
    """Groups with a config, an offset or a member; the broker's own only if they are in use."""
    used = with_positions | {group.name for group in engine.consumers.groups()}
    configured = {group for group in engine.groups.all() if not names.is_system_group(group)}
    return sorted(used | configured)
