"""The Dead letters page: groups, triage, notes, resends and their proof; over a fake and over a real broker."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from broker_core.api import ORIGIN_LINK, OrbitError, RemoteError, RequestCode, WorkerError
from broker_core.protocol.json_body import emit
from broker_core.worker.questions.administration import BrokerAnswer, ListMembers, Members
from broker_core.worker.questions.delays import DelayedMessages, ListDelayed
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    FieldValues,
    FindOffset,
    MessageDetail,
    ReadFields,
    ReadMessage,
    SendMessage,
    SendReceipt,
)
from gui.operations.decoding import DecoderBook
from gui.operations.requests import InTurn
from gui.theme.tokens import State
from gui.views.dead_letters.columns import state_of
from gui.views.dead_letters.notebook import NoteBook
from gui.views.dead_letters.reader import AGE_QUEUES_MAX, LETTERS_MAX, RECENT_AGAIN_MS, DeadLetterReader
from gui.views.dead_letters.view import RETRIES_AGAIN_MS, DeadLettersView
from gui.views.messages.hand_dialog import HandDialog
from gui.widgets.chip import Chip
from gui.widgets.inputs import SegmentedControl
from gui.widgets.notice import Notice, Placeholder
from monitoring.dead_letters import GroupFigures, WaitingRetry
from monitoring.letter_notes import HANDLED, OPEN, RESENT, LetterNote
from tests.support.fake_replay import replays_of
from tests.support.fake_source import TAKEN_MS, Answers, FakePending, FakeSource, fake_detail, fake_page, fake_state
from tests.support.shown_parts import search_for

pytestmark = [
    pytest.mark.qt_log_level_fail("WARNING"),
    pytest.mark.qt_log_ignore("does not support propagateSizeHints"),  # the offscreen platform, of every dialog
]

DEAD = "%DLQ%stock-worker"


class DeadSource(FakeSource):
    """A fake source whose messages are dead letters of stock-worker, and whose third delay level holds two retries."""

    made_from: str = ""

    def made_answers(self) -> Answers:
        """Those about dead letters."""
        return super().made_answers() | {
            ReadMessage: lambda one: self.detail(one.physical_offset),
            ReadFields: lambda one: self.fields(one.places),
            ListDelayed: lambda one: self.delayed(one.level),
        }

    def detail(self, physical_offset: int) -> MessageDetail:
        """A dead letter."""
        plain = fake_detail(physical_offset)
        topic = "orders" if plain.queue_offset % 5 == 0 else "inventory-reserve"
        properties = {**plain.properties, "RETRY_TOPIC": topic, "ORIGIN_MESSAGE_ID": "first"}
        if self.made_from and plain.queue_offset == 20:
            properties[ORIGIN_LINK] = self.made_from
        return replace(plain, topic=DEAD, properties=properties, reconsume_times=16, queue_id=0)

    def fields(self, places: list[int]) -> FieldValues:
        """The origins of some."""
        origins = ["orders" if place % 5 == 0 else "inventory-reserve" for place in places]
        return FieldValues([origins, [""] * len(places)], [b""] * len(places))

    def delayed(self, level: int) -> DelayedMessages | OrbitError:
        """What waits in a level."""
        there = ["%RETRY%stock-worker", "orders", "%RETRY%payment-settle"] if level == 5 else []
        rows = range(len(there))
        return DelayedMessages(
            level=level,
            queue_offset=list(rows),
            physical_offset=[900 + row for row in rows],
            due_ms=[TAKEN_MS + 1_000 * (3 - row) for row in rows],
            store_ms=[TAKEN_MS] * len(there),
            topic=there,
            queue_id=[0] * len(there),
            tag=["A"] * len(there),
            keys=[f"key-{row}" for row in rows],
            unique_key=[""] * len(there),
            body_bytes=[3] * len(there),
            reconsume_times=[3] * len(there),
            next_offset=len(there),
            max_offset=len(there) + (level == 7),
        )


@pytest.fixture
def source() -> DeadSource:
    return DeadSource(fake_state())


@pytest.fixture
def replays(source, tmp_path, monkeypatch):
    return replays_of(source, tmp_path / "replays", monkeypatch)


@pytest.fixture
def view(show_page, source, replays):
    return show_page(DeadLettersView, source)


def letter(view, offset: int):
    return next(row for row in view.letters.rows if row.letter.queue_offset == offset)


def select(view, *offsets: int) -> None:
    view.letter_grid.select_key(letter(view, offsets[0]).letter.physical_offset)
    model = view.letter_grid.view.selectionModel()
    for offset in offsets[1:]:
        row = view.letters.position_of(letter(view, offset).letter.physical_offset)
        model.select(view.letters.index(row, 0), model.SelectionFlag.Select | model.SelectionFlag.Rows)


def write(view, text: str) -> None:
    view.side.note.setText(text)
    view.side.note.editingFinished.emit()


def test_groups_are_counted_with_what_waits(view):
    rows = {row.figures.group: row for row in view.groups.rows}
    assert set(rows) == {"stock-worker", "payment-settle"}
    stock = rows["stock-worker"]
    assert (stock.figures.dead, stock.figures.members, stock.waiting) == (21, 4, 1)
    # The fake source finds every time at an offset behind the last of the 21.
    assert stock.recent == 0
    assert stock.figures.last_died_ms == TAKEN_MS - 14 * 60_000
    assert stock.oldest_ms == fake_page(fake_state(), DEAD, 0, 0, 1).store_ms[0]
    assert [chip[0] for chip in view_chips(view)] == ["33 dead", "≥ 2 waiting"]


def test_ages_that_were_not_read_are_asked_again_in_the_next_turn_or_when_all_is_read_again(show_page, source, replays):
    finds = source.answers[FindOffset]
    source.answers[FindOffset] = lambda _one: WorkerError("no offset is found")
    view = show_page(DeadLettersView, source)

    def stock():
        return next(row for row in view.groups.rows if row.figures.group == "stock-worker")

    def later(milliseconds):
        source.push_later(milliseconds)
        view.state_changed(source.state)
        return len(source.asked_for(FindOffset))

    asked = len(source.asked_for(FindOffset))
    assert later(1) == asked > 0, "one failure a turn"
    assert (stock().oldest_ms, stock().recent) == (-1, -1)
    assert later(RECENT_AGAIN_MS) == asked + 1
    source.answers[FindOffset] = finds
    view.refresh()
    assert (stock().oldest_ms > 0, stock().recent) == (True, 0)
    asked = len(source.asked_for(FindOffset))
    assert later(1) == asked, "known ages are not read again in their turn"


def test_the_ages_of_more_queues_than_are_read_at_once_stay_unknown(source, qtbot, tmp_path):
    parent = QObject()
    reader = DeadLetterReader(source, DecoderBook(tmp_path, parent), parent)
    wide = tuple((queue, 1) for queue in range(AGE_QUEUES_MAX - 1))
    groups = [GroupFigures(name, 1, ends, -1, 0, -1) for name, ends in (("a", wide), ("b", ((0, 1), (1, 1))), ("c", ((0, 1),)))]
    reader.read_ages(groups, TAKEN_MS)
    assert set(reader.recent) == {"a", "c"}
    assert len(source.asked_for(FindOffset)) == AGE_QUEUES_MAX


def without_letters(state, group: str):
    """A state in which a group has an empty dead letter topic and an empty retry topic."""
    kept = state.topic_kept_messages.copy()
    for prefix in ("%DLQ%", "%RETRY%"):
        kept[state.catalog.topics.index(prefix + group)] = 0
    return replace(state, topic_kept_messages=kept)


class NoneWaits(DeadSource):
    """No retry waits in a delay level; unless they cannot be read."""

    fails = False

    def delayed(self, level: int) -> DelayedMessages | OrbitError:
        """Nothing, or why not."""
        if self.fails:
            return WorkerError("no level is read")
        return DelayedMessages(level, *([] for _field in range(11)), next_offset=0, max_offset=0)


def with_letters(state, group: str, more: int):
    """A state in which more messages of a group died."""
    row = state.catalog.topics.index("%DLQ%" + group)
    kept, last_ms = state.topic_kept_messages.copy(), state.topic_last_store_ms.copy()
    kept[row] += more
    last_ms[row] += more
    return replace(state, topic_kept_messages=kept, topic_last_store_ms=last_ms)


def test_letters_that_died_during_a_read_are_read_after_it_without_another_state(view, source):
    group = view.group_panel.figures.group

    def reads() -> int:
        return sum(one.topic == "%DLQ%" + group and one.count == LETTERS_MAX for one in source.asked_for(BrowseQueue))

    before, source.hold = reads(), True
    view.state_changed(with_letters(source.state, group, 1))
    view.state_changed(with_letters(source.state, group, 2))
    assert reads() == before + 1, "the read goes on"
    source.hold = False
    for pending in list(source.held):
        pending.release()
    assert reads() == before + 2


def listed(view) -> set[str]:
    return {row.figures.group for row in view.groups.rows}


def test_a_group_without_dead_letters_and_retries_is_not_listed_unless_it_was_asked_for(show_page):
    view = show_page(DeadLettersView, NoneWaits(without_letters(fake_state(), "stock-worker")))
    assert listed(view) == {"payment-settle"}
    view.open({"group": "stock-worker"})
    assert listed(view) == {"payment-settle", "stock-worker"}
    assert view.group_grid.selected_row.figures.group == "stock-worker"


def test_a_group_is_listed_where_its_retries_could_not_be_read(show_page):
    source = NoneWaits(without_letters(fake_state(), "stock-worker"))
    source.fails = True
    assert listed(show_page(DeadLettersView, source)) == {"payment-settle", "stock-worker"}


def view_chips(view):
    return [(chip.text, chip.state) for chip in view.header.findChildren(Chip)]


def test_dead_letters_of_a_lost_broker_are_unknown_and_not_none(show_page, source, replays):
    state = source.state
    kept = np.where([name.startswith(("%DLQ%", "%RETRY%")) for name in state.catalog.topics], -1, state.topic_kept_messages)
    pending = np.full_like(state.delays.pending, -1)
    source.state = replace(state, topic_kept_messages=kept, delays=replace(state.delays, pending=pending))
    view = show_page(DeadLettersView, source)
    assert view_chips(view)[0] == ("— dead", State.IDLE)
    assert [(row.figures.group, row.figures.dead) for row in view.groups.rows] == [("payment-settle", -1), ("stock-worker", -1)]
    assert not view.group_grid.placeholder.isVisible()


@pytest.mark.parametrize(("notice", "shown"), [("", "2 waiting"), ("broker-a: no answer for 3 s", "≥ 2 waiting")])
def test_retries_that_some_brokers_did_not_tell_are_counted_as_a_part(show_page, source, replays, notice, shown):
    def whole(level):
        page = DeadSource.delayed(source, level)
        return replace(page, max_offset=page.next_offset, notice=notice)

    source.delayed = whole
    view = show_page(DeadLettersView, source)
    assert view_chips(view)[1][0] == shown
    view.open({"show": "retries"})
    assert ("of the brokers that answered" in view.foot.text()) is bool(notice)


def test_the_worst_group_is_shown_with_its_origins(view):
    assert view.group_grid.selected_row.figures.group == "stock-worker"
    assert len(view.letters.rows) == 21
    assert view.foot.text() == "21 dead letters · most from inventory-reserve 16, orders 5"
    assert {row.letter.tries for row in view.letters.rows} == {16}
    assert dict(view.side.facts.pairs())["Tries"] == "16"


def test_what_is_known_is_not_read_again(view, source):
    read = source.asked_for(ReadMessage)
    assert len(read) == 21
    view.state_changed(state := fake_state(TAKEN_MS + RETRIES_AGAIN_MS))
    assert len(source.asked_for(ReadMessage)) == 21
    asked_before = len(source.asked)
    view.state_changed(replace(state, taken_ms=state.taken_ms + 100))
    assert len(source.asked) == asked_before


def test_retries_are_listed_by_their_time(view):
    view.open({"show": "retries"})
    assert [(row.group, row.attempt, row.due_ms - TAKEN_MS) for row in view.retries.shown_rows] == [
        ("payment-settle", 3, 1_000),
        ("stock-worker", 3, 3_000),
    ]
    assert view.foot.text() == "only the first of each delay level are listed"


def test_a_note_is_kept_and_opens_what_was_new(view, source, show_page):
    select(view, 3)
    write(view, "warehouse 7 is closed")
    assert letter(view, 3).note.mark == OPEN
    assert state_of(letter(view, 3)) == ("Open", State.WARNING)
    again = show_page(DeadLettersView, source)
    assert letter(again, 3).note.text == "warehouse 7 is closed"


def test_what_is_being_entered_is_not_lost_to_what_arrives(view, qtbot):
    select(view, 3)
    view.side.note.setFocus()
    qtbot.waitUntil(view.side.note.hasFocus)
    view.side.note.setText("half a sen")
    view._show_side()
    assert view.side.note.text() == "half a sen"
    view.letter_grid.select_key(letter(view, 4).letter.physical_offset)
    assert view.side.note.text() == ""


def test_several_are_marked_at_once(view):
    select(view, 3, 4)
    view.mark(HANDLED)
    assert [letter(view, offset).note.mark for offset in (3, 4, 5)] == [HANDLED, HANDLED, "new"]


def test_what_two_tabs_note_is_kept_and_seen_after_a_refresh(view, source, show_page):
    first, second = (letter(view, offset).letter for offset in (3, 4))
    other = show_page(DeadLettersView, source)
    view.notes.write([first], "poison")
    other.notes.write([second], "late")
    other.notes.mark([letter(other, 3), letter(other, 5)], HANDLED)
    view.notes.mark([letter(view, 6)], HANDLED)
    view.refresh()
    assert [letter(view, offset).note.text for offset in (3, 4)] == ["poison", "late"]
    assert [letter(view, offset).note.mark for offset in (3, 5, 6)] == [HANDLED] * 3


def test_one_note_is_written_on_all_that_are_selected(view):
    select(view, 3, 4)
    assert view.side.note.placeholderText() == "A note on all 2 selected, kept on this computer"
    shown = view.letter_grid.selected_row
    view.side.note.editingFinished.emit()
    assert [letter(view, offset).note.text for offset in (3, 4)] == ["", ""], "nobody wrote anything"
    view.side.note.setText("the warehouse is closed")
    view.side.note.editingFinished.emit()
    assert [letter(view, offset).note.text for offset in (3, 4, 5)] == ["the warehouse is closed"] * 2 + [""]
    view.letter_grid.select_key(shown.letter.physical_offset)
    assert view.side.note.placeholderText() == "A note, kept on this computer"


def test_a_group_has_a_note_of_its_own(view, source):
    panel = view.group_panel
    assert panel.note.placeholderText() == "A note on all of stock-worker, kept on this computer"
    panel.note.setText("bank holiday until Monday")
    panel.note.editingFinished.emit()
    column = next(column for column in panel.model.columns if column.key == "note")
    texts = {one.figures.group: column.text(one) for one in panel.model.rows}
    assert texts["stock-worker"] == "bank holiday until Monday"
    panel.grid.select_key("payment-settle")
    assert panel.note.text() == ""
    panel.note.setText("other")
    panel.grid.select_key("stock-worker")
    assert panel.note.text() == "bank holiday until Monday"
    kept = NoteBook(source, view.context.settings, view)
    kept.read([])
    assert [kept.of_group(group) for group in ("stock-worker", "payment-settle", "nobody")] == [
        "bank holiday until Monday", "other", "",
    ]  # fmt: skip
    kept.write_group("stock-worker", "")
    assert kept.of_group("stock-worker") == ""


def test_several_are_selected_with_the_mouse(view, qtbot):
    grid = view.letter_grid.view
    for row, key in ((0, Qt.KeyboardModifier.NoModifier), (2, Qt.KeyboardModifier.ControlModifier)):
        at = grid.visualRect(view.letters.index(row, 0)).center()
        qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, key, at)
    assert view.letter_grid.selected_count == 2
    assert "2" in view.side.resend_button.text()
    view.side.marks[HANDLED].click()
    assert [one.note.mark for one in view.letters.shown_rows[:3]] == [HANDLED, "new", HANDLED]


def test_the_table_has_what_triage_needs(view):
    one = letter(view, 3)
    texts = {column.key: column.text(one) for column in view.letters.columns}
    assert {"origin", "key", "tag", "tries", "host", "body"} <= texts.keys()
    assert texts["body"]
    assert one.letter.body.startswith(texts["body"][:10])


def test_all_letters_of_the_group_are_opened_as_a_search(view, window):
    view.all_button.click()
    assert window.opened == [("messages", {"filter": 'topic = "%DLQ%stock-worker"'})]


def test_the_menu_of_a_letter_opens_its_life_gives_it_to_a_consumer_and_copies_it(view, window):
    select(view, 3, 5)
    view.letter_grid.menu_asked.emit(letter(view, 3), QPoint(10, 10))
    (menu,) = view.letter_grid.findChildren(QMenu)
    actions = {action.text(): action for action in menu.actions()}
    actions["Life line"].trigger()
    actions["Open message"].trigger()
    offset = letter(view, 3).letter.physical_offset
    assert window.opened == [("message", {"physical_offset": offset}), ("messages", {"physical_offset": offset})]
    actions["Copy rows as Markdown"].trigger()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 4
    actions["Give to one consumer…"].trigger()
    (dialog,) = view.findChildren(HandDialog)
    assert dialog.windowTitle() == "Give 2 messages to one consumer"
    dialog.reject()
    menu.close()


def test_the_filter_looks_at_notes_too(view):
    select(view, 7)
    write(view, "poison")
    view.search.searched.emit("Poison")
    assert [row.letter.queue_offset for row in view.letters.shown_rows] == [7]
    view.search.searched.emit("nothing has this")
    assert view.letters.shown_rows == []


def test_dead_letters_are_sent_to_their_group_with_links(view, source, qtbot):
    select(view, 3, 5)
    dialog = view.ask_resend()
    assert dialog.go.text() == "Resend 2 dead letters"
    dialog.go.click()
    qtbot.waitUntil(lambda: len(source.sent) == 2)
    first, second = source.sent
    assert (first.topic, second.topic) == ("%RETRY%stock-worker", "%RETRY%stock-worker")
    assert sorted((first.properties["RETRY_TOPIC"], second.properties["RETRY_TOPIC"])) == ["inventory-reserve", "orders"]
    assert "ORIGIN_MESSAGE_ID" not in first.properties
    ids = {letter(view, offset).letter.offset_message_id for offset in (3, 5)}
    assert {first.properties[ORIGIN_LINK], second.properties[ORIGIN_LINK]} == ids
    qtbot.waitUntil(lambda: {letter(view, offset).note.mark for offset in (3, 5)} == {RESENT})


def test_or_to_their_topics_and_what_was_sent_before_an_error_is_noted(view, source, qtbot):
    select(view, 3, 5)
    send, count = source.answers[SendMessage], []

    def send_one(message):
        count.append(message)
        if len(count) == 1:
            return send(message)
        return RemoteError("the broker is full")

    source.answers[SendMessage] = send_one
    view.flow.resend.make().failures.setValue(1)
    dialog = view.ask_resend()
    target = dialog.findChild(SegmentedControl)
    target.choose("topic")
    target.chosen.emit("topic")
    dialog.go.click()
    qtbot.waitUntil(lambda: "the broker is full" in dialog.error.text)
    assert sorted(message.topic for message in count) == ["inventory-reserve", "orders"]
    assert sorted(letter(view, offset).note.mark for offset in (3, 5)) == ["new", RESENT]
    dialog.cancel.click()


def test_the_proof_follows_the_offset_of_the_group(view, source, qtbot):
    select(view, 3)
    source.answers[SendMessage] = lambda _message: SendReceipt("id", 0, 900_000, TAKEN_MS)
    dialog = view.ask_resend()
    target = dialog.findChild(SegmentedControl)
    target.choose("topic")
    target.chosen.emit("topic")
    dialog.go.click()
    qtbot.waitUntil(lambda: letter(view, 3).proof == "waiting")
    assert "Not read yet" in view.side.proof_line.text()
    state = fake_state(TAKEN_MS + 200)
    view.state_changed(replace(state, position_offset=np.full_like(state.position_offset, 900_001)))
    assert letter(view, 3).proof == "consumed"
    assert state_of(letter(view, 3)) == ("Consumed", State.HEALTHY)
    source.made_from = letter(view, 3).letter.offset_message_id
    view.refresh()
    assert letter(view, 3).proof == "died again"


def test_what_the_group_failed_on_again_is_not_called_consumed(view, source):
    select(view, 3)
    resent = letter(view, 3).letter
    key = resent.properties["UNIQ_KEY"]
    view.notes.sent({resent.offset_message_id: LetterNote(RESENT, "", resent.origin_topic, 0, 0, TAKEN_MS)})
    retry = WaitingRetry(1, "stock-worker", 2, TAKEN_MS + 1_000, "", "", key)
    view.reader.retries = [replace(retry, group="payment-settle")]
    view.reader.retries_changed.emit()
    before = letter(view, 3).proof
    view.reader.retries = [retry]
    view.reader.retries_changed.emit()
    after = letter(view, 3).proof
    assert (before, after) == ("consumed", "retrying")
    assert state_of(letter(view, 3)) == ("Retrying", State.RETRY)


def test_a_failure_is_told_and_tried_again(view, source):
    source.fail_with = RemoteError("the disk is gone")
    view.refresh()
    shown = view.letter_grid.findChild(Placeholder)
    assert shown.isVisible()
    assert "could not be read" in shown.text
    source.fail_with = None
    view.refresh()
    assert not shown.isVisible()
    assert len(view.letters.rows) == 21


def test_without_dead_letters(show_page):
    state = fake_state()
    keep = [i for i, name in enumerate(state.catalog.topics) if not name.startswith("%")]
    catalog = replace(state.catalog, topics=[name if i in keep else f"t{i}" for i, name in enumerate(state.catalog.topics)])
    view = show_page(DeadLettersView, FakeSource(replace(state, catalog=catalog)))
    assert view.groups.rows == []
    assert view.letters.rows == []
    assert view.ask_resend() is None


def test_read_only_says_why(view, source):
    source.read_only = True
    select(view, 3)
    dialog = view.ask_resend()
    assert not dialog.go.isEnabled()
    dialog.cancel.click()


@pytest.mark.parametrize("name", ["groups", "letters", "retries"])
def test_models(view, qtmodeltester, name):
    qtmodeltester.check(getattr(view, name))


# ---- questions in turn ----


def test_in_turn_gives_all_answers_in_order():
    told, done = [], []
    asks = [partial(FakePending, number) for number in range(5_000)]
    InTurn(asks, lambda number, value: told.append((number, value))).then(done.append, done.append)
    assert done == [list(range(5_000))]
    assert told[-1] == (4_999, 4_999)
    InTurn([]).then(done.append, done.append)
    assert done[-1] == []


def test_in_turn_ends_with_the_first_error():
    asked, done, failed = [], [], []
    error = RemoteError("no")

    def ask(number):
        asked.append(number)
        return FakePending(number, error if number == 1 else None)

    InTurn([partial(ask, number) for number in range(3)]).then(done.append, failed.append)
    assert (asked, done, failed) == ([0, 1], [], [error])


def test_a_cut_is_saved_shown_again_and_forgotten(view, show_page, source):
    search_for(view.search, "orders")
    assert len(view.letters.shown_rows) == 5
    view.cuts.save("the orders")
    search_for(view.search, "")
    view.group_grid.select_key("payment-settle")
    again = show_page(DeadLettersView, DeadSource(fake_state()))
    again.cuts.choose("the orders")
    assert (again.group_grid.selected_row.figures.group, again.search.text()) == ("stock-worker", "orders")
    assert {row.letter.origin_topic for row in again.letters.shown_rows} == {"orders"}
    again.cuts.choose("no such cut")
    menu = again.cuts.open_menu()
    assert [action.text() for action in menu.actions() if action.text()] == ["Save this cut…", "the orders", "Forget"]
    menu.close()
    again.cuts.cuts.forget("the orders")
    assert view.cuts.cuts.all == {}


def test_cuts_have_a_bound_and_bad_settings_are_none(view, monkeypatch):
    monkeypatch.setattr("gui.operations.filter_memory.SAVED_MAX", 1)
    refused = []
    view.cuts.refused.connect(refused.append)
    view.cuts.save("one")
    view.cuts.save("one")
    view.cuts.save("two")
    assert (list(view.cuts.cuts.all), len(refused)) == (["one"], 1)
    for broken in ("[1]", "{", '{"a": 3}', '{"a": ["g"]}'):
        view.context.settings.setValue("dead_letters/cuts", broken)
        assert view.cuts.cuts.all == {}


def test_the_state_is_among_the_words(view):
    select(view, 3)
    view.mark(HANDLED)
    search_for(view.search, "handled")
    assert [row.letter.queue_offset for row in view.letters.shown_rows] == [3]


class WaitingSource(DeadSource):
    """A dead source whose waiting message failed five times, and whose group allows seven retries."""

    own_limit = ""

    def detail(self, physical_offset: int) -> MessageDetail:
        """Of a dead letter, or of the waiting message."""
        if physical_offset < 900:
            return super().detail(physical_offset)
        properties = {"MAX_RECONSUME_TIMES": self.own_limit} if self.own_limit else {}
        return replace(fake_detail(physical_offset), reconsume_times=5, properties=properties)


@pytest.fixture
def waiting():
    made = WaitingSource(fake_state())
    config = {"groupName": "payment-settle", "retryMaxTimes": 7}
    made.broker_answers[RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG] = BrokerAnswer(body=emit(config))
    return made


def ladder_of(view):
    view.open({"show": "retries"})
    view.retry_grid.select_first()
    return view.ladder.model.rows


def test_the_ladder_has_the_attempts_that_the_group_allows(show_page, waiting):
    view = show_page(DeadLettersView, waiting)
    rungs = ladder_of(view)
    assert [rung.attempt for rung in rungs] == list(range(1, 8))
    states = [view.ladder._state(rung)[1] for rung in rungs]
    assert states == [State.CRITICAL] * 4 + [State.RETRY] + [None] * 2  # as the message counts, not its delay level
    delays = list(waiting.state.delays.delay_ms)
    assert [rung.wait_ms for rung in rungs] == delays[2:9]
    assert view.ladder.note.text().startswith("payment-settle allows 7 attempts")
    assert view.ladder.isVisibleTo(view)
    view.open({"show": "letters"})
    assert view.side.isVisibleTo(view)


def test_a_limit_of_the_message_itself_counts_more(show_page, waiting):
    waiting.own_limit = "6"
    view = show_page(DeadLettersView, waiting)
    assert len(ladder_of(view)) == 6
    assert view.ladder.note.text().startswith("The message allows 6 attempts")


def test_settings_that_are_not_known_are_said_and_the_default_is_shown(show_page, waiting):
    waiting.broker_answers[RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG] = BrokerAnswer(body=b"{}")
    view = show_page(DeadLettersView, waiting)
    assert len(ladder_of(view)) == 16
    assert "is not known (the broker's answer is no group config" in view.ladder.note.text()


def test_changed_settings_are_read_after_a_refresh(show_page, waiting):
    view = show_page(DeadLettersView, waiting)
    assert len(ladder_of(view)) == 7
    config = {"groupName": "payment-settle", "retryMaxTimes": 9}
    waiting.broker_answers[RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG] = BrokerAnswer(body=emit(config))
    view.refresh()
    assert len(view.ladder.model.rows) == 9


def test_each_group_says_where_its_dead_letters_came_from_and_when_the_next_retry_comes(view, source):
    rows = {row.figures.group: row for row in view.groups.rows}
    columns = {column.key: column for column in view.groups.columns}
    stock = rows["stock-worker"]
    assert [count for _topic, count in stock.origins] == sorted((count for _topic, count in stock.origins), reverse=True)
    assert columns["origins"].text(stock).startswith(stock.origins[0][0])
    assert stock.first_due_ms == TAKEN_MS + 3_000
    assert columns["next"].text(stock) != "—"
    assert rows["payment-settle"].first_due_ms == TAKEN_MS + 1_000
    asked = len(source.asked_for(ReadFields))
    view.state_changed(replace(source.state, taken_ms=source.state.taken_ms + 100))
    assert len(source.asked_for(ReadFields)) == asked


@pytest.mark.parametrize(
    ("subscriptions", "said"),
    [
        ([{"orders": "*"}], "The subscription of stock-worker rejects 1 of 2"),
        ([{"orders": "none", "inventory-reserve": "none"}], "The subscription of stock-worker rejects 2 of 2"),
        ([{"orders": "nothing = 'x'", "inventory-reserve": "*"}], "The subscription of stock-worker rejects 1 of 2"),
        ([{"orders": "*", "inventory-reserve": "*"}], ""),
        ([], "No consumer of stock-worker is connected"),
    ],
)
def test_a_resend_says_what_the_group_would_reject_now(view, source, subscriptions, said):
    count = len(subscriptions)
    members = Members(["c"] * count, ["a"] * count, ["JAVA"] * count, ["V5"] * count, [1] * count, subscriptions)
    source.answers[ListMembers] = lambda _question: members
    select(view, 3, 5)
    dialog = view.ask_resend()
    texts = [one.text for one in dialog.findChildren(Notice)]
    assert [text for text in texts if "stock-worker" in text] == [text for text in texts if said and text.startswith(said)]
    assert any(text.startswith(said) for text in texts)
    assert any("filterSupportRetry" in text for text in texts) == (subscriptions[:1] != [] and "'x'" in str(subscriptions[0]))
    dialog.cancel.click()


def test_a_group_whose_members_cannot_be_asked_stops_no_resend(view, source):
    source.answers[ListMembers] = lambda _question: RemoteError("the broker is busy")
    select(view, 3)
    dialog = view.ask_resend()
    assert any("the broker is busy" in one.text for one in dialog.findChildren(Notice))
    assert dialog.go.isEnabled()
    dialog.cancel.click()
