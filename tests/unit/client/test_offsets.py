"""Offsets of broadcasting consumers in their file."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from broker_core.client.offsets import LocalOffsets, local_offsets_path
from broker_core.errors import UsageError
from broker_core.kept_file import KeptFile
from broker_core.protocol.json_body import MessageQueue

DEADLINE_S = 90
QUEUE = MessageQueue("T", "broker-a", 0)
AS_JAVA_WRITES = b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:7}}'


def run(work):
    return asyncio.run(work)


def test_offsets_are_written_as_the_java_client_writes_them_and_read_back(tmp_path):
    path = tmp_path / "client" / "group" / "offsets.json"

    async def scenario():
        offsets = LocalOffsets(path)
        assert await offsets.read(QUEUE) is None
        await offsets.write(QUEUE, 6)
        await offsets.write(QUEUE, 7)
        assert path.read_bytes() == AS_JAVA_WRITES
        assert await LocalOffsets(path).read(QUEUE) == 7

    run(scenario())
    assert path.with_name("offsets.json.bak").read_bytes() == AS_JAVA_WRITES.replace(b":7", b":6")
    assert sorted(item.name for item in path.parent.iterdir()) == ["offsets.json", "offsets.json.bak"]


def test_a_cancelled_write_does_not_overtake_the_next_one(tmp_path, monkeypatch):
    """`PushConsumer.close` cancels the commits and commits once more, while a thread may still write the former offset."""
    path = tmp_path / "offsets.json"
    begun, go_on = threading.Event(), threading.Event()
    write = KeptFile.write

    def held(file, data):
        if b":6" in data:
            begun.set()
            assert go_on.wait(DEADLINE_S)
        write(file, data)

    monkeypatch.setattr(KeptFile, "write", held)

    async def scenario():
        offsets = LocalOffsets(path)
        first = asyncio.create_task(offsets.write(QUEUE, 6))
        await asyncio.to_thread(begun.wait, DEADLINE_S)
        first.cancel()
        second = asyncio.create_task(offsets.write(QUEUE, 7))
        for _turn in range(10):
            await asyncio.sleep(0)
        ended = first.done()
        go_on.set()
        await asyncio.gather(first, second, return_exceptions=True)
        assert (ended, first.cancelled()) == (False, True), "its thread still writes"

    run(scenario())
    assert path.read_bytes() == AS_JAVA_WRITES


DAMAGE = [b"", b"{", b"nonsense", bytes(4096), AS_JAVA_WRITES[:-2], AS_JAVA_WRITES + bytes(9), b"[]", b"null", b"{}"]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_set_aside_and_the_one_before_is_used_and_stays(tmp_path, damage):
    path = tmp_path / "offsets.json"
    path.with_name("offsets.json.bak").write_bytes(AS_JAVA_WRITES)
    path.write_bytes(damage)
    assert run(LocalOffsets(path).read(QUEUE)) == 7
    assert path.read_bytes() == path.with_name("offsets.json.bak").read_bytes() == AS_JAVA_WRITES
    (kept,) = tmp_path.glob("offsets.json.damaged-*")
    assert kept.read_bytes() == damage


@pytest.mark.parametrize("damage", DAMAGE)
def test_without_a_good_one_before_the_group_does_not_begin_at_0(tmp_path, damage):
    path = tmp_path / "offsets.json"
    path.write_bytes(damage)
    with pytest.raises(UsageError, match="restore the file, or remove it"):
        run(LocalOffsets(path).read(QUEUE))
    assert path.read_bytes() == damage


def test_newer_java_clients_write_their_offsets_as_objects(tmp_path):
    path = tmp_path / "offsets.json"
    path.write_bytes(AS_JAVA_WRITES.replace(b":7", b':{"offset":9}'))
    assert run(LocalOffsets(path).read(QUEUE)) == 9


def test_files_that_cannot_be_read_are_told_and_kept(tmp_path):
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps({"offsetTable": {"x": "y"}}))
    with pytest.raises(UsageError, match=r"offsets\.json cannot be read"):
        run(LocalOffsets(path).read(QUEUE))
    assert path.exists()


def test_the_path_is_that_of_the_java_client():
    assert (
        local_offsets_path(None, "10.0.0.1@DEFAULT", "g") == Path.home() / ".rocketmq_offsets/10.0.0.1@DEFAULT/g/offsets.json"
    )
    assert local_offsets_path(Path("/x"), "a/../b", "g") == Path("/x/a_.._b/g/offsets.json")
