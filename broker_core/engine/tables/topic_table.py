"""Topics of the broker: the table of ``topics.json`` (Source: docs/spec/store.md §7.3, docs/spec/broker.md §2.3, §15.8).

Pure state with a listener for changes; it writes no file and registers nowhere itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from broker_core.config import BrokerConfig
from broker_core.engine.nameserver.registration import DataVersion
from broker_core.engine.store.config_file import ConfigRule, EntryTable, EntryTexts, object_in, others_in
from broker_core.errors import CodecError
from broker_core.protocol import names
from broker_core.protocol.admin.topics import PERM_INHERIT, READ_AND_WRITE, TOPIC_KEYS, TopicConfig

TOPICS_FILE = "topics.json"
TOPICS_RULE = ConfigRule(
    "topics are known by their consume queues alone: with permission to read and write, without attributes",
    is_rebuilt=True,
)
ATOMIC_TOPICS_RULE = ConfigRule("topics lose the attribute of atomic transactions: what is undecided or aborted is delivered")
"""For a store that holds atomic transactions."""

SCHEDULE_QUEUES = 18
CLUSTER_TOPIC_QUEUES = 16
BENCHMARK_QUEUES = 1024
QUEUES_MAX = 65_536
"""A larger number of queues of one topic is damage: the figures of a queue take memory, also of one without a message."""


class TopicTable:
    """Name → `TopicConfig`, with a version.

    Args:
        config: The broker's settings; they select the built-in topics.
        clock: Time in ms since the epoch.
        changed: Called after each change with the names that changed, e.g. to persist and to register.
    """

    def __init__(
        self, config: BrokerConfig, *, clock: Callable[[], int], changed: Callable[[list[str]], None] = lambda _names: None
    ) -> None:
        self._config = config
        self._clock = clock
        self._changed = changed
        self._table: dict[str, TopicConfig] = {topic.name: topic for topic in built_in_topics(config)}
        self._texts = EntryTexts()
        self._others: Mapping[str, Any] = {}
        """Top-level entries of the file that are not known."""
        self.version = DataVersion(clock(), 0)
        self._system = names.SYSTEM_TOPICS | {
            config.cluster_name,
            config.broker_name,
            f"{config.cluster_name}_REPLY_TOPIC",
        }

    def reconfigure(self, config: BrokerConfig) -> None:
        self._config = config

    @property
    def is_full(self) -> bool:
        """Whether messages create no more topics: a producer with random topic names must not fill memory and disk."""
        return len(self._table) >= self._config.auto_create_topics_max

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __len__(self) -> int:
        return len(self._table)

    def get(self, name: str) -> TopicConfig | None:
        """The config of a topic; light queues (``enableLmq``) are topics without an entry."""
        found = self._table.get(name)
        if found is None and self._config.store.lmq and name.startswith(names.LMQ_PREFIX):
            return TopicConfig(name, 1, 1)
        return found

    def all(self) -> dict[str, TopicConfig]:
        return dict(self._table)

    def is_system(self, name: str) -> bool:
        return name in self._system or name.startswith(names.SYSTEM_PREFIX) or name == names.ATOMIC_STATE_TOPIC

    def system_topics(self) -> list[str]:
        """Names of the reserved topics, sorted."""
        return sorted(self._system)

    def put(self, topic: TopicConfig) -> None:
        """Add or replace a topic; unknown fields of its entry stay."""
        known = self._table.get(topic.name)
        self._table[topic.name] = replace(topic, others=known.others) if known is not None and known.others else topic
        self._bump([topic.name])

    def remove(self, name: str) -> bool:
        """Remove a topic; False when it was not known."""
        if self._table.pop(name, None) is None:
            return False
        self._bump([name])
        return True

    def create_for_send(self, name: str, template_name: str, wanted_queues: int) -> TopicConfig | None:
        """Create a topic at its first message, from a template topic with the INHERIT permission.

        Source: docs/spec/broker.md §2.3.

        Returns:
            The new topic; None when the template is unknown or does not permit INHERIT, or when there are too many topics.
        """
        template = self._table.get(template_name)
        if template is None or not template.permission & PERM_INHERIT or self.is_full:
            return None
        if template_name == names.AUTO_CREATE_TOPIC and not self._config.auto_create_topic:
            return None
        queues = max(0, min(wanted_queues, template.write_queues))
        topic = TopicConfig(name, queues, queues, template.permission & ~PERM_INHERIT, template.filter_type)
        self.put(topic)
        return topic

    def ensure(self, name: str, *, queues: int, sys_flag: int = 0) -> TopicConfig:
        """The topic, created with read and write permission if it is missing (retry and dead letter topics)."""
        topic = self._table.get(name)
        if topic is None:
            topic = TopicConfig(name, queues, queues, sys_flag=sys_flag)
            self.put(topic)
        return topic

    def apply_order(self, ordered: Iterable[str]) -> None:
        """Set the ``order`` mark from the name server's ORDER_TOPIC_CONFIG: only topics named there have it."""
        marked = set(ordered)
        different = [topic for topic in self._table.values() if topic.order != (topic.name in marked)]
        for topic in different:
            self._table[topic.name] = replace(topic, order=topic.name in marked)
        if different:
            self._bump([topic.name for topic in different])

    def renew(self) -> None:
        """Raise the table's version, so that name servers accept it again: the broker's own permission changed."""
        self._bump(list(self._table))

    def _bump(self, changed: list[str]) -> None:
        self.version = self.version.next(self._clock())
        self._changed(changed)

    # ---- topics.json ----

    def to_json(self) -> dict[str, Any]:
        """Content of ``topics.json``, also the body of GET_ALL_TOPIC_CONFIG."""
        return {
            "dataVersion": self.version.to_json(),
            "topicConfigTable": {name: self._table[name].to_json() for name in sorted(self._table)},
        }

    def snapshot(self) -> dict[str, Any]:
        """The same as `to_json`, for the file: takes no time on the loop, whatever the number of topics."""
        table = EntryTable(self._table, self._texts)
        return {**self._others, "dataVersion": self.version.to_json(), "topicConfigTable": table}

    def load(self, value: Mapping[str, Any]) -> None:
        """Load ``topics.json``; entries replace the built-in ones.

        Raises:
            CodecError: A field has an impossible value; nothing is loaded.
        """
        version = DataVersion.from_json(value.get("dataVersion"))
        loaded = {name: self._loaded(name, item) for name, item in object_in(value, "topicConfigTable").items()}
        self._table |= loaded
        self._others = others_in(value, ("dataVersion", "topicConfigTable"))
        self.version = version

    def _loaded(self, name: str, item: object) -> TopicConfig:
        if not isinstance(item, Mapping):
            raise CodecError(f"topic {name} is no object")
        topic = replace(TopicConfig.from_json(item), name=name)
        if others := others_in(item, TOPIC_KEYS):
            topic = replace(topic, others=others)
        if not (0 <= topic.read_queues <= QUEUES_MAX and 0 <= topic.write_queues <= QUEUES_MAX):
            raise CodecError(f"topic {name} has {topic.read_queues} queues to read and {topic.write_queues} to write")
        if name == names.AUTO_CREATE_TOPIC and not self._config.auto_create_topic:
            # Left by a start with auto-creation on; as a template it would switch that on again.
            topic = replace(topic, permission=topic.permission & ~PERM_INHERIT)
        return topic

    def enter_missing(self, queues: Iterable[tuple[str, int]]) -> list[str]:
        """Add topics that have a queue (topic and queue id) but no entry; returns their names."""
        counts: dict[str, int] = {}
        for topic, queue_id in queues:
            counts[topic] = max(counts.get(topic, 0), queue_id + 1)
        missing = [name for name in counts if name not in self and not self.is_system(name)]
        for name in missing:
            self.put(TopicConfig(name, counts[name], counts[name]))
        return missing


def built_in_topics(config: BrokerConfig) -> list[TopicConfig]:
    """Topics that every broker has from the start."""
    inherit = READ_AND_WRITE | PERM_INHERIT
    topics = [
        TopicConfig(names.SELF_TEST_TOPIC, 1, 1),
        TopicConfig(names.BENCHMARK_TOPIC, BENCHMARK_QUEUES, BENCHMARK_QUEUES),
        TopicConfig(config.cluster_name, CLUSTER_TOPIC_QUEUES, CLUSTER_TOPIC_QUEUES, inherit),
        TopicConfig(config.broker_name, 1, 1, inherit),
        TopicConfig(names.OFFSET_MOVED_TOPIC, 1, 1),
        TopicConfig(names.SCHEDULE_TOPIC, SCHEDULE_QUEUES, SCHEDULE_QUEUES),
        TopicConfig(f"{config.cluster_name}_REPLY_TOPIC", 1, 1),
    ]
    if config.trace_topic:
        topics.append(TopicConfig(names.TRACE_TOPIC, 1, 1))
    if config.auto_create_topic:
        queues = config.default_topic_queue_count
        topics.append(TopicConfig(names.AUTO_CREATE_TOPIC, queues, queues, inherit))
    return topics
