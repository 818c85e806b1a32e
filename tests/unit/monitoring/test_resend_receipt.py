"""What became of dead letters, by the receipt of their replay."""

import json

import pytest

from broker_core.tools.replay.item import item_of_row
from broker_core.tools.replay.journal import ReplayJournal, ReplayPlan, Spool
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.rewrite import ReplayTarget
from monitoring.resend_receipt import UNANSWERED, Copy, ResendReceipt, read_receipt, replay_order
from monitoring.resending import ResendOutcome

IDS = ["A", "B", "C", "D"]


def lines(*values: dict) -> list[str]:
    return [json.dumps(one) + "\n" for one in values]


def sent(number: int) -> dict:
    place = {"topic": "orders", "broker": "a", "queueId": 2, "queueOffset": 40 + number, "sentAt": 5}
    return {"number": number, "status": "sent", **place}


def failed(number: int, status: str = "failed", reason: str = "full") -> dict:
    return {"number": number, "status": status, "reason": reason}


def test_before_anything_is_handed_on_all_are_left():
    assert read_receipt([], IDS) == ResendReceipt(ResendOutcome(left=("A", "B", "C", "D")))


def test_each_letter_is_in_one_part_of_the_outcome():
    text = lines({"handed": 1}, sent(0), {"handed": 2}, failed(1), {"handed": 3}, failed(2, "unknown", "no answer"))
    receipt = read_receipt(text, IDS)
    assert receipt.outcome == ResendOutcome(("A",), (("B", "full"),), (("C", "no answer"),), ("D",))
    assert receipt.copies == (Copy("A", "orders", "a", 2, 40, 5),)
    assert (receipt.failures, receipt.last_reason) == (2, "no answer")


def test_what_was_handed_on_and_has_no_answer_is_in_doubt():
    assert read_receipt(lines({"handed": 3}, sent(0)), IDS).outcome == ResendOutcome(
        ("A",), (), (("B", UNANSWERED), ("C", UNANSWERED)), ("D",)
    )


def test_what_was_held_is_surely_left():
    assert read_receipt(lines({"handed": 3}, sent(0), {"held": [1, 2]}), IDS).outcome.left == ("B", "C", "D")


def test_what_is_left_out_is_refused_and_no_failure():
    receipt = read_receipt(lines(failed(0, "skipped", "no body"), {"handed": 2}, sent(1)), IDS)
    assert (receipt.outcome.refused, receipt.failures) == ((("A", "no body"),), 0)


def test_failures_count_since_the_last_that_was_sent():
    assert read_receipt(lines(failed(0), failed(1), sent(2), failed(3)), IDS).failures == 1


def test_a_last_line_that_is_not_whole_is_left_out():
    assert read_receipt([*lines({"handed": 2}, sent(0)), '{"number": 1, "sta'], IDS).outcome.doubtful == (("B", UNANSWERED),)


@pytest.mark.parametrize(
    "places", [[(0, 5), (0, 9), (0, 7)], [(0, 9), (1, 5), (0, 7)], [(0, 5), (1, 5), (2, 5)], [(2, 9), (0, 3), (2, 1), (0, 4)]]
)
def test_letters_are_numbered_as_the_journal_numbers_them(tmp_path, places):
    rows = [
        {"topic": "%DLQ%g", "queueId": queue, "storeTimestamp": stored, "offsetMsgId": f"ID{number}", "bodyText": "x"}
        for number, (queue, stored) in enumerate(places)
    ]
    spool = Spool(tmp_path / "replay")
    for row in rows:
        spool.add(item_of_row(row, "row", 0))
    target = ReplayTarget(topic="t")
    spool.finish(ReplayPlan(source="", name_servers="", target=target, pace=Pace(), count=len(rows), body_bytes=0))
    spool.close()
    with ReplayJournal(tmp_path / "replay") as journal:
        assert [item.origin_id for _number, _order_ms, item in journal.open_items()] == replay_order(rows)
