"""Putting the messages of a real broker's store again, at the same times and from the same hosts, gives the same bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.config import BrokerConfig, StoreConfig, with_settings
from broker_core.message.batch import BatchMember, encode_batch
from broker_core.message.model import MessageToStore, StoredMessage
from broker_core.message.record import decode_record
from broker_core.store.message_store import MessageStore
from broker_core.store.results import PutStatus
from tests.support.clock import ManualClock
from tests.support.golden import GOLDEN_NAMES, golden_store
from tests.support.store_check import log_records

FILLER_BYTES = 8
STARTS_BEHIND_0 = ("cleaned",)
KILLED = ("crash", "torn")
"""Their brokers were killed; what our recovery makes of the files is compared."""
WITH_EXTENSION = "filter"
NOT_WRITTEN = ("mappedFileSizeTimer", "mappedFileSizeConsumeQueueExt")


@pytest.fixture(scope="module", params=[name for name in GOLDEN_NAMES if name not in STARTS_BEHIND_0])
def pair(request, tmp_path_factory):
    """Name, root of the golden store, root of the store written anew."""
    golden = golden_store(request.param)
    root = golden.unpack(tmp_path_factory.mktemp("golden"))
    own = tmp_path_factory.mktemp("own") / "store"
    settings = golden.expected["settings"].items()
    sizes = {key: value for key, value in settings if ("Size" in key or "Num" in key) and not key.startswith(NOT_WRITTEN)}
    config = with_settings(BrokerConfig(store=StoreConfig(root=own)), sizes).store
    if request.param in KILLED:
        MessageStore.open(dataclasses.replace(config, root=root)).close()
    write_again(root, config)
    return request.param, root, own


def write_again(root: Path, config: StoreConfig) -> None:
    clock = ManualClock()
    with MessageStore.open(config, clock=clock) as store:
        for group in groups([decode_record(data) for _, data in log_records(root)], config.commit_log_file_bytes):
            clock.now_ms = group[0].store_timestamp_ms
            result = store.put(message(group[0])) if len(group) == 1 else store.put_batch(batch(group))
            assert (result.status, result.physical_offset) == (PutStatus.PUT_OK, group[0].physical_offset)


def groups(records: list[StoredMessage], file_bytes: int) -> Iterator[list[StoredMessage]]:
    """Single messages, and batches where a file ended earlier than a single message would have made it."""
    end, index = 0, 0
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
        body=record.body, properties=record.properties_bytes,
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


def test_the_consume_queues_are_the_same(pair):
    name, root, own = pair
    if name == WITH_EXTENSION:
        pytest.skip("its units hold addresses in a consume queue extension")
    paths = [path for path in (own / "consumequeue").rglob("*") if path.is_file()]
    assert paths
    for path in paths:
        assert path.read_bytes() == (root / path.relative_to(own)).read_bytes(), path


def test_the_index_is_the_same(pair):
    _, root, own = pair
    mine = [path.read_bytes() for path in sorted((own / "index").iterdir())]
    theirs = [path.read_bytes() for path in sorted((root / "index").iterdir())]
    assert mine
    assert mine == theirs
