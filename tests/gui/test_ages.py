"""Tables say how old their oldest part is, where parts of an attached cluster were read at different times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gui.views.consumers.view import ConsumersView
from gui.views.topics.topic_view import TopicView
from gui.views.topics.view import TopicsView
from gui.widgets.notice import age_text
from tests.support.fake_figures import fake_state
from tests.support.fake_source import FakeSource

STATE = fake_state()
OLD = "The oldest of these figures were read 12 s ago."


@pytest.fixture
def mixed():
    """The queue of the first position was read 12 s before the rest."""
    queues = np.full(len(STATE.queue_max_offset), STATE.taken_ms, np.int64)
    queues[STATE.catalog.position_queue[0]] -= 12_400
    positions = np.full(len(STATE.position_offset), STATE.taken_ms - 900, np.int64)
    return replace(STATE, queue_read_ms=queues, position_read_ms=positions)


def names():
    catalog = STATE.catalog
    group, queue = catalog.position_group[0], catalog.position_queue[0]
    return catalog.groups[group], catalog.topics[catalog.queue_topic[queue]]


def test_the_age_is_told_only_when_it_is_more_than_a_refresh(qapp):
    assert [age_text(age) for age in (0, 900, 3_000)] == ["", "", ""]
    assert age_text(12_400) == OLD


def test_the_list_of_topics_tells_its_oldest_part(show_page, mixed):
    view = show_page(TopicsView, FakeSource())
    assert OLD not in view.foot.text()
    view.state_changed(mixed)
    assert view.foot.text().endswith(OLD)


def test_the_page_of_a_topic_tells_its_oldest_part(show_page, mixed):
    _group, topic = names()
    view = show_page(TopicView, FakeSource())
    view.open({"topic": topic})
    assert view.queues.age.isHidden()
    view.state_changed(mixed)
    assert view.queues.age.whole_text() == OLD
    view.open({"topic": topic, "tab": "consumers"})
    assert view.age.whole_text() == OLD
    other = next(one for one in STATE.catalog.topics if one != topic and not one.startswith("%"))
    view.open({"topic": other, "tab": "queues"})
    assert view.queues.age.isHidden(), "its own parts are of one look"


def test_a_group_tells_its_oldest_part_beside_its_offsets(show_page, mixed):
    group, _topic = names()
    view = show_page(ConsumersView, FakeSource())
    view.open({"group": group})
    view.state_changed(mixed)
    assert view.position_age.whole_text() == OLD
    assert view.foot.text().endswith(OLD)
    view.state_changed(STATE)
    assert view.position_age.isHidden()
