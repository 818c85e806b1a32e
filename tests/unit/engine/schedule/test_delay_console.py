"""What people see of waiting messages, and do to them."""

import asyncio
import json
from math import isnan

import pytest

from broker_core.engine.schedule.delay_console import DelayedPlace
from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.errors import StoreError, UsageError
from tests.support.schedule_bench import ManualTimers


class Running:
    def __init__(self, bench):
        self.bench = bench
        self.timers = ManualTimers(bench.clock)
        self.files = ConfigFiles(bench.root / "config")
        self.journal = ActionJournal(bench.root / "config", clock=bench.clock)
        self.service = DelayService(
            bench.store, self.files, self.journal, clock=bench.clock, timers=self.timers, save_interval_ms=10_000
        )
        self.console = self.service.console
        self.service.start()
        self.timers.advance(0)

    def crashed(self):
        """The same store after a kill: nothing is saved at the end."""
        self.service.delivery.stop()
        self.bench.close()
        self.bench.open()
        return Running(self.bench)

    def page(self, level, start=0, count=100):
        return self.console.page_reader(level, start, count)()

    def row(self, level):
        return next(figures for figures in self.console.figures() if figures.level == level)


def run(scenario):
    asyncio.run(asyncio.wait_for(scenario(), 60))


def place(put):
    return DelayedPlace(put.queue_offset, put.physical_offset)


def test_figures_of_a_level(bench):
    async def scenario():
        running = Running(bench)
        assert [figures.level for figures in running.console.figures()] == [1, 2, 3, 4]
        empty = running.row(2)
        assert (empty.delay_ms, empty.pending, empty.next_due_ms, empty.overdue_ms) == (5_000, 0, -1, 0)
        assert isnan(empty.late_p50_ms)
        due_ms = bench.clock() + 5_000
        bench.put(2, "one")
        bench.put(2, "two")
        assert running.row(2)[:5] == (2, 5_000, 2, due_ms, 0)
        bench.store.refuse_topics = frozenset({"T"})
        running.timers.advance(5_700)
        assert (running.row(2).pending, running.row(2).overdue_ms) == (2, 700)
        bench.store.refuse_topics = frozenset()
        running.timers.advance(1_000)
        after = running.row(2)
        assert (after.pending, after.next_due_ms, after.delivered, after.skipped) == (0, -1, 2, 0)
        assert 600 <= after.late_p50_ms <= 1_700

    run(scenario)


def test_a_page_shows_where_and_when_messages_will_be_delivered(bench):
    async def scenario():
        running = Running(bench)
        put = bench.put(3, "body", topic="Orders", queue_id=2, KEYS="k1 k2", UNIQ_KEY="U")
        bench.put(3, "cannot be delivered", REAL_QID="x")
        last = bench.put(3, "last")
        page = running.page(3)
        assert page.heads[0] == (
            0, put.physical_offset, bench.clock() + 10_000, bench.clock(), "Orders", 2, "a", "k1 k2", "U", 4, 2,
        )  # fmt: skip
        assert [head.queue_offset for head in page.heads] == [0, 2]
        assert (page.unreadable, page.next_offset, page.max_offset) == (1, 3, 3)
        first = running.page(3, count=1)
        assert (len(first.heads), first.next_offset) == (1, 1)
        assert [head.physical_offset for head in running.page(3, start=first.next_offset).heads] == [last.physical_offset]
        running.timers.advance(10_000)
        assert running.page(3).heads == []
        with pytest.raises(UsageError, match="no delay level 9"):
            running.page(9)
        with pytest.raises(UsageError, match="1 to 1000"):
            running.page(3, count=1_001)

    run(scenario)


def test_a_cancelled_message_is_never_delivered_also_not_after_a_crash(bench):
    async def scenario():
        running = Running(bench)
        puts = [bench.put(3, name) for name in ("one", "two", "three")]
        acted = await running.console.act("cancel", 3, [place(puts[1]), DelayedPlace(2, 1)])
        assert (acted.done, acted.gone) == (1, [2])
        assert running.row(3).pending == 2
        assert [head.queue_offset for head in running.page(3).heads] == [0, 2]
        again = running.crashed()
        again.timers.advance(10_000)
        assert bench.bodies() == ["one", "three"]
        (entry,) = again.journal.last(10)
        assert (entry.action, entry.subject) == ("delay.cancel", "level 3")
        assert entry.details["physicalOffsets"] == [puts[1].physical_offset, 1]

    run(scenario)


def test_a_message_delivered_at_once_is_not_delivered_again_also_not_after_a_crash(bench):
    async def scenario():
        running = Running(bench)
        puts = [bench.put(3, name) for name in ("one", "two")]
        acted = await running.console.act("deliver", 3, [place(puts[1])])
        assert (acted.done, bench.bodies()) == (1, ["two"])
        assert (await running.console.act("deliver", 3, [place(puts[1])])).gone == [1]
        again = running.crashed()
        again.timers.advance(10_000)
        assert bench.bodies() == ["two", "one"]

    run(scenario)


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize(("level", "wait_ms"), [(4, 3_000), (1, 3_000), (2, 59_999), (3, 60_000)])
def test_a_moved_message_comes_at_its_new_time_earlier_or_later(bench, level, wait_ms, crash):
    async def scenario():
        running = Running(bench)
        put = bench.put(level, "moved")
        acted = await running.console.act("move", level, [place(put)], due_ms=bench.clock() + wait_ms)
        assert acted.done == 1
        assert sum(figures.pending for figures in running.console.figures()) == 1
        assert [f.next_due_ms for f in running.console.figures() if f.pending] == [bench.clock() + wait_ms]
        if crash:
            running = running.crashed()
        running.timers.advance(wait_ms - 1)
        assert bench.bodies() == []
        running.timers.advance(1)
        assert bench.bodies() == ["moved"]
        running.timers.advance(200_000)
        assert bench.bodies() == ["moved"]

    run(scenario)


def test_a_message_can_be_moved_more_than_once_and_to_the_past(bench):
    async def scenario():
        running = Running(bench)
        put = bench.put(4, "moved")
        for wait_ms in (9_000, 3_000, 30_000):
            assert (await running.console.act("move", 4, [place(put)], due_ms=bench.clock() + wait_ms)).done == 1
        running.timers.advance(29_999)
        assert bench.bodies() == []
        assert running.page(4).heads[0].due_ms == bench.clock() + 1
        await running.console.act("move", 4, [place(put)], due_ms=bench.clock() - 5)
        assert bench.bodies() == ["moved"]
        running.timers.advance(100_000)
        assert bench.bodies() == ["moved"]

    run(scenario)


def test_what_cannot_be_done_is_refused_with_figures(bench):
    async def scenario():
        running = Running(bench)
        puts = [bench.put(3, "one", topic="Free"), bench.put(3, "two")]
        with pytest.raises(UsageError, match="at most 60 s ahead"):
            await running.console.act("move", 3, [place(puts[0])], due_ms=bench.clock() + 60_001)
        with pytest.raises(UsageError, match="1 to 1000 messages, not 0"):
            await running.console.act("cancel", 3, [])
        with pytest.raises(UsageError, match="no delay level"):
            await running.console.act("cancel", 7, [place(puts[0])])
        assert running.journal.last(10) == []
        bench.store.refuse_topics = frozenset({"T"})
        with pytest.raises(StoreError, match="1 of 2 messages are done"):
            await running.console.act("deliver", 3, [place(put) for put in puts])
        assert [entry.action for entry in running.journal.last(10)] == ["delay.deliver", "delay.deliver.failed"]
        assert (bench.bodies("Free"), running.row(3).pending) == (["one"], 1)

    run(scenario)


def test_an_action_that_cannot_be_recorded_is_not_carried_out(bench, monkeypatch):
    async def scenario():
        running = Running(bench)
        put = bench.put(3, "one")

        async def refuse(*_args, **_details):
            raise StoreError("no room")

        monkeypatch.setattr(running.journal, "record", refuse)
        with pytest.raises(StoreError, match="no room"):
            await running.console.act("cancel", 3, [place(put)])
        running.timers.advance(10_000)
        assert bench.bodies() == ["one"]

    run(scenario)


def test_until_the_copy_is_on_disk_the_file_says_that_the_message_is_due(bench, monkeypatch):
    async def scenario():
        running = Running(bench)
        put = bench.put(3, "one")
        due_ms = bench.clock() + 10_000
        monkeypatch.setattr(bench.store, "when_durable", lambda _end, done: done(False))
        with pytest.raises(StoreError):
            await running.console.act("deliver", 3, [place(put)])
        assert running.service.overrides.to_json(0)["messages"][str(put.physical_offset)]["dueMs"] == due_ms
        assert not (bench.root / "config" / "orbitDelay.json").exists()

    run(scenario)


def test_the_file_is_small_and_plain(bench):
    async def scenario():
        running = Running(bench)
        put = bench.put(3, "one")
        await running.console.act("cancel", 3, [place(put)])
        written = json.loads((bench.root / "config" / "orbitDelay.json").read_text("utf-8"))
        assert written == {"messages": {str(put.physical_offset): {"level": 3, "queueOffset": 0, "dueMs": -1}}}

    run(scenario)
