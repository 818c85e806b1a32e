"""A full check of a closed store, from the layout of docs/spec/store.md alone: what no test of one part would notice."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from broker_core.engine.store.paths import offset_files, queue_directories
from broker_core.protocol.message.record import MAGIC_BLANK, decode_record
from broker_core.protocol.message.tags import tags_code


def log_records(root: Path) -> Iterator[tuple[int, bytes]]:
    """Physical offset and bytes of each record of a log that is sound; asserts that it is."""
    files = offset_files(root / "commitlog")
    for index, (path, base) in enumerate(files):
        data, position = path.read_bytes(), 0
        assert base == files[0][1] + index * len(data), f"{path} does not follow the file before it"
        while position + 8 <= len(data):
            size, magic = struct.unpack_from(">ii", data, position)
            if magic == MAGIC_BLANK:
                assert size == len(data) - position, f"wrong filler in {path} at {position}"
                assert index < len(files) - 1, f"a filler ends the last file {path}"
                break
            if not size and not magic:
                assert index == len(files) - 1, f"{path} ends at {position} without a filler"
                assert not any(data[position:]), f"bytes behind the end of the log in {path}"
                break
            yield base + position, data[position : position + size]
            position += size


def check_closed_store(root: Path) -> int:
    """Assert that log and queues of a store agree to the byte; returns the number of records.

    Only for stores without deleted files, deleted topics, delayed messages and further queues.
    """
    assert not (root / "abort").exists(), "the store was not closed in good order"
    expected: dict[tuple[str, int], list[bytes]] = {}
    count = 0
    for offset, data in log_records(root):
        stored = decode_record(data, check_crc=True)
        assert stored.physical_offset == offset
        count += 1
        if stored.sys_flag & 0xC in (0x0, 0x8):
            units = expected.setdefault((stored.topic, stored.queue_id), [])
            assert stored.queue_offset == len(units), f"record {offset} has queue offset {stored.queue_offset}"
            units.append(struct.pack(">qiq", offset, len(data), tags_code(stored.properties.get("TAGS"))))
    found = {}
    for topic, queue_id, directory in queue_directories(root / "consumequeue"):
        data = b"".join(path.read_bytes() for path, _ in offset_files(directory))
        found[topic, queue_id] = data
    for key, units in expected.items():
        wanted = b"".join(units)
        assert found[key][: len(wanted)] == wanted, f"units of {key} differ"
        assert not any(found[key][len(wanted) :]), f"units behind the end of {key}"
    assert {key for key, data in found.items() if any(data)} == expected.keys()
    return count
