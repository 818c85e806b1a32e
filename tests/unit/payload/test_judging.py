"""Masks that do not end hide what they look at, and cost the thread of a window little."""

import pytest

from monitoring.payload import judging
from monitoring.payload.judging import MASK, Judge, Patience, judged
from monitoring.payload.listed import ListMask
from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import DecoderRule

ENDLESS = ("(?:a|aa)+$",)
CARD = (r"\d{16}",)
NUMBER = "4111111111111111"
SLOW = "a" * 5_000 + f" {NUMBER}"


@pytest.fixture
def told():
    return []


@pytest.fixture
def judge(told):
    return Judge(lambda: told.append("waits"), not_yet=lambda: f"{MASK}, not yet", not_ended=lambda: f"{MASK}, not ended")


def test_a_text_is_masked_whole_or_by_its_group():
    assert judged((*CARD, r"token=(\w+)"), f"card {NUMBER}, token=abc;", 60) == f"card {MASK}, token={MASK};"
    assert judged((*CARD, *ENDLESS), SLOW, 0.001) is None


def test_what_is_quickly_told_is_told_at_once(judge, told, monkeypatch):
    # Another process may take the processor for longer than a window may.
    monkeypatch.setattr(judging, "AT_ONCE_SECONDS", 60.0)
    monkeypatch.setattr(judging, "BURST_SECONDS", 1e9)
    judge = Judge(lambda: told.append("waits"), not_yet=lambda: f"{MASK}, not yet", not_ended=lambda: f"{MASK}, not ended")
    assert judge.masked(CARD, f"pay {NUMBER}") == f"pay {MASK}"
    assert judge.masked(CARD, "pay") == "pay"
    assert not told
    assert not judge.has_waiting


def test_what_does_not_end_is_hidden_meanwhile_and_at_the_end(judge, told):
    assert judge.masked(ENDLESS, SLOW) == f"{MASK}, not yet"
    assert told == ["waits"]
    judge.judge_waiting(60)
    assert not judge.has_waiting
    assert judge.masked(ENDLESS, SLOW) == f"{MASK}, not ended"
    assert told == ["waits"]


def test_what_takes_longer_than_the_window_has_is_masked_beside_it(judge, monkeypatch):
    monkeypatch.setattr(judging, "BURST_SECONDS", 0.0)  # the window has no time at all
    assert judge.masked(CARD, NUMBER) == f"{MASK}, not yet"
    judge.judge_waiting(60)
    assert judge.masked(CARD, NUMBER) == MASK


def test_a_page_of_texts_without_end_costs_the_window_a_few_of_them(judge, monkeypatch):
    tried = []

    def counted(expressions, text, seconds):
        tried.append(text)
        return judged(expressions, text, seconds)

    monkeypatch.setattr(judging, "judged", counted)
    monkeypatch.setattr(judging, "SHARE", 0.0)
    rows = [f"{SLOW}{number}" for number in range(64)]
    shown = [judge.masked(ENDLESS, row) for row in rows]
    assert shown == [f"{MASK}, not yet"] * len(rows)
    assert len(tried) <= judging.BURST_SECONDS / judging.AT_ONCE_SECONDS + 1
    assert judge.has_waiting


def test_what_waits_and_what_is_known_is_bounded(judge, monkeypatch):
    monkeypatch.setattr(judging, "BURST_SECONDS", 0.0)
    monkeypatch.setattr(judging, "WAITING_MAX", 3)
    for number in range(5):
        judge.masked(CARD, f"{number}")
    judge.judge_waiting(60)
    assert [judge.masked(CARD, f"{number}") for number in range(5)] == [f"{MASK}, not yet"] * 2 + ["2", "3", "4"]
    monkeypatch.setattr(judging, "KNOWN_CHARACTERS_MAX", 0)
    judge.judge_waiting(60)
    assert judge.masked(CARD, "4") == f"{MASK}, not yet"


def test_patience_ends_with_one_message_and_hides_the_rest_unseen(monkeypatch):
    monkeypatch.setattr(judging, "JUDGE_SECONDS", 0.001)
    patience = Patience(0.001)
    assert patience.masked(CARD, f"pay {NUMBER}") == f"pay {MASK}"
    assert [patience.masked(ENDLESS, SLOW) for _ in range(3)] == [MASK] * 3
    assert patience.masked(CARD, "pay") == MASK


def test_lists_hide_what_is_not_judged_in_every_form(judge):
    rules = MaskRules((), ENDLESS).judged_by(judge)
    assert rules == MaskRules((), ENDLESS), "the judge is no part of what is masked"
    mask = ListMask(DecoderRule("*", mask=rules))
    body = f'{{"note": "{SLOW}"}}'.encode()
    shown = [
        mask.text(SLOW), mask.preview(SLOW.encode(), len(SLOW)), mask.preview(body, len(body)), mask.beginning(body, 9_000),
        mask.field("body.note", SLOW), mask.field("key", SLOW), mask.without_hidden(body).decode(),
        mask.properties({"p": SLOW})["p"],
    ]  # fmt: skip
    assert all(MASK in text and NUMBER not in text for text in shown)
