"""Files, restarts and the clock of the delay levels."""

import asyncio
import json
import os

import pytest

from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.schedule.overrides import Override
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.errors import CorruptStoreError, StoreError
from tests.support.schedule_bench import ManualTimers

INTERVAL_MS = 10_000


def config_of(bench, name="delayOffset.json"):
    return json.loads((bench.root / "config" / name).read_text("utf-8"))


class Running:
    """A service over the bench's store, with its files."""

    def __init__(self, bench):
        self.bench = bench
        self.timers = ManualTimers(bench.clock)
        self.files = ConfigFiles(bench.root / "config")
        self.counted = []
        self.service = DelayService(
            bench.store,
            self.files,
            ActionJournal(bench.root / "config", clock=bench.clock),
            clock=bench.clock,
            timers=self.timers,
            save_interval_ms=INTERVAL_MS,
            count=lambda topic, size: self.counted.append((topic, size > 0)),
        )

    async def stop(self):
        await self.service.stop()
        await self.files.stop()


def run(scenario):
    asyncio.run(asyncio.wait_for(scenario(), 60))


async def saved(running):
    """Wait until what was begun to be saved is saved."""
    if running.service._saving is not None:
        await running.service._saving


def reopened(bench, **more):
    bench.close()
    bench.open(**more)
    return Running(bench)


def test_progress_is_written_every_ten_seconds_and_at_the_stop(bench):
    async def scenario():
        running = Running(bench)
        running.service.start()
        bench.put(1, "one")
        bench.put(4, "minute")
        running.timers.advance(9_999)
        assert not (bench.root / "config" / "delayOffset.json").exists()
        running.timers.advance(1)
        await saved(running)
        assert config_of(bench) == {"offsetTable": {"1": 1, "4": 0}}
        assert running.counted == [("T", True)]
        bench.put(1, "two")
        running.timers.advance(1_000)
        await running.stop()
        assert config_of(bench) == {"offsetTable": {"1": 2, "4": 0}}

    run(scenario)


def test_after_a_clean_stop_nothing_is_delivered_twice(bench):
    async def scenario():
        running = Running(bench)
        running.service.start()
        bench.put(1, "one")
        bench.put(2, "two")
        running.timers.advance(1_000)
        await running.stop()
        again = reopened(bench)
        again.service.start()
        again.timers.advance(4_000)
        assert bench.bodies() == ["one", "two"]
        await again.stop()

    run(scenario)


def test_after_a_crash_before_the_progress_is_written_a_message_comes_again_and_none_is_lost(bench):
    async def scenario():
        running = Running(bench)
        running.service.start()
        bench.put(1, "one")
        running.timers.advance(1_000)
        running.service.delivery.stop()
        again = reopened(bench)
        again.service.start()
        again.timers.advance(0)
        assert bench.bodies() == ["one", "one"]
        first, second = bench.messages()
        assert (first.properties, first.queue_offset, second.queue_offset) == (second.properties, 0, 1)
        await again.stop()

    run(scenario)


@pytest.mark.parametrize(("file", "come"), [({"1": 0}, ["one", "two"]), ({"1": 1}, ["two"]), ({}, ["one", "two"])])
def test_progress_ahead_of_the_queue_or_missing(bench, file, come):
    async def scenario():
        bench.put(1, "one")
        bench.put(1, "two")
        running = Running(bench)
        write_progress(bench, file | {"40": 7})
        running.service.start()
        running.timers.advance(1_000)
        assert bench.bodies() == come
        await running.stop()
        assert config_of(bench) == {"offsetTable": {"1": 2, "40": 7}}

    run(scenario)


def write_progress(bench, offsets, *, written_ms=0):
    path = bench.root / "config" / "delayOffset.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"offsetTable": offsets}))
    os.utime(path, (written_ms / 1_000, written_ms / 1_000))


@pytest.mark.parametrize("beyond", [3, 99, (1 << 63) - 1])
def test_progress_beyond_the_queue_is_reported_and_loses_nothing_that_was_due_later(bench, beyond):
    async def scenario():
        bench.put(1, "delivered")
        bench.clock.advance(1_500)
        bench.put(1, "waits")
        write_progress(bench, {"1": beyond}, written_ms=bench.clock())
        running = Running(bench)
        running.service.start()
        running.timers.advance(1_000)
        assert bench.bodies() == ["waits"]
        (report,) = running.files.reports
        assert report == (
            f"config/delayOffset.json has delay level 1 delivered up to {beyond:,}, its queue holds 0 to 2: it goes on at 1"
        )
        await running.stop()
        assert config_of(bench) == {"offsetTable": {"1": 2}}

    run(scenario)


@pytest.mark.parametrize("file", [{"40": 7}, {}])
@pytest.mark.parametrize("crashed", [False, True])
@pytest.mark.parametrize("written_ms", [999, 1_000])
def test_a_level_without_progress_is_delivered_from_its_first_message(bench, file, crashed, written_ms):
    """After a clean end it is reported, if a message of the level was due when the file was written."""

    async def scenario():
        put_ms = bench.clock()
        bench.put(1, "one")
        write_progress(bench, file, written_ms=put_ms + written_ms)
        bench.store.ended_cleanly = not crashed
        running = Running(bench)
        running.service.start()
        running.timers.advance(1_000)
        assert bench.bodies() == ["one"]
        unknown = (
            "config/delayOffset.json has no progress of delay level 1, its queue holds 0 to 1: all of it is delivered, "
            "what was delivered before too"
        )
        assert running.files.reports == ([unknown] if written_ms == 1_000 and not crashed else [])
        await running.stop()

    run(scenario)


def test_negative_progress_is_damage(bench):
    async def scenario():
        bench.put(1, "one")
        write_progress(bench, {"1": -3})
        with pytest.raises(CorruptStoreError, match="level 1 has offset -3"):
            Running(bench).service.start()

    run(scenario)


def test_messages_of_levels_that_the_table_has_no_more_are_delivered_when_they_are_due(bench):
    async def scenario():
        bench.put(4, "minute")
        running = reopened(bench, levels="1s")
        running.service.start()
        running.timers.advance(0)
        assert list(running.service.delivery.levels) == [1, 4]
        running.timers.advance(59_999)
        assert bench.bodies() == []
        running.timers.advance(1)
        assert bench.bodies() == ["minute"]
        await running.stop()

    run(scenario)


def test_a_level_longer_than_records_are_kept_is_warned_of(bench, caplog):
    async def scenario():
        await quiet.stop()
        running = reopened(bench, levels="1s 4d")
        running.service.start()
        await running.stop()

    quiet = Running(bench)
    quiet.service.start()
    assert "fileReservedTime" not in caplog.text
    run(scenario)
    assert "waits 96 h, but records are kept for 72 h (fileReservedTime)" in caplog.text


def test_a_clock_that_is_set_is_noticed_within_a_second(bench):
    async def scenario():
        running = Running(bench)
        running.service.start()
        bench.put(4, "minute")
        running.timers.advance(1_500)
        bench.clock.advance(3_600_000)
        running.timers.advance(1_000)
        assert bench.bodies() == ["minute"]
        await running.stop()

    run(scenario)


def test_a_cancelled_message_stays_cancelled_over_restarts_and_is_forgotten_when_its_time_has_passed(bench):
    async def scenario():
        running = Running(bench)
        running.service.start()
        put = bench.put(3, "cancelled")
        running.service.overrides.set_done(put.physical_offset, Override(3, 0, -1))
        await running.service.save_overrides()
        running.service.delivery.stop()
        again = reopened(bench)
        again.service.start()
        assert again.service.overrides.is_done(put.physical_offset)
        again.timers.advance(20_000)
        await saved(again)
        assert (bench.bodies(), config_of(bench)) == ([], {"offsetTable": {"3": 1}})
        assert config_of(bench, "orbitDelay.json") == {"messages": {}}
        await again.stop()

    run(scenario)


def test_overrides_of_another_store_are_not_taken_over(bench):
    async def scenario():
        put = bench.put(3, "mine")
        (bench.root / "config").mkdir(exist_ok=True)
        table = {
            str(put.physical_offset): {"level": 3, "queueOffset": 5, "dueMs": -1},
            str(put.physical_offset + 1): {"level": 3, "queueOffset": 0, "dueMs": -1},
        }
        (bench.root / "config" / "orbitDelay.json").write_text(json.dumps({"messages": table}))
        running = Running(bench)
        running.service.start()
        running.timers.advance(10_000)
        assert bench.bodies() == ["mine"]
        await running.stop()

    run(scenario)


def test_progress_that_cannot_be_written_is_written_later(bench, monkeypatch):
    async def scenario():
        running = Running(bench)
        running.service.start()
        bench.put(1, "one")
        real = running.files.write

        async def refuse(name):
            raise StoreError("no room")

        monkeypatch.setattr(running.files, "write", refuse)
        running.timers.advance(INTERVAL_MS)
        await saved(running)
        assert not (bench.root / "config" / "delayOffset.json").exists()
        monkeypatch.setattr(running.files, "write", real)
        # Nothing new was delivered meanwhile, but the file is still behind.
        running.timers.advance(INTERVAL_MS)
        await saved(running)
        assert config_of(bench) == {"offsetTable": {"1": 1}}
        await running.stop()

    run(scenario)


def test_progress_is_not_written_while_the_log_cannot_be_synced(bench, monkeypatch):
    async def scenario():
        running = Running(bench)
        running.service.start()
        bench.put(1, "one")
        real = bench.store.when_durable
        monkeypatch.setattr(bench.store, "when_durable", lambda _end, done: done(False))
        running.timers.advance(INTERVAL_MS)
        await saved(running)
        assert not (bench.root / "config" / "delayOffset.json").exists()
        monkeypatch.setattr(bench.store, "when_durable", real)
        await running.stop()
        assert config_of(bench) == {"offsetTable": {"1": 1}}

    run(scenario)
