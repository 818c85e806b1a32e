"""The content of a store as JSON values, one a line: records, units, index items, configuration.

Takes no lock and changes nothing. Memory does not grow with the store.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from broker_core.errors import CodecError
from broker_core.message.body import decompress_body
from broker_core.message.message_id import offset_message_id
from broker_core.message.record import decode_record
from broker_core.message.sys_flag import enters_queue
from broker_core.store.dispatch import DelayLevels
from broker_core.store.index_layout import items_of
from broker_core.store.inspection.config_check import read_configs
from broker_core.store.inspection.finding import Finding
from broker_core.store.inspection.index_check import ITEMS_AT_A_TIME, load_index
from broker_core.store.inspection.log_reader import LogReader, LogWindow
from broker_core.store.inspection.queue_reader import UNITS_AT_A_TIME, QueueReaders, is_blank
from broker_core.store.record_columns import QueueGroup, queue_groups, unit_codes

BODY_SHOWN_BYTES = 48
"""Bodies above this have their SHA-256 beside them, as in the descriptions of golden stores."""

Row = dict[str, Any]


def dump_messages(root: Path, topic: str | None, levels: DelayLevels, findings: list[Finding]) -> Iterator[Row]:
    """Every record of the commit log in order of physical offset.

    Args:
        root: Store directory.
        topic: Only records of this topic.
        levels: Delay levels, for the tags codes of records that have no unit.
        findings: Gets the places where there is no readable record.
    """
    log, readers = LogReader(root), QueueReaders(root)
    try:
        for window in log.windows():
            findings += log.findings
            log.findings.clear()
            yield from _window_rows(window, topic, levels, readers, findings)
        findings += log.findings
    finally:
        log.close()
        readers.close()


def _window_rows(
    window: LogWindow, topic: str | None, levels: DelayLevels, readers: QueueReaders, findings: list[Finding]
) -> Iterator[Row]:
    groups = list(queue_groups(window.data, window.heads))
    codes = unit_codes(window.data, window.heads, groups, levels)
    wanted = np.zeros(len(window.heads), dtype=np.bool_)
    for group in groups:
        if topic is None or group.topic.decode("utf-8", "replace") == topic:
            wanted[group.rows] = True
            _take_unit_codes(window, group, readers, codes)
    positions, sizes = window.heads.position, window.heads.size
    for row in np.flatnonzero(wanted).tolist():
        record = window.data[int(positions[row]) : int(positions[row]) + int(sizes[row])].tobytes()
        yield _message_row(record, int(codes[row]), findings)


def _take_unit_codes(window: LogWindow, group: QueueGroup, readers: QueueReaders, codes: np.typing.NDArray[np.int64]) -> None:
    """Replace computed tags codes by those of the queue's units, where those are there."""
    reader = readers.get(group.topic.decode("utf-8", "replace"), group.queue_id)
    rows = group.rows[[enters_queue(flag) for flag in window.heads.sys_flag[group.rows].tolist()]]
    if reader is None or not len(rows):
        return
    offsets = window.heads.queue_offset[rows]
    for run in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(offsets) != 1) + 1):
        units = reader.units(int(offsets[run[0]]), len(run))
        found = rows[run[: len(units)]]
        same = units["physical_offset"] == window.heads.physical_offset[found]
        codes[found[same]] = units["tags_code"][same]


def _message_row(record: bytes, tags_code: int, findings: list[Finding]) -> Row:
    stored = decode_record(record)
    try:
        body = decompress_body(stored.sys_flag, stored.body)
    except CodecError as error:
        findings.append(Finding("commitlog", stored.physical_offset, f"the body is given as stored: {error}"))
        body = stored.body
    is_long = len(body) > BODY_SHOWN_BYTES
    return {
        "topic": stored.topic,
        "queueId": stored.queue_id,
        "queueOffset": stored.queue_offset,
        "physicalOffset": stored.physical_offset,
        "storeSize": stored.store_size,
        "bodyCrc": stored.body_crc,
        "sysFlag": stored.sys_flag,
        "flag": stored.flag,
        "bornTimestamp": stored.born_timestamp_ms,
        "bornHost": str(stored.born_host),
        "storeTimestamp": stored.store_timestamp_ms,
        "storeHost": str(stored.store_host),
        "reconsumeTimes": stored.reconsume_times,
        "preparedTransactionOffset": stored.prepared_transaction_offset,
        "properties": stored.properties,
        "storedBodyLength": len(stored.body),
        "bodyLength": len(body),
        "body": base64.b64encode(body).decode(),
        "bodySha256": hashlib.sha256(body).hexdigest() if is_long else None,
        "tagsCode": tags_code,
        "recordCrc32": crc32(record),
        "offsetMsgId": offset_message_id(stored.store_host, stored.physical_offset),
    }


def dump_queues(root: Path, topic: str | None) -> Iterator[Row]:
    """Every consume queue unit, by topic, queue id and queue offset; blanks and holes are left out."""
    readers = QueueReaders(root)
    for key in sorted(readers.by_key):
        if topic is not None and key[0] != topic:
            continue
        reader = readers.by_key[key]
        for start in range(reader.first, reader.end, UNITS_AT_A_TIME):
            units = reader.units(start, min(UNITS_AT_A_TIME, reader.end - start))
            shown = (units["record_bytes"] > 0) & ~is_blank(units)
            for row in np.flatnonzero(shown).tolist():
                physical, size, code = units[row].tolist()
                yield {
                    "topic": key[0], "queueId": key[1], "queueOffset": start + row,
                    "physicalOffset": physical, "size": size, "tagsCode": code,
                }  # fmt: skip
        reader.close()


def dump_index(root: Path, topic: str | None, findings: list[Finding]) -> Iterator[Row]:
    """Every index item, by file and number; with ``topic``, those that point to its records."""
    log = LogReader(root)
    for file in load_index(root):
        if file.header is None or (file.header.next_item > 1 and not file.slots):
            findings.append(file.find(0, "the file's header is damaged; its items cannot be told apart"))
            continue
        if not file.slots:
            continue
        items = items_of(file.data, file.slots)
        for start in range(1, file.items, ITEMS_AT_A_TIME):
            for row, values in enumerate(items[start : min(start + ITEMS_AT_A_TIME, file.items)].tolist()):
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


def dump_config(root: Path, topic: str | None, findings: list[Finding]) -> Iterator[Row]:
    """Every configuration file: its name and its content; with ``topic``, only the entries that name it."""
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
