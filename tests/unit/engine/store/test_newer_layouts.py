from __future__ import annotations

import pytest

from broker_core.engine.store.newer_layouts import rocksdb_directories
from broker_core.errors import ForeignStoreError
from tests.support.store_bench import message
from tests.unit.engine.store.test_recovery import all_bodies, fill, served


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("consumequeue/CURRENT", "consume queues in a RocksDB"),
        ("config/topics/CURRENT", "settings in a RocksDB"),
        ("batchconsumequeue/T/0/00000000000000000000", "batch queues of RocketMQ 5"),
    ],
)
def test_what_only_rocketmq_can_go_on_writing_is_refused_and_can_be_read(bench, name, words):
    fill(bench)
    path = bench.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"MANIFEST-000005\n")
    with pytest.raises(ForeignStoreError, match=words):
        bench.open()
    with bench.open(read_only=True) as reader:
        assert served(reader) == all_bodies()
    assert path.read_bytes() == b"MANIFEST-000005\n"


def test_what_is_beside_the_messages_is_left_alone(bench):
    fill(bench)
    for name in ("timerwheel", "timerlog/00000000000000000000", "compaction/position-checkpoint", "abort.bak"):
        path = bench.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"as it was")
    (bench.root / "batchconsumequeue").mkdir()
    with bench.open() as store:
        assert served(store) == all_bodies()
        store.put(message())
    for name in ("timerwheel", "timerlog/00000000000000000000", "compaction/position-checkpoint", "abort.bak"):
        assert (bench.root / name).read_bytes() == b"as it was"


def test_a_store_without_databases_has_none(bench):
    fill(bench, 1)
    assert rocksdb_directories(bench.root) == []
