"""The page of one topic, its settings, and what the list of topics asks of them; over a fake broker."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QKeySequence, QShortcut

from broker_core.api import RemoteError, RequestCode
from broker_core.protocol.json_body import emit
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, MeasureTopics
from broker_core.worker.questions.history import ReadHistory
from gui.models.favourites import Favourites
from gui.models.topic_queues import topic_queue_rows
from gui.models.topics import GroupOnTopic, groups_by_topic
from gui.operations.topic_facts import MEASURED_FOR_MS
from gui.theme.tokens import State
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.topics.columns import FAVOURITES, all_groups_text, groups_text
from gui.views.topics.settings import read_attributes
from gui.views.topics.topic_view import TABS, TopicView
from gui.views.topics.view import TopicsView
from gui.words.text import UNKNOWN
from monitoring.sources.base import SourceStatus
from tests.support.fake_broker import topic_config
from tests.support.fake_source import TAKEN_MS, FakeSource, fake_state
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import segment

STATE = fake_state()


@pytest.fixture
def make_view(show_page):
    def make(source: FakeSource, topic: str = "payments", tab: str = "queues") -> TopicView:
        view = show_page(TopicView, source)
        view.open({"topic": topic, "tab": tab})
        return view

    return make


@pytest.fixture
def make_list(show_page):
    return partial(show_page, TopicsView)


def requests(source: FakeSource, code: RequestCode) -> list[dict[str, str]]:
    asked = source.asked_for(AskBroker)
    return [request.fields for request in asked if request.code == code]


def accept(dialog, typed: str = "") -> None:
    dialog.typed.setText(typed)
    assert dialog.is_ready
    dialog.go.click()


# ---- queues ----


def test_the_queues_are_shown_with_span_size_and_the_position_of_a_group(make_view):
    view = make_view(FakeSource())
    view.state_changed(STATE)

    row = view.queues.model.rows[6]
    texts = {column.key: column.text(row) for column in view.queues.model.columns}
    assert (texts["queue"], texts["messages"], texts["lag"], texts["owner"]) == ("6", "273,846", "5,092", "c2@10.23.4.12")
    assert texts["span"] == "1 h 59 min"
    assert texts["disk"] == "326 MiB"
    assert view.header.title == view.tab_title() == "payments"
    assert "2.5 GiB on disk" in view.header.facts


def test_what_is_measured_by_a_part_says_so(make_view):
    view = make_view(FakeSource(), "orders")
    view.state_changed(STATE)

    assert "≈ 7.9 GiB on disk" in view.header.facts


@pytest.mark.parametrize(("age_ms", "words"), [(40, "last message now"), (400, "last message 0.4 s ago")])
def test_a_topic_that_is_written_now_has_no_age(make_view, age_ms, words):
    view = make_view(FakeSource())
    written = np.full_like(STATE.topic_last_store_ms, STATE.taken_ms - age_ms)
    view.state_changed(replace(STATE, topic_last_store_ms=written))
    assert view.header.facts.endswith(words)


def test_unknown_figures_of_a_queue_are_dashes(make_view):
    source = FakeSource()
    view = make_view(source, "audit-log")

    (row, _) = topic_queue_rows(replace(STATE, queue_min_offset=STATE.queue_min_offset - 1), "audit-log", {}, "nobody")

    shown = {column.key: column.text(row) for column in view.queues.model.columns}
    assert {shown[key] for key in ("min", "messages", "span", "disk", "group", "lag", "owner")} == {UNKNOWN}


def test_a_topic_without_groups_has_no_columns_of_one(make_view):
    view = make_view(FakeSource(), "audit-log")

    hidden = [c.key for i, c in enumerate(view.queues.model.columns) if view.queues.grid.view.isColumnHidden(i)]
    assert hidden == ["group", "lag", "owner"]
    assert view.queues.group.isHidden()


def test_write_rates_are_a_row_a_queue(make_view):
    view = make_view(FakeSource())

    heat = view.queues.heat
    assert heat.matrix.values.shape[0] == 8
    assert "Queue 3" in heat.cell_text(3, 0)
    heat.row_chosen.emit(3)
    assert view.queues.grid.selected_key == 3


def test_a_queue_opens_its_messages(make_view, window):
    view = make_view(FakeSource())

    view.queues.grid.activated.emit(view.queues.model.rows[2])

    assert window.opened == [("messages", {"topic": "payments", "queue": 2})]


def test_a_topic_that_is_not_there_says_so(make_view, window):
    view = make_view(FakeSource(), "nothing-of-this-name")

    assert view.nothing.text == "There is no topic nothing-of-this-name."
    assert view.tabs.isHidden()
    assert not view.send_button.isEnabled()


def test_while_the_broker_starts_the_page_waits(show_page):
    view = show_page(TopicView, FakeSource(status=SourceStatus.STARTING))

    assert view.nothing.text == "Waiting for the broker…"


# ---- consumers, route ----


def test_consumers_stand_with_their_lag_on_the_topic(make_view, window):
    view = make_view(FakeSource(), tab="consumers")

    assert [row.name for row in view.consumers.rows] == ["payment-settle"]
    texts = {column.key: column.text(view.consumers.rows[0]) for column in view.consumers.columns}
    assert (texts["lag"], texts["members"], texts["state"]) == ("16,870", "2", "Draining")
    view.consumer_grid.activated.emit(view.consumers.rows[0])
    assert window.opened == [("consumers", {"group": "payment-settle"})]


def test_the_route_is_asked_for_when_it_is_looked_at(make_view):
    source = FakeSource()
    view = make_view(source)
    assert requests(source, RequestCode.GET_ROUTEINFO_BY_TOPIC) == []

    view.open({"tab": "route"})
    view.state_changed(STATE)

    assert requests(source, RequestCode.GET_ROUTEINFO_BY_TOPIC) == [{"topic": "payments"}]
    assert [(row.broker_name, row.address, row.write_queues) for row in view.route.rows] == [("broker-a", "127.0.0.1:10911", 8)]


def test_a_broker_of_the_route_that_does_not_answer_is_no_living_one(make_view):
    source = FakeSource()
    view = make_view(source)
    view.open({"tab": "route"})
    place, column = next((place, one) for place, one in enumerate(view.route.columns) if one.key == "answers")
    assert view.route_grid.view.isColumnHidden(place), "nothing is to be said where all answer"
    source.state = replace(source.state, faults={"broker-a": "no answer for 3 s"})
    view.state_changed(source.state)
    assert not view.route_grid.view.isColumnHidden(place)
    (row,) = view.route.rows
    assert (column.text(row), column.state(row)) == ("no answer for 3 s", State.WARNING)


def test_a_route_that_was_not_read_is_an_error_in_place(make_view):
    source = FakeSource()
    view = make_view(source)
    source.fail_with = RemoteError("no route info of this topic", code=17)

    view.open({"tab": "route"})

    assert view.route_grid.placeholder.text == "The route of payments was not read."


# ---- settings ----


def test_settings_are_staged_shown_as_a_difference_and_applied(make_view, window):
    source = FakeSource()
    view = make_view(source, tab="settings")
    panel = view.settings.make()
    assert not panel.apply_button.isEnabled()

    panel.form.editor("write_queues").setValue(16)
    panel.form.editor("permission").setCurrentIndex(1)

    assert [(change.field.key, change.text) for change in panel.form.changes] == [
        ("write_queues", "8 → 16"), ("permission", "Read and write (6) → Read only (4)"),
    ]  # fmt: skip
    assert "Producers are refused." in panel.note.text()
    accept(panel.ask_apply())
    (sent,) = requests(source, RequestCode.UPDATE_AND_CREATE_TOPIC)
    assert (sent["topic"], sent["writeQueueNums"], sent["readQueueNums"], sent["perm"]) == ("payments", "16", "8", "4")
    assert window.notices == [("The settings of payments are changed", State.HEALTHY)]


def test_a_change_can_be_undone(make_view):
    source = FakeSource()
    panel = make_view(source, tab="settings").settings.make()
    panel.form.editor("order").setChecked(True)
    panel.form.editor("message_type").setCurrentIndex(2)
    accept(panel.ask_apply())
    # The broker has the changed settings now.
    panel.settings = replace(panel.settings, order=True, attributes={"message.type": "FIFO"})
    assert panel.undo_button.isEnabled()

    accept(panel.ask_undo())

    applied, undone = requests(source, RequestCode.UPDATE_AND_CREATE_TOPIC)
    assert (applied["order"], applied["attributes"]) == ("true", "+message.type=FIFO")
    assert (undone["order"], undone["attributes"]) == ("false", "-message.type")
    assert not panel.undo_button.isEnabled()


def test_brokers_that_differ_are_named_and_each_keeps_what_is_its_own(make_view):
    source = FakeSource()
    each = {name: emit(topic_config("payments", readQueueNums=queues)) for name, queues in (("a", 8), ("b", 4))}
    missing = "Not all brokers answered, and what they hold is missing here. c: no answer: gone"
    source.broker_answers[RequestCode.GET_TOPIC_CONFIG] = BrokerAnswer(body=each["a"], notice=missing, bodies=each)
    panel = make_view(source, tab="settings").settings.make()
    assert "The brokers differ. Read queues: a 8, b 4" in panel.apart.text()
    assert panel.subtitle == "of each broker; nothing changes until you apply it"
    assert "c: no answer: gone" in panel.apart.text()

    panel.form.editor("write_queues").setValue(16)
    accept(panel.ask_apply())
    panel.reload()
    accept(panel.ask_undo())

    sent = [request for request in source.asked_for(AskBroker) if request.code == RequestCode.UPDATE_AND_CREATE_TOPIC]
    told = [(one.broker_name, one.fields["writeQueueNums"], one.fields["readQueueNums"]) for one in sent]
    assert told == [("a", "16", "8"), ("b", "16", "4"), ("a", "8", "8"), ("b", "8", "4")]


def test_undo_means_the_settings_where_they_are_in_front(make_view, monkeypatch):
    view = make_view(FakeSource(), tab="settings")
    undone = []
    monkeypatch.setattr(view.settings.make(), "ask_undo", lambda: undone.append(view.tabs.currentIndex()))
    undo = next(one for one in view.findChildren(QShortcut) if one.key() == QKeySequence("Ctrl+Z"))
    undo.activated.emit()
    view.tabs.setCurrentIndex(0)
    undo.activated.emit()
    assert undone == [3]


def test_what_is_staged_can_be_reverted(make_view):
    panel = make_view(FakeSource(), tab="settings").settings.make()
    panel.form.editor("read_queues").setValue(1)

    panel.revert_button.click()

    assert panel.form.changes == []
    assert panel.form.values["read_queues"] == 8


def test_attributes_that_are_none_hold_the_change_back(make_view):
    panel = make_view(FakeSource(), tab="settings").settings.make()

    panel.form.editor("attributes").setText("a=1, b")

    assert not panel.apply_button.isEnabled()
    assert panel.note.text().startswith("“b” is no attribute.")
    assert panel.ask_apply() is None
    assert read_attributes(" a = 1 ,, b=2") == {"a": "1", "b": "2"}


def test_settings_that_were_not_read_are_not_offered(make_view):
    source = FakeSource()
    view = make_view(source)
    source.fail_with = RemoteError("No topic in this broker", code=17)

    view.open({"tab": "settings"})

    assert "The settings of payments were not read." in view.settings.make().fault.text
    assert not view.settings.make().form.isEnabled()


def test_a_refused_change_stays_in_the_dialog(make_view):
    source = FakeSource()
    panel = make_view(source, tab="settings").settings.make()
    panel.form.editor("write_queues").setValue(16)
    dialog = panel.ask_apply()
    source.fail_with = RemoteError("the disk is full", code=1)

    accept(dialog)

    assert dialog.isVisible()
    assert "the disk is full" in dialog.error.text
    assert not panel.undo_button.isEnabled()
    dialog.reject()


# ---- actions ----


def test_a_topic_is_deleted_when_its_name_is_typed(make_view, window):
    source = FakeSource()
    view = make_view(source)
    dialog = view.ask_delete()
    dialog.typed.setText("payment")
    assert not dialog.is_ready

    accept(dialog, "payments")

    assert requests(source, RequestCode.DELETE_TOPIC_IN_BROKER) == [{"topic": "payments"}]
    assert requests(source, RequestCode.DELETE_TOPIC_IN_NAMESRV) == [{"topic": "payments"}]
    assert window.notices == [("Topic payments is deleted", State.HEALTHY)]
    assert window.opened == [("topics", {})]


def test_a_topic_of_the_broker_is_not_deleted(make_view, window):
    source = FakeSource()

    assert make_view(source, "%DLQ%stock-worker").ask_delete() is None
    assert window.notices == [("The broker needs this topic itself.", State.WARNING)]


def test_sending_proposes_the_topic(make_view):
    dialog = make_view(FakeSource()).ask_send()

    assert dialog.form.draft.topic == "payments"
    dialog.reject()


def test_models_keep_qts_rules(make_view):
    view = make_view(FakeSource())
    for model in (view.queues.model, view.consumers, view.route):
        hold_to_rules(model)

    for tab in TABS:
        view.open({"topic": "orders", "tab": tab})
        view.state_changed(fake_state(STATE.taken_ms + 1_000))

    assert len(view.queues.model.rows) == 8


# ---- the list ----


def test_groups_stand_inline_by_their_lag():
    groups = groups_by_topic(STATE)

    assert groups_text(groups["inventory-reserve"]) == "stock-worker 903, risk-scan 0"
    assert groups_text(groups["orders"]) == f"order-service 412, bi-export {UNKNOWN}"
    assert groups_text([GroupOnTopic("a", 3.0), GroupOnTopic("b", 2.0), GroupOnTopic("c", 1.0)]) == "a 3, b 2 and 1 more"
    ahead, late = GroupOnTopic("ahead", math.nan, 10_060.0, 0.0), GroupOnTopic("late", 0.0, 0.0, 300.0)
    assert groups_text([ahead, late]) == "ahead beyond the end, late 0"
    assert all_groups_text([ahead, late]) == f"ahead: {UNKNOWN}, 10,060 beyond the end\nlate: 0, 300 lost unread"
    assert "audit-log" not in groups


def test_type_and_size_come_when_they_are_known(make_list):
    source = FakeSource()
    view = make_list(source)
    row = next(row for row in view.model.rows if row.name == "inventory-reserve")
    texts = {column.key: column for column in view.model.columns}

    assert texts["type"].text(row) == "FIFO"
    assert texts["disk"].text(row) in (UNKNOWN, "653 MiB")  # whether it was painted before
    view.state_changed(STATE)
    assert texts["disk"].text(row) == "653 MiB"


def test_what_was_measured_is_measured_again_when_it_is_old(make_list):
    source = FakeSource()
    view = make_list(source)
    view.facts.measure_of("payments")
    view.state_changed(STATE)
    measured = source.asked_for(MeasureTopics)
    view.facts.measure_of("payments")
    view.state_changed(STATE)
    assert source.asked_for(MeasureTopics) == measured

    later = fake_state(TAKEN_MS + MEASURED_FOR_MS)
    view.facts.tend(later.catalog, later.taken_ms)
    view.facts.measure_of("payments")
    view.facts.tend(later.catalog, later.taken_ms)

    assert len(source.asked_for(MeasureTopics)) > len(measured)


def test_a_favourite_stands_on_top_and_is_remembered(make_list, qtbot):
    view = make_list(FakeSource())
    view.grid.select_key("audit-log")

    view.toggle_favourite()

    assert view.model.section_at(0) == FAVOURITES
    assert view.model.row_at(1).name == "audit-log"
    assert segment(view.filter.choice, "Favourites").text() == "Favourites 1"
    segment(view.filter.choice, "Favourites").click()
    assert [row.name for row in view.model.shown_rows] == ["audit-log"]
    assert "audit-log" in Favourites(view.context.settings, "topics/favourites")
    view.toggle_favourite()
    assert view.model.shown_rows == []


def test_the_star_is_clicked(make_list, qtbot):
    view = make_list(FakeSource())
    place = view.model.position_of("payments")
    column = next(i for i, one in enumerate(view.model.columns) if one.key == "favourite")

    box = view.grid.view.visualRect(view.model.index(place, column))
    qtbot.mouseClick(view.grid.view.viewport(), Qt.MouseButton.LeftButton, pos=box.center())

    assert "payments" in view.favourites


@pytest.mark.parametrize("kept", ["", "{", "{}", "7"])
def test_favourites_that_cannot_be_read_are_none(tmp_path, kept):
    settings = QSettings(str(tmp_path / "x.ini"), QSettings.Format.IniFormat)
    settings.setValue("topics/favourites", kept)

    assert len(Favourites(settings, "topics/favourites")) == 0


# ---- the composer beside the queues ------------------------------------------------------------------------------------


@pytest.fixture
def composing(make_view, qtbot):
    """The page and its composer, which is made some turns after the page is shown."""

    def made(source, topic="payments"):
        view = make_view(source, topic)
        qtbot.waitUntil(lambda: view.queues.composer.made is not None and view.queues.composer.made.isVisible())
        return view, view.queues.composer.make()

    return made


def test_a_message_is_sent_without_leaving_the_queues(composing, window, qtbot):
    source = FakeSource()
    view, composer = composing(source)
    composer.form.tag.setText("PAID")
    composer.form.keys.setText("k-1 k-2")
    composer.form.body.setPlainText('{"n": ${n}}')
    composer.options.when.setCurrentIndex(1)
    composer.options.when_text.setText("4")
    composer.take_focus()
    qtbot.waitUntil(composer.form.body.hasFocus)
    qtbot.keyClick(composer.form.body, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    (message,) = source.sent
    assert (message.topic, message.body) == ("payments", b'{"n": 1}')
    assert message.properties == {"TAGS": "PAID", "KEYS": "k-1 k-2", "DELAY": "4"}
    assert composer.receipt.isVisible()
    assert view.isVisible()
    qtbot.mouseClick(composer.show_button, Qt.MouseButton.LeftButton)
    (page, place) = window.opened[-1]
    assert (page, place["topic"]) == ("messages", "payments")


def test_what_was_entered_stays_and_goes_to_the_topic_that_is_shown(composing):
    source = FakeSource()
    view, composer = composing(source)
    composer.form.body.setPlainText("hello")
    composer.send_button.click()
    view.open({"topic": "orders"})
    assert (composer.subtitle, composer.form.body.toPlainText()) == ("orders", "hello")
    assert not composer.receipt.isVisible()
    composer.past.chosen.emit(replace(composer.form.draft, topic="payments", body=b"again"))
    composer.send_button.click()
    assert [(message.topic, message.body) for message in source.sent] == [("payments", b"hello"), ("orders", b"again")]


def test_all_fields_of_the_composer_are_seen_in_a_window_of_1440_by_900(composing, qtbot):
    _view, composer = composing(FakeSource())
    bar = composer.fields.verticalScrollBar()
    qtbot.waitUntil(lambda: composer.form.isVisible() and bar.maximum() == 0)


def test_a_template_is_entered_for_the_topic_that_is_shown(composing):
    _view, composer = composing(FakeSource())
    draft = replace(composer.form.draft, topic="orders", tag="PAID", body=b"again")
    composer.templates_menu.chosen.emit(draft)
    assert composer.form.draft == replace(draft, topic="payments")
    assert composer.templates.isVisible()


def test_several_are_sent_at_a_rate_and_can_be_stopped(composing, qtbot):
    source = FakeSource()
    source.hold = True
    _view, composer = composing(source)
    composer.form.body.setPlainText("x")
    composer.options.count.setValue(500)
    assert composer.send_button.text() == "Send 500 messages"
    assert not composer.cancel_button.isVisible()
    composer.send_button.click()
    assert composer.cancel_button.isVisible()
    assert composer.cancel_button.text() == "Stop"
    composer.cancel_button.click()
    source.hold = False
    for pending in list(source.held):
        pending.release()
    qtbot.waitUntil(lambda: composer.burst is None)
    assert 0 < len(source.sent) < 500
    assert not composer.cancel_button.isVisible()


def test_why_it_cannot_be_sent_stands_beside_the_button(composing):
    _view, composer = composing(FakeSource())
    assert composer.reason.whole_text() == ""
    composer.form.body.setPlainText("${nothing}")
    assert not composer.send_button.isEnabled()
    assert "nothing" in composer.reason.whole_text()
    composer.form.body.setPlainText("${n}")
    assert composer.reason.whole_text() == ""


def test_over_a_read_only_connection_the_composer_says_why_it_sends_nothing(composing):
    source = FakeSource()
    source.read_only = True
    _view, composer = composing(source)
    composer.form.body.setPlainText("x")
    assert not composer.send_button.isEnabled()
    assert "read-only" in composer.send_button.toolTip()


def test_the_button_of_the_page_leads_to_the_composer_and_that_to_the_dialog(composing, qtbot):
    view, composer = composing(FakeSource())
    view.open({"tab": "route"})
    qtbot.mouseClick(view.send_button, Qt.MouseButton.LeftButton)
    assert view.tabs.currentWidget() is view.queues
    qtbot.waitUntil(composer.form.body.hasFocus)
    qtbot.mouseClick(composer.whole_button, Qt.MouseButton.LeftButton)
    (dialog,) = view.findChildren(ComposeDialog)
    assert dialog.form.draft.topic == "payments"
    dialog.reject()


def test_each_queue_has_the_line_of_its_last_quarter_of_an_hour(make_view):
    source = FakeSource()
    view = make_view(source)
    column = next(column for column in view.queues.model.columns if column.key == "spark")
    values = column.value(view.queues.model.rows[2])
    assert len(values) > 10
    assert all(100 < value < 300 for value in values)
    spans = {
        query.to_ms - query.from_ms for query in source.asked_for(ReadHistory)
        if "queue:payments/2.put_rate" in query.names
    }  # fmt: skip
    assert any(abs(span - 15 * 60_000) < 2_000 for span in spans)


def test_a_queue_without_a_record_has_no_line(make_view):
    source = FakeSource()
    source.fail_with = RemoteError("no history is kept")
    view = make_view(source)
    column = next(column for column in view.queues.model.columns if column.key == "spark")
    assert column.value(view.queues.model.rows[2]) is None


def test_a_topic_that_was_deleted_is_gone(make_view):
    view = make_view(FakeSource())
    assert view.gone() == ""
    view.open({"topic": "moon"})
    assert view.gone() == "Topic moon is gone."
    assert view.tab_title() == "moon"
    view.state_changed(replace(STATE, faults={"broker-b": "no answer"}))
    assert view.gone() == "", "the broker that does not answer may have it"
