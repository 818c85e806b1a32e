"""Messages in by tag: parts of a time, what a look says, and layers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.worker.questions.stored_messages import MessagePage
from gui.models.tag_parts import (
    NO_TAG,
    OTHERS,
    PARTS_MAX,
    TAGS_SHOWN,
    TagLook,
    look_at,
    mean_rates,
    part_length_ms,
    part_starts,
    shares,
    tag_layers,
)

NAN = math.nan


def page(tags, stored, *, first=0, oldest=0, end=1_000):
    count = len(tags)
    return MessagePage(
        topic="orders", queue_id=[0] * count, queue_offset=list(range(first, first + count)), physical_offset=[0] * count,
        store_ms=stored, born_ms=stored, body_bytes=[1] * count, tag=tags, keys=[""] * count, unique_key=[""] * count,
        body_start=[b""] * count, min_offset=oldest, max_offset=end, next_offset=first + count,
    )  # fmt: skip


@given(st.integers(0, 2_000_000_000_000), st.integers(1, 40 * 365 * 86_400_000))
def test_parts_cover_a_time_and_are_not_too_many(from_ms, length_ms):
    to_ms = from_ms + length_ms
    step, starts = part_length_ms(from_ms, to_ms), part_starts(from_ms, to_ms)
    assert starts[0] <= from_ms
    assert starts[-1] < to_ms <= starts[-1] + step
    assert all(start % step == 0 for start in starts)
    assert len(starts) <= PARTS_MAX + 1 or step == part_length_ms(0, 10**15)


def test_a_part_stays_the_same_as_time_goes_on():
    first, later = part_starts(1_000_000, 1_900_000), part_starts(1_007_000, 1_907_000)
    assert len(set(first) & set(later)) >= len(first) - 1


def test_only_what_was_stored_in_the_part_is_looked_at():
    look = look_at(page(["A", "B", "A"], [10, 20, 99]), 50)
    assert (dict(look.tags), look.is_whole, look.is_lost) == ({"A": 1, "B": 1}, True, False)


def test_a_full_page_is_a_part_of_it_only():
    assert not look_at(page(["A"] * 3, [1, 2, 3], end=100), 50).is_whole
    assert look_at(page(["A"] * 3, [1, 2, 3], end=3), 50).is_whole


def test_what_was_cleaned_is_not_known_to_be_nothing():
    cleaned = look_at(page(["A"], [90], first=7, oldest=7), 50)
    assert cleaned.is_lost
    assert shares([cleaned, TagLook({"A": 1})]) is None
    begun = look_at(page(["A"], [90], first=0, oldest=0), 50)
    assert shares([begun]) == {}


def test_layers_are_shares_of_what_came_in():
    looks = {0: (TagLook({"A": 3, "B": 1}),), 10: (TagLook({"A": 1}), TagLook({NO_TAG: 1}))}
    layers = tag_layers(looks, [0, 10, 20, 30], [100.0, 10.0, 7.0, NAN])
    assert [layer.tag for layer in layers] == ["A", "B", NO_TAG]
    by_tag = {layer.tag: layer.rates for layer in layers}
    assert by_tag["A"][:2] == (75.0, 5.0)
    assert by_tag["B"][:2] == (25.0, 0.0)
    assert all(math.isnan(rate) for layer in layers for rate in layer.rates[2:])


def test_many_tags_are_the_largest_and_others():
    looks = {0: (TagLook({f"T{number}": 10 - number for number in range(8)}),)}
    layers = tag_layers(looks, [0], [52.0])
    assert [layer.tag for layer in layers] == ["T0", "T1", "T2", "T3", OTHERS]
    assert len(layers) == TAGS_SHOWN + 1
    assert sum(layer.rates[0] for layer in layers) == pytest.approx(52.0)


def test_a_rate_of_a_part_is_the_mean_of_what_is_known_of_it():
    seconds, values = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([2.0, NAN, 4.0, 6.0, NAN])
    found = mean_rates(seconds, values, [0, 2_000, 4_000], 2_000)
    assert found[:2] == [2.0, 5.0]
    assert math.isnan(found[2])
    assert mean_rates(seconds, values, [], 2_000) == []
