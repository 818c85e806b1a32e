"""Checks checkpoint and configuration files against log and queues (Source: docs/spec/store.md §6, §7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from broker_core.engine.store.checkpoint import FILE_BYTES, read_checkpoint
from broker_core.engine.store.config_file import object_in, parse_content
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.engine.store.inspection.queue_reader import QueueReaders
from broker_core.engine.store.paths import StorePaths
from broker_core.errors import CodecError
from broker_core.kept_file import EMPTY, read_content
from broker_core.outside import whole_of
from broker_core.protocol.names import SCHEDULE_TOPIC

Configs = dict[str, dict[str, Any]]

_TABLES = {
    "topics.json": "topicConfigTable",
    "subscriptionGroup.json": "subscriptionGroupTable",
    "consumerOffset.json": "offsetTable",
    "lmqConsumerOffset.json": "offsetTable",
    "delayOffset.json": "offsetTable",
    "consumerFilter.json": "filterDataByTopic",
}
"""What a file is about, by its name."""


def read_configs(root: Path, findings: list[StoreFinding]) -> Configs:
    """Content of all readable configuration files by name; the others are added to ``findings``."""
    found: Configs = {}
    directory = StorePaths(root).config
    for path in sorted(directory.iterdir()) if directory.is_dir() else []:
        if not path.name.removesuffix(".bak").endswith((".json", ".properties")):
            continue
        place = str(path.relative_to(root))
        try:
            found[path.name] = _content_of(path)
        except json.JSONDecodeError as error:
            findings.append(StoreFinding(place, error.pos, f"no JSON: {error.msg}"))
        except (ValueError, RecursionError, CodecError) as error:
            if str(error) != EMPTY or not path.name.endswith(".bak"):
                findings.append(StoreFinding(place, 0, f"no configuration: {error}"))
    return found


def _content_of(path: Path) -> dict[str, Any]:
    content = parse_content(path.name, read_content(path))
    table = _TABLES.get(path.name.removesuffix(".bak"))
    if table is not None:
        object_in(content, table)
    return dict(content)


def configured_topics(configs: Configs) -> frozenset[str] | None:
    """Topics of ``topics.json``; None without this file."""
    table = configs.get("topics.json", {}).get("topicConfigTable")
    return frozenset(table) if isinstance(table, dict) else None


def check_checkpoint(root: Path, last_store_ms: int, *, is_crashed: bool) -> Iterator[StoreFinding]:
    """Check the checkpoint against the latest store time in the log, 0 without messages."""
    path = StorePaths(root).checkpoint
    if not path.is_file():
        if last_store_ms and not is_crashed:
            yield StoreFinding(path.name, 0, "there is no checkpoint; a crash would mean that the whole log is scanned")
        return
    data = path.read_bytes()
    if len(data) != FILE_BYTES:
        yield StoreFinding(path.name, len(data), f"the file has {len(data):,} bytes; a checkpoint has {FILE_BYTES:,}")
    if len(data) < 24:
        return
    checkpoint = read_checkpoint(path)
    fields = (("physicMsgTimestamp", checkpoint.physic_ms), ("logicsMsgTimestamp", checkpoint.logics_ms))
    for number, (name, value) in enumerate((*fields, ("indexMsgTimestamp", checkpoint.index_ms))):
        if value < 0:
            yield StoreFinding(path.name, number * 8, f"{name} is {value}, which is no time")
        elif last_store_ms and value > last_store_ms:
            yield StoreFinding(
                path.name, number * 8, f"{name} is {value}; the last message in the log was stored at {last_store_ms}"
            )


def check_offsets(
    configs: Configs, readers: QueueReaders, notes: list[StoreFinding], *, is_crashed: bool
) -> Iterator[StoreFinding]:
    """Check stored offsets against the queues; offsets of missing queues belong to deleted topics.

    RocketMQ stores any offset that a consumer commits, and 4.x keeps those of a deleted topic. One that its queue does not have
    is therefore added to ``notes``. The progress of a delay level is the broker's own; only a crash leaves it beyond its queue.
    """
    for name in ("consumerOffset.json", "lmqConsumerOffset.json"):
        for key, offsets in _table(configs, name).items():
            topic, is_pair, _group = key.partition("@")
            if not is_pair:
                yield StoreFinding(f"config/{name}", 0, f"{key!r} should be a topic and a group with @ between them")
            for queue_id, offset in offsets.items() if isinstance(offsets, dict) else ():
                yield from _check_offset(readers, (topic, queue_id), offset, (f"config/{name}", key), notes)
    for level, offset in _table(configs, "delayOffset.json").items():
        if (number := whole_of(level)) is not None:
            queue = SCHEDULE_TOPIC, str(number - 1)
            excused = notes if is_crashed else None
            yield from _check_offset(readers, queue, offset, ("config/delayOffset.json", f"level {level}"), excused)


def _table(configs: Configs, name: str) -> dict[str, Any]:
    table = configs.get(name, {}).get("offsetTable")
    return table if isinstance(table, dict) else {}


def _check_offset(
    readers: QueueReaders,
    queue: tuple[str, str],
    offset: Any,  # noqa: ANN401  JSON
    place: tuple[str, str],
    notes: list[StoreFinding] | None,
) -> Iterator[StoreFinding]:
    """Check the offset of a queue; ``place`` is its file and its key. Beyond its queue it is a note, if there are ``notes``."""
    (topic, queue_id), (file, key) = queue, place
    number = whole_of(queue_id)
    if not isinstance(offset, int) or number is None:
        yield StoreFinding(file, 0, f"{key}: queue {queue_id} has offset {offset!r}, which is no number")
        return
    reader = readers.by_key.get((topic, number))
    if reader is not None and not 0 <= offset <= reader.end:
        found = StoreFinding(file, 0, f"{key}: queue {queue_id} has offset {offset:,}; the queue ends at {reader.end:,}")
        if notes is None:
            yield found
        else:
            notes.append(found)
