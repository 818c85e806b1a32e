"""The journal of actions."""

import asyncio

import pytest

from broker_core.engine.tables.action_journal import JOURNAL_FILE, ActionJournal
from broker_core.errors import StoreError
from tests.support.clock import ManualClock


def record(journal, *actions):
    async def run():
        await asyncio.gather(*(journal.record(action, "level 3", count=2, keys=["订单"]) for action in actions))

    asyncio.run(run())


def test_actions_are_read_back_in_order(tmp_path):
    clock = ManualClock()
    journal = ActionJournal(tmp_path / "config", clock=clock)
    assert journal.last(5) == []
    record(journal, "delay.cancel")
    clock.advance(5)
    record(journal, "delay.deliver", "delay.move")
    entries = journal.last(2)
    assert [(entry.action, entry.at_ms) for entry in entries] == [
        ("delay.deliver", clock.now_ms), ("delay.move", clock.now_ms),
    ]  # fmt: skip
    assert (entries[0].subject, entries[0].details) == ("level 3", {"count": 2, "keys": ["订单"]})


def test_a_line_cut_off_by_a_crash_swallows_no_other(tmp_path):
    journal = ActionJournal(tmp_path, clock=ManualClock())
    record(journal, "first")
    with (tmp_path / JOURNAL_FILE).open("ab") as file:
        file.write(b'{"atMs":17')
    record(journal, "second")
    assert [entry.action for entry in journal.last(10)] == ["first", "second"]


def test_a_large_journal_is_put_aside(tmp_path):
    journal = ActionJournal(tmp_path, clock=ManualClock(), bytes_max=300)
    for number in range(5):
        record(journal, f"action {number}")
    assert 1 <= len(journal.last(10)) < 5
    assert journal.last(1)[0].action == "action 4"
    assert (tmp_path / f"{JOURNAL_FILE}.1").stat().st_size <= 300


def test_an_action_that_cannot_be_recorded_is_refused(tmp_path):
    (tmp_path / "config").write_text("a file in the way")
    with pytest.raises(StoreError, match="not carried out"):
        record(ActionJournal(tmp_path / "config", clock=ManualClock()), "delay.cancel")
