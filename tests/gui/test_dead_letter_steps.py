"""The five steps of the Dead letters page: inspect, edit, resend, verify, close."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QLabel

from broker_core.api import ORIGIN_LINK, ConnectionLostError, OrbitError, RemoteError, open_csv, read_csv
from broker_core.worker.questions.administration import ListMembers, Members
from broker_core.worker.questions.stored_messages import MessageDetail, SendMessage, SendReceipt
from gui.views.action_dialog import ActionDialog
from gui.views.dead_letters.flow import CLOSE, EDIT, HEAD, INSPECT, RESEND, STEP_NAMES, STEPS, VERIFY, receipt_csv
from gui.views.dead_letters.view import DeadLettersView
from gui.words.broker_words import broker_text
from gui.words.text import tr
from monitoring.letter_notes import HANDLED, NEW, PARKED, RESENT, LetterNote
from monitoring.resend_receipt import UNANSWERED
from monitoring.resending import Part, ResendOutcome, ResendTarget
from tests.gui.test_dead_letters import DeadSource, letter, select
from tests.support.fake_replay import replays_of
from tests.support.fake_source import TAKEN_MS, Answers, fake_state
from tests.support.languages import shown_in
from tests.support.shown_parts import segment, segments_of

pytestmark = [
    pytest.mark.qt_log_level_fail("WARNING"),
    pytest.mark.qt_log_ignore("does not support propagateSizeHints"),  # the offscreen platform, of every dialog
]


def lines_of(path):
    """Of a receipt."""
    with open_csv(path) as file:
        return [cells for _line, cells in read_csv(file)]


class BodySource(DeadSource):
    """Dead letters with a fault in their bodies, but for every fifth, which has none."""

    store_ms: int = TAKEN_MS
    refused: frozenset[int] = frozenset()
    """Numbers of the sends that the broker refuses."""
    unanswered: frozenset[int] = frozenset()
    """Numbers of the sends that the broker ends before it answers."""

    def made_answers(self) -> Answers:
        """Those with receipts of its own."""
        return super().made_answers() | {SendMessage: lambda _message: self.receipt()}

    def detail(self, physical_offset: int) -> MessageDetail:
        """With a body of its own."""
        detail = super().detail(physical_offset)
        good = detail.queue_offset % 5 == 0
        return replace(detail, body=b'{"sku": "SKU-10027"}' if good else b'{"sku": "SKU-1OO27", "n": 2}')

    def receipt(self) -> SendReceipt | OrbitError:
        """Of the newest send."""
        number = len(self.sent) - 1
        if number in self.refused:
            return RemoteError("the broker is full")
        if number in self.unanswered:
            return ConnectionLostError("the connection to h:1 ended (closed by the peer)")
        return SendReceipt(f"id-{number}", 0, 900_000 + number, self.store_ms)


@pytest.fixture
def source():
    return BodySource(fake_state())


@pytest.fixture
def replays(source, tmp_path, monkeypatch):
    return replays_of(source, tmp_path / "replays", monkeypatch)


@pytest.fixture
def view(show_page, source, replays):
    return show_page(DeadLettersView, source)


@pytest.fixture
def flow(view):
    flow = view.flow
    flow.resend.make().rate.setValue(1_000)
    return flow


def facts(flow):
    return {key: step.fact for key, step in flow.bar.steps.items()}


def test_a_group_of_which_the_number_of_dead_letters_is_not_known_comes_first(show_page, source, replays):
    """It may have the most; a group without any would hide it."""
    kept = source.state.topic_kept_messages.copy()
    kept[source.state.catalog.topics.index("%DLQ%stock-worker")] = -1
    source.state = replace(source.state, topic_kept_messages=kept)
    view = show_page(DeadLettersView, source)
    assert view.group_grid.selected_row.figures.group == "stock-worker"
    assert "of the brokers that answered" in view.foot.text()


def test_a_list_that_is_newer_than_the_figures_says_when_it_was_read(view, source):
    state = fake_state(TAKEN_MS + 100)
    kept = np.array(state.topic_kept_messages)
    kept[state.catalog.topics.index("%DLQ%stock-worker")] -= 1
    view.state_changed(replace(state, topic_kept_messages=kept))
    assert re.match(r"21 dead letters · read \d\d:\d\d:\d\d · most from", view.foot.text())


def send_all(flow, qtbot, source, count):
    dialog = flow.ask_resend()
    closed: list[int] = []  # the dialog itself is gone soon after
    dialog.finished.connect(closed.append)
    dialog.go.click()
    qtbot.waitUntil(lambda: len(source.sent) == count and bool(closed))


def test_what_was_not_sent_is_neither_verified_nor_closed(view, flow, qtbot, source):
    select(view, 3)
    for key in (VERIFY, CLOSE):
        qtbot.mouseClick(flow.bar.steps[key], Qt.MouseButton.LeftButton)
        assert view.sides.currentWidget() is flow.sides[INSPECT]
        assert flow.bar.steps[key].toolTip() == "Send dead letters again first."
    steps = list(flow.bar.steps.values())
    steps[2].setFocus()
    qtbot.keyClick(steps[2], Qt.Key.Key_Right)
    assert steps[2].hasFocus(), "there is no step ahead that can be shown"
    send_all(flow, qtbot, source, 1)
    assert all(step.isEnabled() for step in steps)


@pytest.mark.parametrize("dead", [22, -1])
def test_more_dead_letters_than_were_read_may_be_open(view, flow, dead):
    flow.show_rows(view.letters.rows, dead)
    assert facts(flow)[CLOSE] == "≥ 21 still open"


def test_the_steps_say_what_stands_in_each(view, flow):
    select(view, 3, 5, 7)
    assert facts(flow) == {
        INSPECT: "21 dead", EDIT: "optional", RESEND: "3 selected", VERIFY: "nothing sent yet", CLOSE: "21 still open"
    }  # fmt: skip
    assert flow.bar.steps[RESEND].accessibleName() == "Step 3 of 5: Resend, 3 selected"
    assert flow.bar.current == INSPECT


def test_a_step_is_made_when_it_is_gone_to_and_knows_what_was_chosen_before(view):
    select(view, 3, 5)
    later = [view.flow.sides[step] for step in STEPS if step != INSPECT]
    assert [side.made for side in later] == [None] * 4

    view.flow.go_to(EDIT)
    view.flow.edit.make().find_text.setText("sku")
    assert [side.made for side in later[1:]] == [None] * 3
    view.flow.go_to(RESEND)

    assert view.flow.resend.make().patch.find == "sku"
    assert view.flow.resend.make().all_button.text() == "Resend 2…"


def test_each_step_has_its_side_by_mouse_and_by_keyboard(view, flow, qtbot, source):
    select(view, 3)
    send_all(flow, qtbot, source, 1)
    for key in STEPS:
        qtbot.mouseClick(flow.bar.steps[key], Qt.MouseButton.LeftButton)
        assert view.sides.currentWidget() is flow.sides[key]
    steps = list(flow.bar.steps.values())
    with qtbot.waitActive(view):
        view.activateWindow()
    steps[-1].setFocus()
    qtbot.keyClick(steps[-1], Qt.Key.Key_Left)
    assert steps[-2].hasFocus()
    qtbot.keyClick(steps[-2], Qt.Key.Key_Space)
    assert view.sides.currentWidget() is flow.sides[VERIFY]


def test_the_way_leads_from_the_letter_to_the_resend(view, flow, qtbot):
    select(view, 3)
    qtbot.mouseClick(flow.inspect.resend_button, Qt.MouseButton.LeftButton)
    assert view.sides.currentWidget() is flow.sides[RESEND]
    flow.go_to(EDIT)
    qtbot.mouseClick(flow.edit.make().next_button, Qt.MouseButton.LeftButton)
    assert view.sides.currentWidget() is flow.sides[RESEND]


def test_the_same_change_is_shown_in_one_body_and_made_in_each(view, flow, qtbot, source):
    select(view, 3, 4, 5)
    flow.go_to(EDIT)
    flow.edit.make().find_text.setText("1OO27")
    flow.edit.make().put_text.setText("10027")
    assert flow.edit.make().effect.text.startswith("Bodies that become others: 2 of 3.")
    shown = flow.edit.make().preview.toPlainText().splitlines()
    assert '-   "sku": "SKU-1OO27",' in shown
    assert '+   "sku": "SKU-10027",' in shown
    assert facts(flow)[EDIT] == "1 change staged"
    assert flow.resend.make().changes.text() == "2 bodies are edited; see the second step."
    send_all(flow, qtbot, source, 3)
    assert sorted(message.body for message in source.sent) == [b'{"sku": "SKU-10027", "n": 2}'] * 2 + [b'{"sku": "SKU-10027"}']


def test_a_change_that_breaks_json_or_changes_nothing_says_so(view, flow):
    select(view, 3)
    flow.edit.make().find_text.setText("}")
    assert "1 of them is no JSON any more." in flow.edit.make().effect.text
    flow.edit.make().find_text.setText("no such text")
    assert flow.edit.make().effect.text == "This text is in no body that can be edited."
    flow.edit.make().clear_button.click()
    assert not flow.edit.make().effect.isVisibleTo(flow.edit.make())
    assert facts(flow)[EDIT] == "optional"


def test_what_is_not_to_be_kept_is_left_out_and_said_before(view, flow, qtbot, source):
    select(view, 3)
    flow.edit.make().keeps[Part.KEYS].setChecked(False)
    dialog = flow.ask_resend()
    assert any("Keys" in shown.text() for shown in dialog.findChildren(QLabel))
    dialog.go.click()
    qtbot.waitUntil(lambda: len(source.sent) == 1)
    assert "KEYS" not in source.sent[0].properties


def test_another_topic_must_be_named(view, flow, qtbot, source):
    select(view, 3)
    flow.go_to(RESEND)
    flow.resend.make().target.choose(ResendTarget.OTHER.value)
    flow.resend.make().target.chosen.emit(ResendTarget.OTHER.value)
    assert (flow.resend.make().all_button.isEnabled(), flow.resend.make().all_button.toolTip()) == (False, "Name the topic.")
    flow.resend.make().topic.setText("orders-repaired")
    send_all(flow, qtbot, source, 1)
    assert source.sent[0].topic == "orders-repaired"


def test_one_is_sent_first_and_its_proof_is_shown(view, flow, qtbot, source):
    select(view, 3, 4, 6)
    flow.go_to(RESEND)
    flow.resend.make().target.choose(ResendTarget.TOPIC.value)
    flow.resend.make().target.chosen.emit(ResendTarget.TOPIC.value)
    qtbot.mouseClick(flow.resend.make().first_button, Qt.MouseButton.LeftButton)
    (dialog,) = view.findChildren(ActionDialog)
    assert dialog.go.text() == "Resend 1 dead letter"
    dialog.go.click()
    qtbot.waitUntil(lambda: view.sides.currentWidget() is flow.sides[VERIFY])
    assert len(source.sent) == 1
    assert len(flow.verify.make().model.rows) == 1
    assert flow.verify.make().summary.text() == "1 sent again · Not read yet 1"
    state = fake_state(TAKEN_MS + 200)
    view.state_changed(replace(state, position_offset=np.full_like(state.position_offset, 900_001)))
    assert flow.verify.make().summary.text() == "1 sent again · Consumed 1"
    assert facts(flow)[VERIFY] == "1 of 1 consumed"


def test_failures_in_a_row_end_it_and_the_receipt_tells_of_each(view, flow, qtbot, source, tmp_path):
    source.refused = frozenset(range(1, 10))
    select(view, 1, 2, 3, 4, 6)
    flow.resend.make().failures.setValue(2)
    dialog = flow.ask_resend()
    dialog.go.click()
    qtbot.waitUntil(lambda: "1 sent again, 4 not: the broker is full" in dialog.error.text)
    assert len(source.sent) == 3
    dialog.cancel.click()
    flow.go_to(VERIFY)
    assert flow.verify.make().failures.text.startswith("4 were not sent again")
    path = tmp_path / "receipt.csv"
    flow.write_receipt(path)
    qtbot.waitUntil(path.exists)
    head, *lines = lines_of(path)
    assert tuple(head) == HEAD
    outcomes = sorted(line[8] for line in lines)
    assert outcomes.count("not sent") == 2
    assert outcomes.count("not tried") == 2
    assert len(lines) == 5
    assert {line[9] for line in lines if line[8] == "not sent"} == {"the broker is full"}


def test_a_receipt_holds_no_formula_and_reads_back(view, tmp_path):
    evil = '\t=HYPERLINK("http://x")'
    (row, *_more) = view.letters.rows
    row = replace(row, letter=replace(row.letter, keys=evil))
    path = tmp_path / "receipt.csv"
    path.write_bytes(receipt_csv([row], ResendOutcome(refused=((row.letter.offset_message_id, "=1"),)), str))
    assert lines_of(path)[1][3:] == [evil, "", "", "", "", "not sent", "=1"]
    raw = path.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    assert b'"\'\t=HYPERLINK(""http://x"")"' in raw
    assert raw.endswith(b",'=1\r\n")


def test_what_no_answer_came_for_is_not_called_unsent(view, flow, qtbot, source, tmp_path):
    source.unanswered, source.refused = frozenset({1}), frozenset({2})
    select(view, 1, 2, 3, 4)
    flow.resend.make().failures.setValue(2)
    dialog = flow.ask_resend()
    dialog.go.click()
    qtbot.waitUntil(lambda: "1 sent again, 1 without an answer may be there, 2 not: the broker is full" in dialog.error.text)
    dialog.cancel.click()
    flow.go_to(VERIFY)
    told = flow.verify.make().failures.text
    assert told.startswith("2 were not sent again · 1 possibly sent again ")
    assert "the broker is full (1)" in told
    assert "the connection to h:1 ended (closed by the peer) (1)" in told
    assert "Look for their copies before you send them once more" in told
    path = tmp_path / "receipt.csv"
    flow.write_receipt(path)
    qtbot.waitUntil(path.exists)
    _head, *lines = lines_of(path)
    outcomes = sorted((line[8], line[9]) for line in lines if line[6] == "")
    assert outcomes == [
        ("no answer, may be there", "the connection to h:1 ended (closed by the peer)"),
        ("not sent", "the broker is full"),
        ("not tried", ""),
    ]


def test_once_more_in_the_same_dialog_is_for_those_that_were_not_sent(view, flow, qtbot, source):
    source.unanswered, source.refused = frozenset({1}), frozenset({2})
    select(view, 1, 2, 3, 4)
    flow.resend.make().failures.setValue(2)
    dialog = flow.ask_resend()
    dialog.go.click()
    qtbot.waitUntil(lambda: dialog.go.text() == "Resend 2 dead letters" and dialog.go.isEnabled())
    dialog.go.click()
    qtbot.waitUntil(lambda: len(flow.verify.make().outcome.sent) == 3)
    answered = {number: send.properties[ORIGIN_LINK] for number, send in enumerate(source.sent) if number not in {1, 2}}
    outcome = flow.verify.make().outcome
    assert (list(answered.values()), outcome.refused, outcome.left) == (list(outcome.sent), (), ())
    assert [message_id for message_id, _reason in outcome.doubtful] == [source.sent[1].properties[ORIGIN_LINK]]
    every = {letter(view, offset).letter.offset_message_id for offset in (1, 2, 3, 4)}
    assert every == {*outcome.sent, *(message_id for message_id, _reason in outcome.doubtful)}
    assert len(source.sent) == 5


def test_where_all_that_is_left_is_in_doubt_nothing_is_sent_once_more(view, flow, qtbot, source):
    source.unanswered = frozenset({0})
    select(view, 1)
    flow.resend.make().failures.setValue(1)
    dialog = flow.ask_resend()
    dialog.go.click()
    qtbot.waitUntil(lambda: dialog.go.toolTip() == "None is left that was surely not sent")
    assert (dialog.go.isEnabled(), len(source.sent)) == (False, 1)
    assert [reason for _id, reason in flow.verify.make().outcome.doubtful] == [
        "the connection to h:1 ended (closed by the peer)"
    ]


def test_the_reasons_of_a_resend_follow_the_language(view, flow, qtbot):
    reason = "127.0.0.1:10911 did not answer within 3,000 ms"
    flow.verify.make().show_outcome(ResendOutcome(refused=(("id", reason),)))
    assert reason in flow.verify.make().failures.text
    with shown_in("zh"):
        qtbot.waitUntil(lambda: "did not answer" not in flow.verify.make().failures.text)
        assert tr(STEP_NAMES[CLOSE]) == "结案"


@pytest.mark.parametrize(
    "reason",
    [
        UNANSWERED,
        "it was stopped before the answer came",
        "it has no body, and brokers refuse empty ones",
        "h:9876 has no topic orders-repaired: create it first. Nothing was sent",
    ],
)
def test_the_reasons_of_a_replay_are_in_the_language_of_the_window(chinese, flow, reason):
    flow.verify.make().show_outcome(ResendOutcome(doubtful=(("id", reason),)))
    assert reason not in flow.verify.make().failures.text
    assert broker_text(f"1 sent again, 4 not: {reason}") == f"已重发 1 条，4 条未重发：{broker_text(reason)}"


def test_a_resend_that_is_stopped_leaves_the_rest_untried(view, flow, qtbot, source):
    flow.resend.make().rate.setValue(1)
    select(view, 1, 2, 3)
    dialog = flow.ask_resend()
    dialog.go.click()
    qtbot.waitUntil(lambda: len(source.sent) == 1)
    stop = next(button for button in dialog.findChildren(type(flow.resend.make().all_button)) if button.text() == "Stop")
    closed: list[int] = []
    dialog.finished.connect(closed.append)
    stop.click()
    qtbot.waitUntil(lambda: bool(closed))
    assert len(source.sent) == 1
    assert (len(flow.verify.make().outcome.sent), len(flow.verify.make().outcome.left)) == (1, 2)


def test_what_was_consumed_is_marked_and_what_is_left_is_parked(view, flow, qtbot, source):
    select(view, 3, 4)
    send_all(flow, qtbot, source, 2)
    for offset in (3, 4):
        assert letter(view, offset).note.mark == RESENT
    resent = letter(view, 3)
    view.notes.sent({resent.letter.offset_message_id: LetterNote(RESENT, "", "inventory-reserve", 0, 0, TAKEN_MS)})
    assert letter(view, 3).proof == "consumed"
    flow.go_to(CLOSE)
    assert flow.close.make().handled_button.text() == "Mark 1 as handled"
    flow.close.make().handled_button.click()
    assert letter(view, 3).note.mark == HANDLED
    assert letter(view, 7).note.mark == NEW
    flow.close.make().parked_button.click()
    assert {row.note.mark for row in view.letters.rows} == {HANDLED, PARKED}
    assert facts(flow)[CLOSE] == "0 still open"
    assert flow.bar.steps[CLOSE].is_done
    assert not flow.close.make().parked_button.isEnabled()


def test_the_subscription_of_the_group_is_said_before_it_is_asked_for(view, flow, source, qtbot):
    members = Members(["c"], ["a"], ["JAVA"], ["V5"], [1], [{"orders": "*", "inventory-reserve": "*"}])
    source.answers[ListMembers] = lambda _question: members
    select(view, 3, 5)
    flow.go_to(RESEND)
    qtbot.waitUntil(lambda: flow.resend.make().audience.text == "stock-worker takes all of them by its subscription")


def test_another_group_begins_anew(view, flow):
    select(view, 3)
    flow.go_to(EDIT)
    flow.edit.make().find_text.setText("sku")
    view.group_grid.select_key("payment-settle")
    assert flow.bar.current == INSPECT
    assert flow.edit.make().patch.find == ""


def test_the_steps_are_those_of_dead_letters_alone(view, flow):
    view.open({"show": "retries"})
    assert not flow.bar.isVisible()
    assert view.sides.currentWidget() is view.ladder
    view.open({"show": "letters"})
    assert flow.bar.isVisible()
    assert view.sides.currentWidget() is flow.inspect
    view.open({"show": "retries"})
    view.open({"show": "close"})
    assert view.sides.currentWidget() is flow.sides[CLOSE]
    assert flow.bar.current == CLOSE


# ---- one body, written anew ---------------------------------------------------------------------------------------------


def write_anew(flow, body):
    flow.go_to(EDIT)
    segment(flow.edit.make().mode, "Rewrite").click()
    flow.edit.make().editor.setPlainText(body)


def test_one_body_is_written_anew_with_what_changes_and_sent_so(view, flow, qtbot, source):
    select(view, 3)
    write_anew(flow, '{"sku": "SKU-10027", "n": 2}')
    assert flow.edit.make().editor.isVisible()
    assert not flow.edit.make().find_text.isVisible()
    assert flow.edit.make().preview.toPlainText().splitlines() == [
        "  {", '-   "sku": "SKU-1OO27",', '+   "sku": "SKU-10027",', '    "n": 2', "  }",
    ]  # fmt: skip
    assert flow.edit.make().effect.text == "Bodies that become others: 1 of 1."
    assert flow.edit.make().subtitle == "its body rewritten"
    send_all(flow, qtbot, source, 1)
    assert [message.body for message in source.sent] == [b'{"sku": "SKU-10027", "n": 2}']


def test_a_body_that_nobody_changed_goes_as_it_is_stored(view, flow, qtbot, source):
    select(view, 3)
    write_anew(flow, "something else")
    flow.edit.make().editor.setPlainText('{"sku": "SKU-1OO27", "n": 2}')
    assert not flow.edit.make().patch.is_any
    send_all(flow, qtbot, source, 1)
    assert [message.body for message in source.sent] == [b'{"sku": "SKU-1OO27", "n": 2}']


def test_what_was_written_stays_with_its_letter(view, flow):
    select(view, 3)
    write_anew(flow, "of the third")
    select(view, 4)
    assert flow.edit.make().editor.toPlainText() == '{"sku": "SKU-1OO27", "n": 2}'
    assert not flow.resend.make().patch.is_any
    select(view, 3)
    assert flow.edit.make().editor.toPlainText() == "of the third"
    assert flow.resend.make().patch.written == "of the third"
    flow.edit.make().clear_button.click()
    assert not flow.resend.make().patch.is_any
    assert flow.edit.make().editor.toPlainText() == '{"sku": "SKU-1OO27", "n": 2}'


def test_of_several_letters_none_is_written_anew_and_an_empty_body_is_not_sent(view, flow, source):
    select(view, 3, 4)
    flow.go_to(EDIT)
    segment(flow.edit.make().mode, "Rewrite").click()
    assert flow.edit.make().effect.text == "One body at a time is rewritten: choose one dead letter."
    assert flow.edit.make().find_text.isVisible()
    select(view, 3)
    write_anew(flow, "")
    assert flow.edit.make().effect.text == "Brokers refuse a message without a body."
    assert not flow.edit.make().next_button.isEnabled()
    flow.go_to(RESEND)
    assert flow.ask_resend() is None
    assert flow.bar.current == EDIT
    assert source.sent == []


def test_json_is_laid_out_on_demand_and_what_breaks_it_is_told(view, flow, qtbot):
    select(view, 3)
    write_anew(flow, '{"sku": 1}')
    edit = flow.edit.make()
    qtbot.mouseClick(edit.layout_button, Qt.MouseButton.LeftButton)
    assert edit.patch.written == '{\n  "sku": 1\n}'
    assert not edit.layout_button.isEnabled()
    edit.editor.setPlainText(r'{"n":23958446825181076828,"c":0.10,"e":1E400,"f":-0,"k":1,"k":2,"s":"\ud800"}')
    qtbot.mouseClick(edit.layout_button, Qt.MouseButton.LeftButton)
    assert [line.strip() for line in edit.patch.written.splitlines()[1:-1]] == [
        '"n": 23958446825181076828,', '"c": 0.10,', '"e": 1E400,', '"f": -0,', '"k": 1,', '"k": 2,', r'"s": "\ud800"',
    ]  # fmt: skip
    edit.editor.setPlainText('{"sku": ')
    assert "no JSON any more" in edit.effect.text


def test_all_that_can_be_chosen_fits_into_the_pane(view, flow, qtbot):
    select(view, 3)
    write_anew(flow, "x")
    boxes = [*flow.edit.make().keeps.values(), *segments_of(flow.edit.make().mode)]
    qtbot.waitUntil(lambda: all(box.isVisible() for box in boxes))
    for box in boxes:
        assert box.width() >= box.sizeHint().width(), box.text()
        assert flow.edit.make().rect().contains(QRect(box.mapTo(flow.edit.make(), QPoint()), box.size()))
