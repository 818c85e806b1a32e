"""Groups and topics that a store directory knows, read from outside.

Source: docs/spec/store.md §7 (configuration files).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from broker_core.engine.store.config_file import ConfigFile
from broker_core.engine.store.paths import StorePaths, topic_folders
from broker_core.errors import StoreError
from broker_core.protocol.retry_names import KnownNames, known_names


def stored_names(root: Path) -> KnownNames:
    """Topics with a config or a consume queue; groups with a config, an offset or a dead letter topic.

    A file that cannot be read counts as empty, because its names only help to tell retry topics apart.
    """
    paths = StorePaths(root)
    topics = {*_table(paths, "topics.json", "topicConfigTable"), *_folders(paths.consume_queue)}
    offsets = {
        **_table(paths, "consumerOffset.json", "offsetTable"),
        **_table(paths, "lmqConsumerOffset.json", "offsetTable"),
        **_table(paths, "lmqConsumerOffset.json", "lmqOffsetTable"),
    }
    groups = {
        *_table(paths, "subscriptionGroup.json", "subscriptionGroupTable"),
        *(key.rpartition("@")[2] for key in offsets),
    }
    return known_names(groups, topics)


def _table(paths: StorePaths, name: str, member: str) -> dict[str, Any]:
    try:
        content = ConfigFile(paths.config / name).look().value or {}
    except StoreError:
        return {}
    table = content.get(member)
    return table if isinstance(table, dict) else {}


def _folders(parent: Path) -> Iterable[str]:
    try:
        return topic_folders(parent)
    except OSError:
        return ()
