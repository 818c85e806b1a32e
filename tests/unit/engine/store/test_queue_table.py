from __future__ import annotations

import pytest

from broker_core.engine.store.checkpoint import Checkpoint
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.queue_table import QueueManifest, QueueTable

CHECKPOINT = Checkpoint(5, 6)


@pytest.fixture
def table(tmp_path):
    return QueueTable(StorePaths(tmp_path), 200, Disk(), read_only=False)


def test_the_ends_noted_with_a_checkpoint_are_read_with_it(table):
    table.write_manifest(CHECKPOINT, QueueManifest(99, {("T", 1): 7, ("T", 0): 3, ("Empty", 0): 0}))
    assert table.read_manifest(CHECKPOINT) == QueueManifest(99, {("T", 0): 3, ("T", 1): 7})


def test_a_note_for_another_checkpoint_is_not_believed(table):
    table.write_manifest(CHECKPOINT, QueueManifest(99, {("T", 1): 7}))
    assert table.read_manifest(Checkpoint(5, 7)) is None


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b'{"checkpoint":[5,6]}', b'{"checkpoint":[5,6],"queues":[1]}'])
def test_a_missing_or_broken_note_says_nothing(table, tmp_path, data):
    if data is not None:
        (tmp_path / "orbit.queues").write_bytes(data)
    assert table.read_manifest(CHECKPOINT) is None


def test_a_queue_is_made_once(table):
    assert table.get_or_add("T", 0) is table.get_or_add("T", 0)
    assert [queue.topic for queue in table] == ["T"]


def test_the_file_size_is_that_of_the_files_there(tmp_path):
    directory = tmp_path / "consumequeue" / "T" / "0"
    directory.mkdir(parents=True)
    (directory / f"{0:020d}").write_bytes(bytes(4000))
    assert QueueTable(StorePaths(tmp_path), 200, Disk(), read_only=True).file_bytes == 4000
