"""The content of a store as JSON values, one a line: records, units, index items, configuration.

Takes no lock and changes nothing. Memory does not grow with the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.consume_queue_ext import ADDRESS_MAX
from broker_core.engine.store.index_layout import IndexItems
from broker_core.engine.store.inspection.config_check import read_configs
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.engine.store.inspection.index_check import ENTRIES_AT_A_TIME, load_index
from broker_core.engine.store.inspection.log_reader import CheckedWindow, LogReader
from broker_core.engine.store.inspection.message_lines import MessageLines
from broker_core.engine.store.inspection.queue_reader import QueueFileReader, QueueReaders, is_blank
from broker_core.engine.store.record_columns import queue_runs, topics_of, unit_codes
from broker_core.protocol.delay_levels import DelayLevels

Row = dict[str, Any]


def dump_messages(
    root: Path, topic: str | None, levels: DelayLevels, findings: list[StoreFinding], log_directories: Sequence[Path] = ()
) -> Iterator[str]:
    """Every record of the commit log in order of physical offset, as lines of JSON.

    Args:
        root: Store directory.
        topic: Only records of this topic.
        levels: Delay levels, for the tags codes of records without a unit.
        findings: Gets the places without a readable record.
        log_directories: All directories of the commit log; by default the one in ``root``.
    """
    log, readers, lines = LogReader(root, directories=log_directories), QueueReaders(root), MessageLines(findings)
    try:
        for window in log.windows():
            findings += log.findings
            log.findings.clear()
            data, heads = window.data, window.heads
            codes = unit_codes(data, heads, levels).codes
            topics = {row: name for row, name in enumerate(topics_of(data, heads)) if topic in (None, name)}
            _take_unit_codes(window, topic, readers, codes)
            yield from lines.of_window(window, topics, codes)
        findings += log.findings
    finally:
        log.close()
        readers.close()


def _take_unit_codes(window: CheckedWindow, topic: str | None, readers: QueueReaders, codes: memoryview) -> None:
    """Replace computed tags codes by those of existing units."""
    for run in queue_runs(window.data, window.heads, codes):
        reader = readers.get(*run.key) if topic in (None, run.key[0]) else None
        units = reader.units(run.first, len(run.rows)) if reader is not None else b""
        if units == run.units[: len(units)]:
            continue
        for row, (physical, _, code) in zip(run.rows, UNIT.iter_unpack(units), strict=False):
            if physical == window.heads.physical_offset[row]:
                codes[row] = code


def dump_queues(root: Path, topic: str | None) -> Iterator[Row]:
    """Every consume queue unit, by topic, queue id and queue offset, without blanks and holes."""
    readers = QueueReaders(root)
    for key in sorted(readers.by_key):
        if topic is not None and key[0] != topic:
            continue
        reader = readers.by_key[key]
        for start, units in reader.blocks():
            for row, (physical, size, code) in enumerate(UNIT.iter_unpack(units)):
                if size <= 0 or is_blank(physical, size):
                    continue
                unit: Row = {
                    "topic": key[0], "queueId": key[1], "queueOffset": start + row,
                    "physicalOffset": physical, "size": size, "tagsCode": code,
                }  # fmt: skip
                yield unit | _extension(reader, code) if code <= ADDRESS_MAX else unit
        reader.close()


def _extension(reader: QueueFileReader, address: int) -> Row:
    """The extension's unit at an address as fields; empty without one."""
    unit = reader.ext_unit_at(address)
    if unit is None:
        return {}
    return {"extTagsCode": unit.tags_code, "extStoreTimestamp": unit.store_ms, "extBitMap": unit.bitmap.hex()}


def dump_index(
    root: Path, topic: str | None, findings: list[StoreFinding], log_directories: Sequence[Path] = ()
) -> Iterator[Row]:
    """Every index item, by file and number; with ``topic``, those of its records."""
    log = LogReader(root, directories=log_directories)
    for file in load_index(root):
        if file.header is None or (file.header.next_item > 1 and not file.slots):
            findings.append(file.find(0, "the file's header is damaged; its items cannot be told apart"))
            continue
        if not file.slots:
            continue
        items = IndexItems(file.data, file.slots)
        for start in range(1, file.items, ENTRIES_AT_A_TIME):
            for row, values in enumerate(items.between(start, min(start + ENTRIES_AT_A_TIME, file.items))):
                item_hash, physical, seconds, previous = values
                if topic is not None and _topic_at(log, physical) != topic:
                    continue
                yield {
                    "file": file.path.name, "item": start + row, "slot": item_hash % file.slots, "keyHash": item_hash,
                    "physicalOffset": physical, "storeTimestamp": file.header.begin_ms + seconds * 1000,
                    "seconds": seconds, "previousItem": previous,
                }  # fmt: skip
    log.close()


def _topic_at(log: LogReader, physical_offset: int) -> str | None:
    parts = log.parts(physical_offset)
    return None if parts is None else parts.topic.decode("utf-8", "replace")


def dump_config(root: Path, topic: str | None, findings: list[StoreFinding]) -> Iterator[Row]:
    """Name and content of every configuration file; with ``topic``, only the entries that name it."""
    for name, content in read_configs(root, findings).items():
        if topic is None:
            yield {"file": name, "content": content}
            continue
        entries = {
            table: {key: value for key, value in rows.items() if topic in key.split("@")}
            for table, rows in content.items()
            if isinstance(rows, dict)
        }
        if kept := {table: rows for table, rows in entries.items() if rows}:
            yield {"file": name, "content": kept}
