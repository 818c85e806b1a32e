"""Which groups have consumed a message, by their offsets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from broker_core.worker.questions.searches import SearchHits
from gui.models.consumption import Consumed, Consumption
from gui.models.hit_columns import HitColumns
from tests.support.fake_source import fake_state


def consumption(state=None) -> Consumption:
    made = Consumption()
    made.take_state(state or fake_state())
    return made


def place_of(state, group, topic, queue):
    """Where a group's position in a queue stands."""
    catalog = state.catalog
    pairs = zip(catalog.position_group, catalog.position_queue, strict=True)
    return next(
        place
        for place, (one, at) in enumerate(pairs)
        if (catalog.groups[one], catalog.topics[catalog.queue_topic[at]], catalog.queue_id[at]) == (group, topic, queue)
    )


def test_a_message_before_the_offset_of_a_group_is_consumed_and_the_one_at_it_is_not():
    state = fake_state()
    offset = int(state.position_offset[place_of(state, "payment-settle", "payments", 2)])
    known = consumption(state)
    assert known.of("payments", 2, offset - 1) == Consumed(done=("payment-settle",))
    assert known.of("payments", 2, offset) == Consumed(waiting=("payment-settle",))


def test_an_offset_that_is_not_known_is_neither():
    found = consumption().of("orders", 0, 1)
    assert found == Consumed(done=("order-service",), unknown=("bi-export",))
    assert found.count == 2


def test_nothing_is_known_of_a_topic_without_groups_or_before_the_figures_came():
    assert (
        consumption().of("audit-log", 0, 1)
        == consumption().of("nowhere", 0, 1)
        == Consumption().of("orders", 0, 1)
        == Consumed()
    )


def test_a_queue_in_which_a_group_has_no_position_is_not_known():
    state = fake_state()
    keep = [place for place in range(len(state.position_offset)) if place != place_of(state, "payment-settle", "payments", 2)]
    catalog = replace(
        state.catalog,
        position_group=[state.catalog.position_group[place] for place in keep],
        position_queue=[state.catalog.position_queue[place] for place in keep],
    )
    known = consumption(replace(state, catalog=catalog, position_offset=state.position_offset[keep]))
    assert known.of("payments", 2, 0) == Consumed(unknown=("payment-settle",))
    assert known.of("payments", 3, 0) == Consumed(done=("payment-settle",))


def test_it_follows_the_figures():
    state = fake_state()
    known = consumption(state)
    end = int(state.queue_max_offset.max())
    assert known.of("payments", 2, end).waiting == ("payment-settle",)
    known.take_state(replace(state, position_offset=np.full_like(state.position_offset, end + 1)))
    assert known.of("payments", 2, end).done == ("payment-settle",)


@given(
    st.lists(
        st.tuples(st.sampled_from(["orders", "payments", "audit-log"]), st.integers(0, 7), st.integers(0, 600_000)), max_size=40
    )
)
def test_hits_are_sorted_by_how_many_groups_have_read_them(places):
    known, hits = consumption(), HitColumns()
    count = len(places)
    hits.append(
        SearchHits(
            1, [topic for topic, _queue, _offset in places], [queue for _topic, queue, _offset in places],
            [offset for _topic, _queue, offset in places], list(range(0, 100 * count, 100)), [1_000 + n for n in range(count)],
            [0] * count, [1] * count, [""] * count, [""] * count, [""] * count, [b""] * count, 0, 0, 0, is_over=True,
        )
    )  # fmt: skip
    order = known.order(hits)().tolist()
    done = [len(known.of(*place).done) for place in places]
    assert order == sorted(range(count), key=lambda number: (done[number], number))
