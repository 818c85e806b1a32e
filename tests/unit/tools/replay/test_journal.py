from __future__ import annotations

import contextlib
import json

import pytest

from broker_core.errors import CodecError, UsageError
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.journal import (
    INDEX_FILE,
    PLAN_FILE,
    RECEIPT_FILE,
    SPOOL_FILE,
    Progress,
    ReplayJournal,
    ReplayPlan,
    Result,
    Spool,
)
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.rewrite import ReplayTarget
from tests.support.full_disk import largest_file


def item(number: int, stored_ms: int, queue_id: int = 0) -> ReplayItem:
    return ReplayItem("orders", queue_id, number, f"ID{number}", stored_ms, 0, 0, 0, b"%d" % number, {})


def replay_of(folder, *items: ReplayItem):
    with contextlib.closing(Spool(folder)) as spool:
        for entry in items:
            spool.add(entry)
        plan = ReplayPlan(
            source="x",
            name_servers="a:1",
            target=ReplayTarget(topic="t"),
            pace=Pace(),
            count=spool.count,
            body_bytes=spool.body_bytes,
        )
        spool.finish(plan)
    return folder


@pytest.fixture
def folder(tmp_path):
    return replay_of(tmp_path / "replay", *[item(number, 1_000 + number) for number in range(6)])


def numbers(journal: ReplayJournal) -> list[int]:
    return [number for number, _, _ in journal.open_items()]


def test_messages_come_by_store_time_those_of_a_queue_in_their_order(tmp_path):
    folder = replay_of(tmp_path / "r", item(0, 300, 1), item(1, 200, 1), item(2, 100, 2), item(3, 300, 2))
    with ReplayJournal(folder) as journal:
        assert [(order_ms, entry.queue_offset) for _, order_ms, entry in journal.open_items()] == [
            (100, 2),
            (300, 0),
            (300, 1),
            (300, 3),
        ]


def test_what_was_sent_is_not_sent_again(folder):
    with ReplayJournal(folder) as journal:
        assert not journal.is_in_doubt(0)
        journal.hand_on(range(5))
        journal.hold([4])
        journal.note([Result(0, item(0, 0), "sent"), Result(1, item(1, 0), "failed"), Result(2, item(2, 0), "skipped")])
        assert str(journal.progress) == "1 sent, 1 failed, 1 left out"
        assert journal.left == 4
    with ReplayJournal(folder) as journal:
        assert numbers(journal) == [1, 3, 4, 5]
        assert journal.progress == Progress(sent=1, skipped=1, unknown=1)
        # Refused, not sent after all, never handed on: only number 3 may be there.
        assert [number for number in range(6) if journal.is_in_doubt(number)] == [0, 2, 3]
        journal.note([Result(3, item(3, 0), "sent", {"maybeTwice": True})])
        assert journal.progress.in_doubt == 1
    with ReplayJournal(folder) as journal:
        assert str(journal.progress) == "2 sent, 1 left out, 1 may be there twice"


def test_a_message_without_an_answer_is_in_doubt(folder):
    with ReplayJournal(folder) as journal:
        journal.hand_on(range(2))
        journal.note([Result(0, item(0, 0), "unknown", {"maybeStored": True}), Result(1, item(1, 0), "failed")])
        assert str(journal.progress) == "0 sent, 1 failed, 1 without an answer may be there"
    with ReplayJournal(folder) as journal:
        assert [journal.is_in_doubt(0), journal.is_in_doubt(1)] == [True, False]
        assert str(journal.progress) == "0 sent, 1 without an answer may be there"
        journal.note([Result(0, item(0, 0), "sent", {"maybeTwice": True})])
        assert str(journal.progress) == "1 sent, 1 may be there twice"


def test_a_receipt_of_before_that_calls_it_failed_is_read(folder):
    with ReplayJournal(folder) as journal:
        journal.hand_on(range(2))
        journal.note([Result(0, item(0, 0), "failed", {"maybeStored": True}), Result(1, item(1, 0), "failed")])
    with ReplayJournal(folder) as journal:
        assert (journal.is_in_doubt(0), journal.is_in_doubt(1), journal.progress.unknown) == (True, False, 1)


def test_what_was_held_or_refused_is_in_doubt_again_once_a_later_run_sends_it(folder):
    with ReplayJournal(folder) as journal:
        journal.hand_on(range(4))
        journal.hold([2, 3])
        journal.note([Result(1, item(1, 0), "failed")])
    with ReplayJournal(folder) as journal:
        assert [journal.is_in_doubt(number) for number in range(4)] == [True, False, False, False]
        journal.hand_on([0, 1, 2])  # and killed before an answer came
        assert not journal.is_in_doubt(1)
    with ReplayJournal(folder) as journal:
        assert [journal.is_in_doubt(number) for number in range(4)] == [True, True, True, False]


def test_what_is_in_doubt_stays_so_when_it_is_held(folder):
    with ReplayJournal(folder) as journal:
        journal.hand_on(range(2))
    with ReplayJournal(folder) as journal:
        journal.hand_on(range(3))
        journal.hold([1, 2])
    with ReplayJournal(folder) as journal:
        assert [journal.is_in_doubt(number) for number in range(3)] == [True, True, False]


@pytest.mark.parametrize("damaged", [b'{"num', b"[]\n", b'{"held":[[1]]}\n'])
def test_a_damaged_line_before_results_is_refused(folder, damaged):
    with ReplayJournal(folder) as journal:
        journal.hand_on(range(2))
        journal.note([Result(0, item(0, 0), "sent"), Result(1, item(1, 0), "sent")])
    receipt = folder / RECEIPT_FILE
    lines = receipt.read_bytes().splitlines(keepends=True)
    receipt.write_bytes(lines[0] + damaged + b"".join(lines[1:]))
    with pytest.raises(CodecError, match=f"damaged line at byte {len(lines[0])}"):
        ReplayJournal(folder)
    assert receipt.read_bytes().endswith(lines[-1])


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_receipt_that_was_cut_off_goes_on_behind_its_last_whole_line(folder, cut):
    with ReplayJournal(folder) as journal:
        journal.hand_on(range(2))
        journal.note([Result(0, item(0, 0), "sent"), Result(1, item(1, 0), "sent")])
    receipt = folder / RECEIPT_FILE
    receipt.write_bytes(receipt.read_bytes()[:-cut])
    with ReplayJournal(folder) as journal:
        assert numbers(journal) == [1, 2, 3, 4, 5]
        assert journal.is_in_doubt(1)
        journal.note([Result(1, item(1, 0), "sent")])
    assert [json.loads(line).get("number") for line in receipt.read_text().splitlines()] == [None, 0, 1]


def test_one_process_at_a_time(folder):
    with ReplayJournal(folder), pytest.raises(UsageError, match="another process is at work"):
        ReplayJournal(folder)
    with ReplayJournal(folder) as journal:
        assert journal.left == 6


def test_a_folder_holds_one_replay(folder):
    with pytest.raises(UsageError, match="holds a replay already"):
        Spool(folder)


def test_without_a_plan_nothing_stays(tmp_path):
    spool = Spool(tmp_path / "new")
    spool.add(item(0, 0))
    spool.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="holds no replay"):
        ReplayJournal(tmp_path / "new")


@pytest.mark.parametrize("room", [0, 100])
def test_without_room_nothing_stays_and_the_folder_is_named(tmp_path, room):
    with largest_file(room), pytest.raises(UsageError, match=r"File too large\. Name another with --journal") as caught:
        replay_of(tmp_path / "new", item(0, 0), item(1, 0))
    assert str(tmp_path / "new") in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="Name another with --journal"):
        Spool(tmp_path / "file" / "x")


def test_damage_is_told(folder):
    whole = (folder / SPOOL_FILE).read_bytes()
    (folder / SPOOL_FILE).write_bytes(whole[:-3])
    with ReplayJournal(folder) as journal, pytest.raises(CodecError, match="hold no message"):
        list(journal.open_items())
    (folder / SPOOL_FILE).write_bytes(whole[:2])
    with ReplayJournal(folder) as journal, pytest.raises(CodecError, match="in the midst"):
        list(journal.open_items())
    index = (folder / INDEX_FILE).read_bytes()
    (folder / INDEX_FILE).write_bytes(index[:-16])
    with pytest.raises(CodecError, match="names 5 messages, the plan 6"):
        ReplayJournal(folder)
    (folder / SPOOL_FILE).unlink()
    with pytest.raises(UsageError, match="cannot be opened"):
        ReplayJournal(folder)


@pytest.mark.parametrize(
    ("plan", "fault"),
    [("{", "no JSON"), ("[]", "is none"), ('{"version":9}', "another version"), ('{"version":1}', "not whole")],
)
def test_a_plan_that_is_none(folder, plan, fault):
    (folder / PLAN_FILE).write_text(plan)
    with pytest.raises(CodecError, match=fault):
        ReplayJournal(folder)
