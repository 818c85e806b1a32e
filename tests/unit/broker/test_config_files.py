import asyncio
import json

from broker_core.broker import config_files
from broker_core.broker.config_files import ConfigFiles
from broker_core.errors import StoreFullError
from tests.support.remoting_peer import eventually


def test_a_marked_file_is_written_and_read_again(tmp_path):
    async def scenario():
        files = ConfigFiles(tmp_path)
        files.serve("a.json", lambda: {"x": 1})
        assert files.read("a.json") == {}
        files.start()
        files.mark("a.json")
        await eventually((tmp_path / "a.json").exists)
        await files.stop()
        assert files.read("a.json") == {"x": 1}

    asyncio.run(scenario())


def test_many_changes_become_few_writes_and_the_last_is_in_the_file(tmp_path, monkeypatch):
    writes = []
    save = config_files.save_config
    monkeypatch.setattr(config_files, "save_config", lambda path, content: (writes.append(content), save(path, content)))

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
    save, faults = config_files.save_config, [StoreFullError("the disk is full")] * 2

    def failing(path, content):
        if faults:
            raise faults.pop()
        save(path, content)

    monkeypatch.setattr(config_files, "save_config", failing)

    async def scenario():
        files = ConfigFiles(tmp_path)
        files.serve("a.json", lambda: {"x": 1})
        files.start()
        files.mark("a.json")
        await eventually((tmp_path / "a.json").exists)
        await files.stop()

    asyncio.run(scenario())
    assert "the disk is full" in caplog.text
