"""Configs of consumer groups: the table of ``subscriptionGroup.json``.

Source: docs/spec/store.md §7.4, docs/spec/broker.md §10.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from broker_core.engine.nameserver.registration import DataVersion
from broker_core.engine.store.config_file import ConfigRule, EntryTable, EntryTexts, object_in, others_in, whole_number
from broker_core.engine.tables.topic_table import QUEUES_MAX
from broker_core.errors import CodecError
from broker_core.protocol import names
from broker_core.protocol.admin.groups import GroupConfig

GROUPS_FILE = "subscriptionGroup.json"
GROUPS_RULE = ConfigRule("every consumer group has the default settings: those that were disabled consume again")


_NEWER_KEYS = (
    "attributes",
    "consumeTimeoutMinute",
    "groupRetryPolicy",
    "groupSysFlag",
    "subscriptionDataSet",
)
"""Fields that only 5.x has. Clients set them and no other unknown ones; the file may have those of a later version."""

FORBIDDEN_READ = 4
"""Bit of ``forbiddenTable``: the group may not read the topic."""


class GroupTable:
    """Group → `GroupConfig`, with a version.

    Attributes:
        auto_create: Whether the first use of an unknown group creates its config; a live setting.
        groups_max: At this number of groups no more are created in this way; a live setting.
    """

    def __init__(
        self,
        *,
        auto_create: bool,
        clock: Callable[[], int],
        groups_max: int = 20_000,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.auto_create = auto_create
        self.groups_max = groups_max
        self._clock = clock
        self._changed = changed
        self._table = {name: GroupConfig(name) for name in names.SYSTEM_GROUPS}
        self._forbidden: dict[str, dict[str, int]] = {}
        self._texts = EntryTexts()
        self._others: Mapping[str, Any] = {}
        """Top-level entries of the file that are not known."""
        self.version = DataVersion(clock(), 0)

    @property
    def is_full(self) -> bool:
        """Whether first uses create no more groups."""
        return len(self._table) >= self.groups_max

    def get(self, name: str) -> GroupConfig | None:
        return self._table.get(name)

    def find(self, name: str) -> GroupConfig | None:
        """The config of a group, created if that is allowed; None for an unknown group or an illegal name."""
        config = self._table.get(name)
        if config is None and self._may_create(name):
            config = GroupConfig(name)
            self.put(config)
        return config

    def restore(self, name: str) -> None:
        """Create the config of a group that was in use before a kill, if it is missing."""
        if name not in self._table and names.group_name_fault(name) is None:
            self.put(GroupConfig(name))

    def _may_create(self, name: str) -> bool:
        wanted = self.auto_create or names.is_system_group(name)
        return wanted and names.group_name_fault(name) is None and not self.is_full

    def all(self) -> dict[str, GroupConfig]:
        return dict(self._table)

    def put(self, config: GroupConfig) -> None:
        """Add or replace a group; unknown fields of its entry stay."""
        known = self._table.get(config.name)
        unknown = {} if known is None else others_in(known.others, _NEWER_KEYS)
        others = {key: config.others[key] for key in _NEWER_KEYS if config.others.get(key) is not None} | unknown
        self._table[config.name] = config if others == config.others else replace(config, others=others)
        self._bump()

    def remove(self, name: str) -> bool:
        """Remove a group's config; False when it had none."""
        if self._table.pop(name, None) is None:
            return False
        self._forbidden.pop(name, None)
        self._bump()
        return True

    def may_read(self, group: str, topic: str) -> bool:
        """Whether the group may read the topic: no `FORBIDDEN_READ`."""
        return not self._forbidden.get(group, {}).get(topic, 0) & FORBIDDEN_READ

    def forbid_reading(self, group: str, topic: str, *, forbidden: bool) -> None:
        """Forbid a group to read a topic, or allow it again."""
        topics = self._forbidden.setdefault(group, {})
        bits = topics.get(topic, 0) & ~FORBIDDEN_READ | (FORBIDDEN_READ if forbidden else 0)
        if bits:
            topics[topic] = bits
        else:
            topics.pop(topic, None)
        if not topics:
            del self._forbidden[group]
        self._bump()

    def _bump(self) -> None:
        self.version = self.version.next(self._clock())
        self._changed()

    def to_json(self) -> dict[str, Any]:
        """Content of ``subscriptionGroup.json``, also the body of GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""
        return self._content({name: self._table[name].to_json() for name in sorted(self._table)})

    def snapshot(self) -> dict[str, Any]:
        """The same as `to_json`, for the file: takes no time on the loop, whatever the number of groups."""
        return {**self._others, **self._content(EntryTable(self._table, self._texts))}

    def _content(self, table: object) -> dict[str, Any]:
        forbidden = {"forbiddenTable": {group: dict(topics) for group, topics in self._forbidden.items()}}
        return {
            "dataVersion": self.version.to_json(),
            **(forbidden if self._forbidden else {}),
            "subscriptionGroupTable": table,
        }

    def load(self, value: Mapping[str, Any]) -> None:
        """Load ``subscriptionGroup.json``; entries replace the built-in ones.

        Raises:
            CodecError: A field has an invalid value; nothing is loaded.
        """
        version = DataVersion.from_json(value.get("dataVersion"))
        groups = object_in(value, "subscriptionGroupTable")
        table = {name: replace(GroupConfig.from_json(object_in(groups, name)), name=name) for name in groups}
        for group in table.values():
            if group.retry_queues > QUEUES_MAX:
                raise CodecError(f"group {group.name} has {group.retry_queues} queues to retry")
        forbidden = object_in(value, "forbiddenTable") if "forbiddenTable" in value else {}
        bits_of = {
            group: {topic: whole_number(bits, "forbiddenTable") for topic, bits in object_in(forbidden, group).items()}
            for group in forbidden
        }
        self._table |= table
        self._forbidden |= bits_of
        self._others = others_in(value, ("dataVersion", "forbiddenTable", "subscriptionGroupTable"))
        self.version = version
