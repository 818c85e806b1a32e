"""Ages of the parts of a state that were read at different times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.support.fake_figures import fake_state

STATE = fake_state()
TAKEN_MS = STATE.taken_ms


def read_at(queue_ages: dict[int, int], position_ages: dict[int, int] | None = None):
    """The shop as an attached cluster, with ages of some queues and positions in ms."""
    queues = np.full(len(STATE.queue_max_offset), TAKEN_MS, np.int64)
    positions = np.full(len(STATE.position_offset), TAKEN_MS, np.int64)
    for place, age in queue_ages.items():
        queues[place] = TAKEN_MS - age
    for place, age in (position_ages or {}).items():
        positions[place] = TAKEN_MS - age
    return replace(STATE, queue_read_ms=queues, position_read_ms=positions)


def test_figures_of_one_look_have_no_age():
    assert STATE.queues_age_ms() == STATE.positions_age_ms() == STATE.group_age_ms(STATE.catalog.groups[0]) == 0


def test_the_oldest_part_counts():
    state = read_at({0: 4_000, 5: 9_000}, {1: 2_000})
    assert state.queues_age_ms() == 9_000
    topic = STATE.catalog.topics[STATE.catalog.queue_topic[0]]
    other = STATE.catalog.topics[STATE.catalog.queue_topic[5]]
    assert state.topics_age_ms({topic, other}) == 9_000
    assert state.topics_age_ms({"none"}) == 0
    assert read_at({}, {1: 2_000}).positions_age_ms() == 2_000


def test_a_group_is_as_old_as_its_offset_or_the_end_of_its_queue():
    group, queue = STATE.catalog.position_group[0], STATE.catalog.position_queue[0]
    name, topic = STATE.catalog.groups[group], STATE.catalog.topics[STATE.catalog.queue_topic[queue]]
    assert read_at({queue: 7_000}).group_age_ms(name) == 7_000
    assert read_at({}, {0: 5_000}).group_age_ms(name, topic) == 5_000
    others = [one for one in STATE.catalog.groups if one != name]
    assert all(read_at({}, {0: 5_000}).group_age_ms(one) == 0 for one in others)
    assert read_at({queue: 7_000}).group_age_ms("none") == 0


def test_what_is_unknown_has_no_age():
    state = replace(STATE, queue_read_ms=np.full(len(STATE.queue_max_offset), -1, np.int64))
    assert state.queues_age_ms() == 0
