import asyncio
import json

import pytest

from broker_core.engine.store.config_file import ConfigFile, ConfigRule
from broker_core.engine.tables import config_files
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.errors import StoreFullError
from tests.support.full_disk import largest_file
from tests.support.held_saves import HeldSaves
from tests.support.remoting_peer import eventually

RULE = ConfigRule("nothing is known")


def test_a_marked_file_is_written_and_read_again(tmp_path):
    async def scenario():
        files = ConfigFiles(tmp_path)
        files.serve("a.json", lambda: {"x": 1})
        assert files.load("a.json", dict, RULE) == {}
        files.start()
        files.mark("a.json")
        await eventually((tmp_path / "a.json").exists)
        await files.stop()
        assert files.load("a.json", dict, RULE) == {"x": 1}

    asyncio.run(scenario())


def test_a_file_that_nobody_serves_is_not_written(tmp_path, caplog):
    async def scenario():
        files = ConfigFiles(tmp_path)
        files.mark("a.json")
        await files.stop()

    asyncio.run(scenario())
    assert (list(tmp_path.iterdir()), caplog.messages) == ([], [])


def test_many_changes_become_few_writes_and_the_last_is_in_the_file(tmp_path, monkeypatch):
    writes = []
    save = ConfigFile.save
    monkeypatch.setattr(ConfigFile, "save", lambda file, content: (writes.append(content), save(file, content)))

    async def scenario():
        files, count = ConfigFiles(tmp_path), 0
        files.serve("a.json", lambda: {"x": count})
        files.start()
        for count in range(1, 1001):
            files.mark("a.json")
            if count % 100 == 0:
                await asyncio.sleep(0)
        await files.stop()
        assert json.loads((tmp_path / "a.json").read_text()) == {"x": 1000}
        assert len(writes) <= 3

    asyncio.run(scenario())


def test_a_failed_write_is_tried_again(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(config_files, "RETRY_SECONDS", 0.01)
    save, faults = ConfigFile.save, [StoreFullError("the disk is full")] * 2

    def failing(file, content):
        if faults:
            raise faults.pop()
        save(file, content)

    monkeypatch.setattr(ConfigFile, "save", failing)

    async def scenario():
        files = ConfigFiles(tmp_path)
        files.serve("a.json", lambda: {"x": 1})
        files.start()
        files.mark("a.json")
        await eventually((tmp_path / "a.json").exists)
        await files.stop()

    asyncio.run(scenario())
    assert "the disk is full" in caplog.text


def test_what_a_stop_cannot_write_is_named(tmp_path, caplog):
    async def scenario():
        files = ConfigFiles(tmp_path)
        for name in ("a.json", "b.json"):
            files.serve(name, lambda: {"x": 1})
        files.start()
        with largest_file(3):
            files.mark("a.json")
            await eventually(lambda: "it is tried again" in caplog.text)
            await files.stop()
        assert files.unwritten == ["a.json"]
        await files.stop()
        assert files.unwritten == []

    asyncio.run(scenario())
    path = tmp_path / "a.json"
    assert caplog.messages.count(f"{path} is not written at the stop: what changed since its last write is lost") == 1
    assert json.loads(path.read_text()) == {"x": 1}


@pytest.fixture
def held(monkeypatch):
    saves = HeldSaves(monkeypatch)
    saves.open.clear()
    yield saves
    saves.open.set()


class Counted:
    """Files with one table, ``a.json``, that counts its changes, and one more."""

    def __init__(self, directory):
        self.count, self.told, self.path = 0, [], directory / "a.json"
        self.files = ConfigFiles(directory)
        self.files.serve("a.json", lambda: {"x": self.count})
        self.files.serve("b.json", lambda: {"y": self.count})
        self.files.start()

    def change(self, *names):
        """Change the table and wait for it, and maybe for other files."""
        self.count += 1
        self.files.mark("a.json")
        number = self.count
        assert self.files.when_written(("a.json", *names), lambda fault: self.told.append((number, fault)))

    def stored(self):
        return json.loads(self.path.read_text())["x"]


def run_counted(directory, scenario):
    async def run():
        counted = Counted(directory)
        try:
            await scenario(counted)
        finally:
            await counted.files.stop()

    asyncio.run(run())


def test_who_waits_is_told_after_the_write_that_holds_the_change_and_two_writes_serve_all(tmp_path, held, monkeypatch):
    monkeypatch.setattr(config_files, "WRITE_INTERVAL_SECONDS", 3600)

    async def scenario(counted):
        counted.change()
        await eventually(lambda: held.writes)
        for _ in range(100):
            counted.change()
        assert not counted.told
        held.open.set()
        await eventually(lambda: len(counted.told) == 101)
        assert counted.told == [(number, None) for number in range(1, 102)]
        assert [content["x"] for _name, content in held.writes] == [1, 101]
        assert counted.stored() == 101

    run_counted(tmp_path, scenario)


def test_who_comes_while_the_change_is_being_written_is_told_with_it(tmp_path, held):
    async def scenario(counted):
        counted.change()
        await eventually(lambda: held.writes)
        assert counted.files.when_written(("a.json",), lambda fault: counted.told.append(("second", fault)))
        held.open.set()
        await eventually(lambda: len(counted.told) == 2)
        assert counted.told == [(1, None), ("second", None)]
        assert len(held.writes) == 1
        assert not counted.files.when_written(("a.json", "b.json"), counted.told.append), "nothing is left to write"

    run_counted(tmp_path, scenario)


def test_who_waits_for_two_files_is_told_after_both(tmp_path, held):
    async def scenario(counted):
        counted.files.mark("b.json")
        counted.change("b.json")
        await eventually(lambda: held.writes)
        held.open.set()
        await eventually(lambda: counted.told)
        assert sorted(name for name, _content in held.writes) == ["a.json", "b.json"]
        assert (tmp_path / "b.json").exists()

    run_counted(tmp_path, scenario)


def test_a_failed_write_is_told_once_and_the_next_who_waits_is_not_kept_until_the_next_try(tmp_path, held, monkeypatch, caplog):
    monkeypatch.setattr(config_files, "RETRY_SECONDS", 3600)
    held.faults = [StoreFullError("the disk is full")] * 2
    held.open.set()

    async def scenario(counted):
        for number in (1, 2):
            counted.change()
            await eventually(lambda number=number: len(counted.told) == number)
        assert [(number, str(fault)) for number, fault in counted.told] == [(1, "the disk is full"), (2, "the disk is full")]
        assert not counted.path.exists()
        counted.change()
        await eventually(lambda: len(counted.told) == 3)
        assert (counted.told[2], counted.stored()) == ((3, None), 3)

    with caplog.at_level("INFO"):
        run_counted(tmp_path, scenario)
    assert [record.message.count("the disk is full") for record in caplog.records if record.levelname == "ERROR"] == [1]
    assert "is written again" in caplog.text


def test_a_failed_write_that_nobody_waits_for_any_more_is_made_good(tmp_path, held, monkeypatch):
    monkeypatch.setattr(config_files, "RETRY_SECONDS", 0.01)
    held.faults = [StoreFullError("the disk is full")]
    held.open.set()

    async def scenario(counted):
        counted.change()
        await eventually(counted.path.exists)
        assert [number for number, fault in counted.told if fault is not None] == [1]

    run_counted(tmp_path, scenario)


def test_a_fault_of_ours_keeps_nobody_waiting_and_no_other_file_unwritten(tmp_path, caplog):
    async def scenario(counted):
        counted.files.serve("b.json", lambda: 1 // 0)
        counted.files.mark("b.json")
        counted.change("b.json")
        await eventually(lambda: counted.told)
        assert "ZeroDivisionError" in str(counted.told[0][1])
        assert counted.stored() == 1
        counted.files.serve("b.json", dict)

    run_counted(tmp_path, scenario)
    assert "b.json cannot be written" in caplog.text


def test_settling_tells_all_who_wait(tmp_path, held):
    async def scenario(counted):
        counted.change()
        await eventually(lambda: held.writes)
        settling = asyncio.create_task(counted.files.settle())
        held.open.set()
        await settling
        await asyncio.sleep(0)
        assert counted.told == [(1, None)]

    run_counted(tmp_path, scenario)
