from __future__ import annotations

import pytest

from broker_core.engine.store.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from broker_core.engine.store.disk import Disk

EXAMPLE = bytes.fromhex("0000018bcfe575ac 0000018bcfe575ac 0000000000000000")


def test_the_example_of_the_specification(tmp_path):
    checkpoint = Checkpoint(1700000003500, 1700000003500)
    assert checkpoint.encode() == EXAMPLE.ljust(4096, b"\0")
    assert checkpoint.min_timestamp_ms == 1700000000500
    write_checkpoint(tmp_path / "checkpoint", checkpoint, Disk())
    found = read_checkpoint(tmp_path / "checkpoint")
    assert (found.physic_ms, found.logics_ms, found.index_ms) == (1700000003500, 1700000003500, 0)


def test_fields_of_later_versions_are_kept(tmp_path):
    data = EXAMPLE + bytes(range(16)) + bytes(4056)
    (tmp_path / "checkpoint").write_bytes(data)
    assert read_checkpoint(tmp_path / "checkpoint").encode() == data


@pytest.mark.parametrize("data", [None, b"", b"short"])
def test_a_missing_or_short_file_knows_nothing(tmp_path, data):
    if data is not None:
        (tmp_path / "checkpoint").write_bytes(data)
    assert read_checkpoint(tmp_path / "checkpoint") == Checkpoint()
    assert Checkpoint().min_timestamp_ms == 0
