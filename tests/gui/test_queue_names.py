"""Queues of several brokers are shown with the name of their broker; the numbers that tell them apart are not."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QSettings

from broker_core.api import QUEUES_OF_BROKER
from gui.models.lifeline import life_events
from gui.models.queue_window import own_queue, queue_text
from gui.operations.filter_memory import FilterMemory
from gui.plots.ownership_strip import rows_of
from gui.views.consumers.view import ConsumersView
from gui.views.dead_letters.columns import LetterRow
from gui.views.dead_letters.flow import receipt_csv
from gui.views.messages.filter_bar import FilterBar
from gui.views.messages.view import MessagesView
from gui.views.topics.topic_view import TopicView
from gui.views.topics.view import TopicsView
from monitoring.dead_letters import DeadLetter
from monitoring.letter_notes import RESENT, LetterNote
from monitoring.resending import ResendOutcome
from tests.support.fake_messages import fake_lifeline
from tests.support.fake_source import FakeSource, fake_state
from tests.support.page_portrait import portrait

NUMBER = re.compile(r"\b1000\d\b")
PLACES = {
    "topics": (TopicsView, {"topic": "orders"}),
    "queues": (TopicView, {"topic": "orders", "tab": "queues"}),
    "lag": (ConsumersView, {"group": "payment-settle", "tab": "lag"}),
    "messages": (MessagesView, {"topic": "orders", "queue": QUEUES_OF_BROKER + 1}),
}


def on_the_second():
    """The fake figures with all queues on the second of two brokers."""
    state = fake_state()
    ids = [queue_id + QUEUES_OF_BROKER for queue_id in state.catalog.queue_id]
    brokers = ["broker-a", "broker-b"]
    return replace(state, catalog=replace(state.catalog, brokers=brokers, broker_version=["V5_3_3"] * 2, queue_id=ids))


@pytest.mark.parametrize("name", PLACES)
def test_no_page_shows_the_number_of_a_queue_of_several_brokers(show_page, qtbot, name):
    page, arguments = PLACES[name]
    source = FakeSource(on_the_second())
    view = show_page(page, source)
    view.open(arguments)
    view.state_changed(source.state)
    qtbot.wait(0)
    said = portrait(view)
    assert not [line for line in said if NUMBER.search(line)]
    assert any("broker-b 1" in line for line in said)


def test_rows_of_charts_and_places_of_messages_have_the_name_too():
    names = partial(queue_text, on_the_second())
    assert rows_of([("orders", 10_001)], names) == ("broker-b 1",)
    assert rows_of([("orders", 10_001), ("payments", 0)], names) == ("orders broker-b 1", "payments broker-a 0")
    [sent, *_] = life_events(replace(fake_lifeline(), queue_id=[10_001] * len(fake_lifeline().at_ms)), names)
    assert sent.place.startswith(f"{sent.topic}, queue broker-b 1, offset ")


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("queue = 10001", "queue = broker-b 1"),
        ("not queue in (3, 10003)", "not queue in (broker-a 3, broker-b 3)"),
        ("(queue = 10001 or offset = 10001)", "(queue = broker-b 1 or offset = 10001)"),
        ("body contains 'queue 10001'", "body contains 'queue 10001'"),
    ],
)
def test_conditions_are_shown_with_the_name_and_kept_with_the_number(qtbot, theme, tmp_path, condition, shown):
    memory = FilterMemory(QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat))
    bar = FilterBar(theme, memory, partial(queue_text, on_the_second()))
    qtbot.addWidget(bar)
    bar.set_text(f"{condition} and tag = 'A'")
    assert [chip.text() for chip in bar.chips] == [shown, "tag = 'A'"]
    assert bar.text.startswith(condition)


def test_a_receipt_of_resends_has_the_name_too():
    letter = DeadLetter(1, "0A", 0, 0, "g", "orders", "k", "", "h:1", 3, "", "", {})
    row = LetterRow(letter, LetterNote(RESENT, topic="orders", queue_id=10_001, queue_offset=7), "")
    text = receipt_csv([row], ResendOutcome(), partial(queue_text, on_the_second())).decode("utf-8-sig")
    assert ",orders,broker-b 1,7," in text


def test_a_queue_is_its_number_where_there_is_one_broker():
    state = fake_state()
    one = replace(state, catalog=replace(state.catalog, brokers=["broker-a"]))
    assert [queue_text(each, QUEUES_OF_BROKER) for each in (None, state, one)] == ["10000"] * 3


def test_a_number_beyond_the_known_brokers_stays_a_number():
    state = on_the_second()
    assert [queue_text(state, shown) for shown in (3, 10_003, 20_003, -1)] == ["broker-a 3", "broker-b 3", "20003", "-1"]
    assert own_queue(state, 20_003, "broker-a") == ("", 20_003)
