"""The Messages page: rows, positions, bodies, sending; the page over a fake broker."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QPushButton

from broker_core.api import RemoteError
from broker_core.worker.questions.searches import ContinueSearch, StartSearch
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    BrowseTopic,
    FindOffset,
    MessageDetail,
    MessagePage,
    ReadMessage,
    ReadMessageById,
    SendMessage,
    TopicPage,
)
from gui.models.consumption import Consumed, Consumption
from gui.models.messages import (
    ALL_QUEUES,
    busiest_topic,
)
from gui.models.queue_window import PAGE_MESSAGES, queue_bounds
from gui.operations.search import SearchState
from gui.theme.tokens import State
from gui.views.messages.body_pane import HEX, TEXT, TREE
from gui.views.messages.columns import consumed_text, consumption_column
from gui.views.messages.copies import message_json
from gui.views.messages.json_tree import CHILDREN_MAX, JsonTreeModel
from gui.views.messages.view import BROWSE, SEARCH, MessagesView
from gui.widgets.paint import chip_width
from gui.widgets.row_painter import CELL_PADDING
from gui.words.text import UNKNOWN, TimeZoneChoice
from monitoring.sources.base import SourceStatus
from tests.support.fake_figures import grown
from tests.support.fake_source import FakeSource, fake_detail, fake_state
from tests.support.languages import shown_in
from tests.support.model_rules import hold_to_rules

STATE = fake_state()


@pytest.fixture
def make_view(show_page):
    return partial(show_page, MessagesView)


# ---- the page ----


def test_the_page_shows_the_newest_of_the_busiest_topic_and_reads_the_first(make_view):
    source = FakeSource()

    view = make_view(source)

    assert source.asked_for(BrowseTopic) == [BrowseTopic("orders", PAGE_MESSAGES)]
    assert len(view.model.rows) == PAGE_MESSAGES
    assert view.model.rows[0].store_ms >= view.model.rows[-1].store_ms
    assert view.detail.detail is not None
    assert view.detail.tabs.tabText(1) == "Properties 4"


def test_where_no_rate_is_known_no_dead_letters_are_taken_for_the_busiest_topic():
    state = fake_state()
    nothing = {"topic_put_rate": np.full_like(state.topic_put_rate, np.nan)}
    nothing["topic_kept_messages"] = np.full_like(state.topic_kept_messages, -1)
    assert not busiest_topic(replace(state, **nothing)).startswith("%")


def test_a_message_that_was_asked_for_is_not_given_up_for_the_first_of_a_page(make_view):
    source = FakeSource()
    source.hold = True
    view = make_view(source)
    view.open({"physical_offset": 4_096})
    pages = [pending for pending in source.held if pending.answers_with is TopicPage]
    pages[-1].release()
    assert view.model.rows
    assert source.asked_for(ReadMessage) == [ReadMessage(4_096)]
    (reading,) = [pending for pending in source.held if pending.answers_with is MessageDetail]
    reading.release()
    assert view.detail.detail is not None
    assert view.detail.detail.physical_offset == 4_096


def test_models_keep_qts_rules(make_view, theme):
    source = FakeSource()
    view = make_view(source)
    for model in (view.model, view.detail.properties):
        hold_to_rules(model)
    tree = JsonTreeModel()
    hold_to_rules(tree)

    tree.set_value({"a": [1, {"b": None}], "c": {}})
    view.open({"topic": "payments", "queue": 2})
    assert tree.rowCount(tree.index(0, 0)) == 2


def test_a_long_branch_of_a_tree_counts_what_it_does_not_list():
    tree = JsonTreeModel()
    tree.set_value(list(range(CHILDREN_MAX + 5)))

    root = tree.index(0, 0)

    assert tree.rowCount(root) == CHILDREN_MAX + 1
    assert tree.node(tree.index(CHILDREN_MAX, 0, root)).more == 5


def test_choosing_a_queue_shows_its_end_and_older_moves_back(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)
    end = queue_bounds(STATE, "payments", 3)[1]

    view.open({"topic": "payments", "queue": 3})
    qtbot.mouseClick(view.bar.older, Qt.MouseButton.LeftButton)

    starts = [one.start_offset for one in source.asked_for(BrowseQueue)]
    assert starts == [end - PAGE_MESSAGES, end - 2 * PAGE_MESSAGES]
    assert view.bar.newer.isEnabled()
    assert view.tab_title() == "Messages: payments"


def test_all_queues_are_paged_by_time_without_choosing_one(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)
    bar, newest = view.bar, [row.key for row in view.model.rows]
    assert not bar.slider.isVisible()
    assert not bar.offset.isVisible(), "queues have no common offset"
    assert (bar.older.isEnabled(), bar.oldest.isEnabled(), bar.newer.isEnabled()) == (True, True, False)
    assert bar.time.isEnabled()
    qtbot.mouseClick(bar.older, Qt.MouseButton.LeftButton)
    older = [row.key for row in view.model.rows]
    assert not set(older) & set(newest)
    assert bar.newer.isEnabled()
    assert bar.place.text().startswith("All queues, stored from ")
    qtbot.mouseClick(bar.newer, Qt.MouseButton.LeftButton)
    assert [row.key for row in view.model.rows] == newest
    qtbot.mouseClick(bar.oldest, Qt.MouseButton.LeftButton)
    assert min(row.queue_offset for row in view.model.rows) == 0
    assert not bar.older.isEnabled()
    bar.time.setText("-2h")
    qtbot.keyClick(bar.time, Qt.Key.Key_Return)
    assert source.asked_for(BrowseTopic)[-1] == BrowseTopic("orders", PAGE_MESSAGES, at_ms=STATE.taken_ms - 7_200_000)
    assert view.grid.selected_row == view.model.rows[-1], "the first message of that time"
    qtbot.mouseClick(bar.newest, Qt.MouseButton.LeftButton)
    assert [row.key for row in view.model.rows] == newest


def test_go_to_offset_selects_that_message(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)
    view.open({"topic": "payments", "queue": 3})

    view.bar.offset.setText("12,345")
    qtbot.keyClick(view.bar.offset, Qt.Key.Key_Return)

    assert source.asked_for(BrowseQueue)[-1] == BrowseQueue("payments", 3, 12_345, PAGE_MESSAGES)
    view.open({"topic": "payments", "queue": 3, "offset": 777})
    assert view.grid.selected_row.queue_offset == 777


def test_an_offset_that_is_no_number_is_marked_and_asks_nothing(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)
    view.open({"topic": "payments", "queue": 3})
    before = len(source.asked)

    view.bar.offset.setText("abc")
    qtbot.keyClick(view.bar.offset, Qt.Key.Key_Return)

    assert view.bar.offset.property("valid") == "false"
    assert len(source.asked) == before


def test_go_to_time_asks_for_the_offset_first(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)
    view.open({"topic": "payments", "queue": 3})

    view.bar.time.setText("-2h")
    qtbot.keyClick(view.bar.time, Qt.Key.Key_Return)

    assert source.asked_for(FindOffset) == [FindOffset("payments", 3, STATE.taken_ms - 7_200_000)]
    found = [type(question) for question in source.asked]
    assert found.index(FindOffset) < len(found) - 1 - found[::-1].index(BrowseQueue)


def test_a_stale_answer_is_cancelled_when_another_queue_is_chosen(make_view):
    source = FakeSource()
    view = make_view(source)
    source.hold = True

    view.open({"topic": "payments", "queue": 0})
    view.open({"topic": "orders", "queue": 1})
    for pending in source.held:
        pending.release()

    first, *_, last = [pending for pending in source.held if pending.answers_with is MessagePage]
    assert first.was_cancelled
    assert not last.was_cancelled
    assert {row.topic for row in view.model.rows} == {"orders"}


def test_an_error_is_said_in_place_with_a_retry(make_view):
    source = FakeSource()
    view = make_view(source)
    source.fail_with = RemoteError("the topic payments is not known to this broker")

    view.open({"topic": "payments", "queue": 0})

    assert view.grid.placeholder.text == "The messages of payments were not read."
    source.fail_with = None
    view.refresh()
    assert len(view.model.rows) == PAGE_MESSAGES


def test_new_messages_are_counted_and_shown_when_asked_for(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)
    assert view.bar.new_button.isHidden()
    view.open({"topic": "payments", "queue": 3})

    source.state = grown(STATE, "payments", 3, 12)
    view.state_changed(source.state)

    assert view.bar.new_button.text() == "12 new"
    qtbot.mouseClick(view.bar.new_button, Qt.MouseButton.LeftButton)
    assert view.model.rows[0].queue_offset == queue_bounds(STATE, "payments", 3)[1] + 11
    assert view.bar.new_button.isHidden()


def narrowed(view, text):
    view.bar.filter.set_text(text)
    view.bar.filter.submit()
    return view.narrowed


def test_a_filter_browses_by_a_search_within_the_queue(make_view):
    source = FakeSource()
    view = make_view(source)
    view.open({"topic": "payments", "queue": 2})

    hits = narrowed(view, 'tag = "PAID" or body.amount > 9')

    assert source.asked_for(StartSearch)[-1].filter == '(tag = "PAID" or body.amount > 9) and topic = "payments" and queue = 2'
    assert hits.table.isVisibleTo(view)
    assert hits.progress.isVisibleTo(view)
    assert not view.bar.time.isVisibleTo(view)
    assert not view.grid.isVisibleTo(view)


def test_another_queue_is_searched_with_the_same_filter(make_view):
    source = FakeSource()
    view = make_view(source)
    narrowed(view, 'key = "k"')

    view.bar.queue_chosen.emit("orders", 1)

    assert source.asked_for(StartSearch)[-1].filter == '(key = "k") and topic = "orders" and queue = 1'


def test_without_the_filter_the_page_of_the_queue_is_back(make_view):
    source = FakeSource()
    view = make_view(source)
    hits = narrowed(view, 'key = "k"')

    view.bar.filter.set_text("")

    assert view.grid.isVisibleTo(view)
    assert view.bar.time.isVisibleTo(view)
    assert not hits.table.isVisibleTo(view)
    assert (hits.run.state, hits.model.rowCount()) == (SearchState.NONE, 0)


def test_a_search_within_a_queue_is_repeated_as_it_was(make_view):
    source = FakeSource()
    view = make_view(source)
    source.fail_with = RemoteError("no")
    hits = narrowed(view, 'key = "k"')
    source.fail_with = None
    (retry,) = [button for button in hits.grid.findChildren(QPushButton) if button.text() == "Retry"]
    retry.click()
    first, second = [one.filter for one in source.asked_for(StartSearch)]
    assert first == second


def test_a_place_that_is_opened_is_not_hidden_by_the_filter(make_view):
    source = FakeSource()
    view = make_view(source)
    narrowed(view, 'key = "k"')

    view.open({"topic": "payments", "queue": 3, "offset": 7})

    assert (view.bar.filter.text, view.grid.isVisibleTo(view)) == ("", True)


def test_a_filter_goes_along_to_the_other_part_of_the_page(make_view):
    view = make_view(FakeSource())
    view.bar.filter.set_text('tag = "A"')
    view.tabs.setCurrentIndex(SEARCH)
    assert view.search.bar.text == 'tag = "A"'
    view.search.bar.set_text('tag = "B"')
    view.tabs.setCurrentIndex(BROWSE)
    assert view.bar.filter.text == 'tag = "A"'


def test_the_plan_of_a_filter_is_shown_while_browsing(make_view):
    source = FakeSource()
    view = make_view(source)
    view.bar.filter.set_text('key = "k"')

    view.bar.filter.submit(plan_only=True)

    assert "scan of 1 queue" in view.narrowed.progress.plan.whole_text()
    assert not source.asked_for(ContinueSearch)


def test_without_topics_the_page_says_what_to_do(make_view):
    source = FakeSource(status=SourceStatus.STARTING)

    view = make_view(source)

    assert view.grid.placeholder.text == "No topics yet. Send a message or play the demo."
    assert source.asked == []


def test_the_body_is_shown_as_tree_text_and_hex(make_view):
    pane = make_view(FakeSource()).detail

    assert pane.body.switch.current == TREE
    pane.body.choose_view(TEXT)
    assert json.loads(pane.body.text.toPlainText()) == json.loads(pane.detail.body)
    pane.body.choose_view(HEX)
    assert pane.body.hex.toPlainText().startswith("00000000  7b")


def test_the_facts_of_a_record_do_not_make_the_page_higher_than_a_window_has_room(make_view):
    pane = make_view(FakeSource()).detail

    assert len(pane.record.pairs()) > 8
    assert pane.minimumSizeHint().height() < 360


def test_bytes_that_are_no_text_are_shown_in_hexadecimal(make_view):
    pane = make_view(FakeSource()).detail

    pane.show_message(replace(fake_detail(0), body=b"\x00\x01\xfe"))

    assert pane.body.switch.current == HEX
    assert "00 01 fe" in pane.body.hex.toPlainText()
    assert json.loads(message_json(pane.detail, ("", 0), pane.body.body))["bodyHex"] == "0001fe"


def test_a_body_that_could_not_be_decompressed_says_why(make_view):
    pane = make_view(FakeSource()).detail

    pane.show_message(replace(fake_detail(0), notice="the body is not valid zlib data"))

    assert pane.body.note.whole_text() == "the body is not valid zlib data"


def test_a_message_id_is_opened(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)

    view.bar.message_id.setText(" 7F00000100002A9F0000000000000100 ")
    qtbot.keyClick(view.bar.message_id, Qt.Key.Key_Return)

    assert source.asked_for(ReadMessageById) == [ReadMessageById("7F00000100002A9F0000000000000100")]


UNIQUE_ID = "7F0000010A3C18B4AAC2A1B2C3D40001"


def test_an_id_that_names_no_place_is_looked_for_as_a_unique_id(make_view):
    source = FakeSource()
    source.fail_with = RemoteError("no message there")
    view = make_view(source)

    view.open({"message_id": UNIQUE_ID})

    assert source.asked_for(ReadMessageById) == [ReadMessageById(UNIQUE_ID)]
    assert [question.filter for question in source.asked_for(StartSearch)] == [f'id = "{UNIQUE_ID}"']
    assert view.search.bar.text == f'id = "{UNIQUE_ID}"'


@pytest.mark.parametrize(("text", "status"), [(UNIQUE_ID[:-1], SourceStatus.READY), (UNIQUE_ID, SourceStatus.LOST)])
def test_what_cannot_be_found_is_told_instead(make_view, text, status):
    source = FakeSource(status=status)
    source.fail_with = RemoteError("no message there")
    view = make_view(source)

    view.open_by_id(text)

    assert source.asked_for(StartSearch) == []
    assert view.detail.placeholder.text == "The message was not read."


def test_sending_asks_the_broker_and_shows_the_receipt(make_view, qtbot, window):
    source = FakeSource()
    view = make_view(source)
    dialog = view.ask_send()
    dialog.form.tag.setText("PAID")
    dialog.form.properties.add("region", "hz")
    dialog.form.body.setPlainText('{"a": 1}')

    qtbot.mouseClick(dialog.send_button, Qt.MouseButton.LeftButton)

    assert source.sent == [SendMessage("orders", ALL_QUEUES, b'{"a": 1}', {"region": "hz", "TAGS": "PAID"}, 0)]
    assert "Stored in orders" in dialog.receipt.text()
    qtbot.mouseClick(dialog.copy_button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() in dialog.receipt.text()
    dialog.reject()


def test_over_a_read_only_connection_nothing_is_sent(make_view, qtbot):
    source = FakeSource()
    source.read_only = True
    dialog = make_view(source).ask_send()
    dialog.form.body.setPlainText("hello")

    assert not dialog.send_button.isEnabled()
    assert "read-only" in dialog.send_button.toolTip()
    qtbot.keyClick(dialog, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert source.sent == []
    dialog.reject()


def test_broken_json_is_warned_about_but_can_be_sent(make_view):
    dialog = make_view(FakeSource()).ask_send()

    dialog.form.body.setPlainText('{"a": ')

    assert "no JSON" in dialog.form.body_note.text()
    assert dialog.send_button.isEnabled()
    dialog.form.topic_text.setText("")
    assert not dialog.send_button.isEnabled()
    dialog.reject()


def test_a_refused_message_keeps_what_was_entered(make_view, qtbot):
    source = FakeSource()
    dialog = make_view(source).ask_send()
    dialog.form.body.setPlainText("hello")
    source.fail_with = RemoteError("the broker's disk is full")

    qtbot.mouseClick(dialog.send_button, Qt.MouseButton.LeftButton)

    assert "the broker's disk is full" in dialog.error.text()
    assert dialog.form.body.toPlainText() == "hello"
    assert dialog.send_button.isEnabled()
    dialog.reject()


def test_resending_sends_the_stored_bytes_until_they_are_edited(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)
    stored = replace(fake_detail(256), body='{"城市": "杭州"}'.encode("gb18030"))
    dialog = view.sending.resend(stored)

    qtbot.mouseClick(dialog.send_button, Qt.MouseButton.LeftButton)
    dialog.form.body.setPlainText('{"城市": "上海"}')
    dialog.form.topic_text.setText("payments")
    qtbot.mouseClick(dialog.send_button, Qt.MouseButton.LeftButton)

    sent = source.sent
    assert [(message.topic, message.body) for message in sent] == [
        ("orders", stored.body),
        ("payments", '{"城市": "上海"}'.encode()),
    ]
    assert all("UNIQ_KEY" not in message.properties for message in sent)
    dialog.reject()


def test_the_zone_changes_shown_times(make_view):
    view = make_view(FakeSource())
    times: TimeZoneChoice = view.context.times
    before = view.model.index(0, 0).data()

    times.set_utc(False)

    assert view.model.index(0, 0).data() == times.shown(view.model.rows[0].store_ms, STATE.taken_ms)
    assert before.count(":") == 2


def test_texts_follow_the_language_and_the_message_stays(make_view, qapp, qtbot):
    view = make_view(FakeSource())
    shown = view.detail.detail
    with shown_in("zh"):
        with qtbot.waitSignal(view.title_changed):
            QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))

        assert view.header.title == "消息"
        assert view.bar.queue.itemText(0) == "全部队列"
        assert view.detail.tabs.tabText(0) == "消息体"
        assert view.detail.detail is shown


# ---- who has consumed them ---------------------------------------------------------------------------------------------


def consumption_of(view, place=0):
    column = next(column for column in view.model.columns if column.key == "consumption")
    message = view.model.shown_rows[place]
    return column.text(message), column.state(message), column.tip(message)


def test_the_list_says_which_groups_have_consumed_a_message(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)
    view.open({"topic": "payments", "queue": 2, "offset": 0})
    qtbot.waitUntil(lambda: bool(view.model.shown_rows))
    text, state, tip = consumption_of(view)
    assert (text, state) == ("Consumed", None)
    assert tip.startswith("payment-settle: consumed\nBy the offsets of the groups: ")
    nothing = np.zeros_like(source.state.position_offset)
    view.state_changed(replace(source.state, position_offset=nothing))
    assert consumption_of(view)[:2] == ("Not yet", State.PENDING)
    view.state_changed(replace(source.state, position_offset=nothing - 1))
    assert consumption_of(view)[:2] == (UNKNOWN, None)


def test_where_only_some_groups_are_known_to_have_consumed_it_says_how_many(make_view, qtbot):
    view = make_view(FakeSource())
    view.open({"topic": "orders", "queue": 0, "offset": 0})
    qtbot.waitUntil(lambda: bool(view.model.shown_rows) and view.model.shown_rows[0].topic == "orders")
    text, state, tip = consumption_of(view)
    assert (text, state) == ("1 of 2 groups", State.PENDING)
    assert tip.splitlines()[:2] == ["order-service: consumed", "bi-export: not known"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_chip_of_a_message_that_some_groups_have_not_consumed_is_whole(qapp, language):
    groups = [f"g{number}" for number in range(12)]
    with shown_in(language):
        text = consumed_text(Consumed(done=groups[:1], waiting=groups[1:]))
    assert chip_width(text, State.PENDING) + 2 * CELL_PADDING <= consumption_column(Consumption()).width
