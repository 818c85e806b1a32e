"""Putting the messages of a real broker's store again, at the same times and from the same hosts, gives the same bytes."""

from __future__ import annotations

import dataclasses
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.config import BrokerConfig, StoreConfig, with_settings
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import PutStatus
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.model import MessageToStore, StoredMessage
from broker_core.protocol.message.record import decode_record
from tests.support.clock import ManualClock
from tests.support.golden import GOLDEN_NAMES, golden_store
from tests.support.store_check import log_records

FILLER_BYTES = 8
CLEANED = "cleaned"
"""Its log does not start at 0: what the broker had deleted is not there to be put again."""
KILLED = ("crash", "torn")
"""Their brokers were killed; what our recovery makes of the files is compared."""
NOT_WRITTEN = ("mappedFileSizeTimer",)
ON_OFF = ("enableConsumeQueueExt", "enableLmq", "enableMultiDispatch")
MULTI_QUEUE_OFFSET = b"\x02INNER_MULTI_QUEUE_OFFSET\x01"


@pytest.fixture(scope="module", params=GOLDEN_NAMES)
def pair(request, tmp_path_factory):
    """Name, root of the golden store, root of the store written anew."""
    golden = golden_store(request.param)
    root = golden.unpack(tmp_path_factory.mktemp("golden"))
    own = tmp_path_factory.mktemp("own") / "store"
    settings = golden.expected["settings"].items()
    values = {
        key: value
        for key, value in settings
        if ("Size" in key or "Num" in key or key in ON_OFF) and not key.startswith(NOT_WRITTEN)
    }
    config = with_settings(BrokerConfig(store=StoreConfig(root=own)), values).store
    if request.param in KILLED:
        MessageStore.open(dataclasses.replace(config, root=root)).close()
    if request.param == CLEANED:
        shutil.copytree(root, own)
        lose_the_log(own)
    write_again(root, config)
    return request.param, root, own


def lose_the_log(root: Path) -> None:
    """Leave a log that is as long as what was deleted, and empty; queues and index are cut there when it is opened."""
    for number, path in enumerate(sorted((root / "commitlog").iterdir())):
        if number:
            path.unlink()
        else:
            path.write_bytes(bytes(path.stat().st_size))
    (root / "abort").touch()


def bitmaps(root: Path) -> dict[bytes, bytes]:
    """Filter bits of each message that has some, by its unique key."""
    found: dict[bytes, bytes] = {}
    for directory in sorted((root / "consumequeue_ext").glob("*/*")):
        topic, number = directory.parent.name, directory.name
        units = b"".join(path.read_bytes() for path in sorted((root / "consumequeue" / topic / number).iterdir()))
        data = b"".join(path.read_bytes() for path in sorted(directory.iterdir()))
        records = dict(log_records(root))
        for physical, size, address in struct.iter_unpack(">qiq", units):
            if size:
                (count,) = struct.unpack_from(">h", data, address + (1 << 63) + 18)
                at = address + (1 << 63) + 20
                found[decode_record(records[physical]).properties_bytes] = data[at : at + count]
    return found


def write_again(root: Path, config: StoreConfig) -> None:
    clock, bits = ManualClock(), bitmaps(root)
    with MessageStore.open(config, clock=clock) as store:
        store.set_filter_bits(lambda _topic, properties, _code: bits[properties])
        for group in groups([decode_record(data) for _, data in log_records(root)], config.commit_log_file_bytes):
            clock.now_ms = group[0].store_timestamp_ms
            result = store.put(message(group[0])) if len(group) == 1 else store.put_batch(batch(group))
            assert (result.status, result.physical_offset) == (PutStatus.PUT_OK, group[0].physical_offset)


def groups(records: list[StoredMessage], file_bytes: int) -> Iterator[list[StoredMessage]]:
    """Single messages, and batches where a file ended earlier than a single message would have made it."""
    end, index = records[0].physical_offset, 0
    while index < len(records):
        first = records[index]
        count = 1
        if first.physical_offset > end and end % file_bytes + first.store_size + FILLER_BYTES <= file_bytes:
            same = (first.topic, first.queue_id, first.store_timestamp_ms, first.born_timestamp_ms)
            while index + count < len(records) and same == (
                records[index + count].topic, records[index + count].queue_id,
                records[index + count].store_timestamp_ms, records[index + count].born_timestamp_ms,
            ):  # fmt: skip
                count += 1
        group = records[index : index + count]
        yield group
        index += count
        end = group[-1].physical_offset + group[-1].store_size


def message(record: StoredMessage) -> MessageToStore:
    return MessageToStore(
        topic=record.topic, queue_id=record.queue_id, flag=record.flag, sys_flag=record.sys_flag,
        born_timestamp_ms=record.born_timestamp_ms, born_host=record.born_host, store_host=record.store_host,
        reconsume_times=record.reconsume_times, prepared_transaction_offset=record.prepared_transaction_offset,
        body=record.body, properties=record.properties_bytes.partition(MULTI_QUEUE_OFFSET)[0],
    )  # fmt: skip


def batch(records: list[StoredMessage]) -> MessageToStore:
    common = message(records[0])
    members = [BatchMember(record.flag, record.body, record.properties_bytes) for record in records]
    values = {name: getattr(common, name) for name in MessageToStore.__slots__}
    return MessageToStore(**(values | {"body": encode_batch(members), "properties": b""}))


def test_the_commit_log_is_the_same(pair):
    _, root, own = pair
    assert list(log_records(own)) == list(log_records(root))
    for path in sorted((own / "commitlog").iterdir()):
        assert path.read_bytes() == (root / "commitlog" / path.name).read_bytes()


@pytest.mark.parametrize("part", ["consumequeue", "consumequeue_ext"])
def test_the_consume_queues_are_the_same(pair, part):
    name, root, own = pair
    written = [path.relative_to(own) for path in sorted((own / part).rglob("*")) if path.is_file()]
    assert bool(written) == (part == "consumequeue" or name == "filter")
    for path in written:
        assert (own / path).read_bytes() == (root / path).read_bytes(), path
    assert set(files_with_content(root, part)) <= set(written)


def files_with_content(root: Path, part: str) -> list[Path]:
    """A real broker also makes files that it then does not use."""
    paths = [path for path in sorted((root / part).rglob("*")) if path.is_file() and any(path.read_bytes())]
    return [path.relative_to(root) for path in paths]


def test_the_index_is_the_same(pair):
    _, root, own = pair
    mine = [path.read_bytes() for path in sorted((own / "index").iterdir())]
    theirs = [path.read_bytes() for path in sorted((root / "index").iterdir())]
    assert mine
    assert mine == theirs
