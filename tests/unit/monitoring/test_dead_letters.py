from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from broker_core.protocol.retry_names import KnownNames
from broker_core.worker.questions.delays import DelayedMessages
from monitoring.dead_letters import (
    RUNGS_MAX,
    Rung,
    dead_letter,
    group_figures,
    group_positions,
    may_have_any,
    proof,
    retry_ladder,
    top_origins,
    waiting_retries,
)
from monitoring.letter_notes import RESENT, LetterNote
from monitoring.payload.listed import NO_MASK
from monitoring.state import ClusterState
from tests.support.fake_source import TAKEN_MS, fake_detail, fake_state
from tests.support.masks import nothing_masked

PROPERTIES = {"RETRY_TOPIC": "orders", "KEYS": "k", "TAGS": "t", "DELAY": "18", "UNIQ_KEY": "u", "region": "eu"}
DETAIL = replace(fake_detail(256), topic="%DLQ%stock-worker", properties=PROPERTIES, reconsume_times=16, flag=7)


def test_groups_with_dead_letters_or_retries_the_worst_first():
    figures = group_figures(fake_state())
    assert [(one.group, one.dead, one.ends, one.members) for one in figures] == [
        ("stock-worker", 21, ((0, 21),), 4),
        ("payment-settle", 12, ((0, 12),), 2),
    ]
    # Nobody has a position in the retry topics of this state, so what is unread is not known.
    assert [one.unread_retries for one in figures] == [-1, -1]


def test_dead_letters_lie_in_a_queue_of_each_broker():
    state = fake_state()
    catalog, topic = state.catalog, state.catalog.topics.index("%DLQ%stock-worker")
    more = replace(catalog, queue_topic=[*catalog.queue_topic, topic], queue_id=[*catalog.queue_id, 10_000])
    figures = group_figures(replace(state, catalog=more, queue_max_offset=np.append(state.queue_max_offset, 9)))
    assert {one.group: one.ends for one in figures}["stock-worker"] == ((0, 21), (10_000, 9))


def test_unread_retries_are_the_lag_of_the_group_in_its_retry_topic():
    state = fake_state()
    catalog = state.catalog
    retry = catalog.queue_topic.index(catalog.topics.index("%RETRY%stock-worker"))
    group = catalog.groups.index("stock-worker")
    more = replace(catalog, position_group=[*catalog.position_group, group], position_queue=[*catalog.position_queue, retry])
    changed = replace(
        state,
        catalog=more,
        position_lag_messages=np.append(state.position_lag_messages, 5.0),
        position_offset=np.append(state.position_offset, 835),
    )
    assert {one.group: one.unread_retries for one in group_figures(changed)} == {"stock-worker": 5, "payment-settle": -1}
    assert group_positions(changed, "stock-worker")["%RETRY%stock-worker", 0] == 835
    assert group_positions(changed, "nobody") == {}


def with_topics(state: ClusterState, *names: str, kept: int = 3) -> ClusterState:
    """The state with further topics, each with messages."""
    catalog, more = state.catalog, len(names)
    return replace(
        state,
        catalog=replace(catalog, topics=[*catalog.topics, *names], topic_is_system=[*catalog.topic_is_system, *[False] * more]),
        topic_kept_messages=np.append(state.topic_kept_messages, [kept] * more),
        topic_last_store_ms=np.append(state.topic_last_store_ms, [TAKEN_MS] * more),
    )


def test_retries_of_popped_messages_are_of_the_group_that_popped_them():
    state = with_topics(fake_state(), "%RETRY%stock-worker_orders", "%RETRY%payment-settle+orders")
    figures = {one.group: one for one in group_figures(state)}
    assert figures.keys() == {"stock-worker", "payment-settle"}
    assert not figures["stock-worker"].shared


def test_a_retry_topic_of_two_groups_is_listed_for_both_and_said_to_be_shared():
    state = with_topics(fake_state(), "orders_a", "a_orders", "%RETRY%stock-worker_a_orders")
    catalog = replace(state.catalog, groups=["stock-worker_a", *state.catalog.groups[1:]])
    catalog = replace(catalog, groups=[*catalog.groups, "stock-worker"])
    members = np.append(state.group_members, 1)
    figures = {one.group: one for one in group_figures(replace(state, catalog=catalog, group_members=members))}
    name = "%RETRY%stock-worker_a_orders"
    assert figures["stock-worker_a"].shared == ((name, "stock-worker"),)
    assert figures["stock-worker"].shared == ((name, "stock-worker_a"),)


def test_a_retry_topic_of_unknown_groups_is_one_row_with_all_their_names():
    figures = [one.group for one in group_figures(with_topics(fake_state(), "%RETRY%x_y_z"))]
    assert sorted(figures) == ["payment-settle", "stock-worker", "x / x_y / x_y_z"]


def test_the_origin_of_a_popped_dead_letter_is_the_topic_of_its_pop():
    popped = replace(DETAIL, topic="%DLQ%g_a", properties={"RETRY_TOPIC": "%RETRY%g_a_t"})
    assert dead_letter(popped, NO_MASK, KnownNames({"g_a"}, {"t", "a_t"})).origin_topic == "t"


def test_the_origin_of_a_dead_letter_from_a_shared_retry_topic_is_not_certain():
    popped = replace(DETAIL, topic="%DLQ%g_a", properties={"RETRY_TOPIC": "%RETRY%g_a_t"})
    letter = dead_letter(popped, NO_MASK, KnownNames({"g_a", "g"}, {"t", "a_t"}))
    assert (letter.group, letter.origin_topic, letter.origin_text) == ("g_a", "", "a_t / t")
    assert top_origins([letter]) == [("a_t / t", 1)]


def test_nothing_is_unread_in_an_empty_retry_topic():
    state = fake_state()
    kept = state.topic_kept_messages.copy()
    kept[state.catalog.topics.index("%RETRY%stock-worker")] = 0
    figures = group_figures(replace(state, topic_kept_messages=kept))
    assert {one.group: one.unread_retries for one in figures} == {"stock-worker": 0, "payment-settle": -1}
    # Of a topic of which a part is unknown, what is known would be taken for all.
    kept[state.catalog.topics.index("%RETRY%stock-worker")] = -1
    figures = group_figures(replace(state, topic_kept_messages=kept))
    assert {one.group: one.unread_retries for one in figures} == {"stock-worker": -1, "payment-settle": -1}


@pytest.mark.parametrize(
    ("dead", "unread", "waiting", "listed"),
    [(0, 0, 0, False), (1, 0, 0, True), (0, 5, 0, True), (0, 0, 2, True), (0, -1, 0, True), (0, 0, -1, True), (-1, 0, 0, True)],
)
def test_a_group_without_dead_letters_and_retries_is_told_from_one_of_which_it_is_unknown(dead, unread, waiting, listed):
    figures = replace(group_figures(fake_state())[0], dead=dead, unread_retries=unread)
    assert may_have_any(figures, waiting) is listed


def test_a_dead_letter_and_its_origin():
    letter = dead_letter(DETAIL, NO_MASK)
    assert (letter.group, letter.origin_topic, letter.keys, letter.tag, letter.tries) == (
        "stock-worker",
        "orders",
        "k",
        "t",
        16,
    )
    assert letter.made_from == ""
    assert top_origins([letter, letter, replace(letter, origins=("a",)), replace(letter, origins=())], 1) == [("orders", 2)]


@pytest.mark.parametrize(("times", "attempt"), [(0, -1), (1, 1), (16, 16)])
def test_the_record_of_a_retry_tells_its_attempt_whatever_level_a_consumer_chose(times, attempt):
    heads = ([0, 1], [10, 20], [5, 6], [1, 1], ["orders", "%RETRY%g"], [0, 0], ["", "t"], ["", "k"], ["", ""], [1, 1])
    page = DelayedMessages(2, *heads, reconsume_times=[0, times], next_offset=2, max_offset=2)
    (found,) = waiting_retries(page, nothing_masked)
    assert (found.group, found.attempt, found.due_ms, found.keys, found.tag) == ("g", attempt, 6, "k", "t")


def test_proof():
    letter = dead_letter(DETAIL, NO_MASK)
    note = LetterNote(RESENT, "", "orders", 2, 40, TAKEN_MS)
    assert proof(LetterNote(), letter, [letter], {}) == ""
    assert proof(note, letter, [letter], {}) == "unknown"
    assert proof(note, letter, [letter], {("orders", 2): 40}) == "waiting"
    assert proof(note, letter, [letter], {("orders", 2): 41}) == "consumed"
    waits = {letter.properties["UNIQ_KEY"]}
    assert proof(note, letter, [letter], {("orders", 2): 41}, waits) == "retrying"
    assert proof(note, letter, [letter], {("orders", 2): 40}, waits) == "waiting"
    assert proof(note, letter, [letter], {("orders", 2): 41}, {"another"}) == "consumed"
    again = replace(letter, made_from=letter.offset_message_id)
    assert proof(note, letter, [letter, again], {("orders", 2): 41}, waits) == "died again"


def test_the_ladder_counts_from_the_attempt_that_is_next():
    delays = [1_000, 5_000, 10_000, 30_000, 60_000, 120_000]
    assert retry_ladder(3, 50_000, delays, retries=6) == [
        Rung(1, 10_000, -1),
        Rung(2, 30_000, -1),
        Rung(3, 60_000, 50_000),
        Rung(4, 120_000, 170_000),
        Rung(5, 120_000, 290_000),
        Rung(6, 120_000, 410_000),
    ]
    assert retry_ladder(3, 50_000, [], retries=1)[-1] == Rung(3, 0, 50_000)


def test_a_ladder_without_end_is_shown_around_its_next_rung():
    for attempt, first in ((3, 1), (900, 800), (1_000, 801)):
        rungs = retry_ladder(attempt, 50_000, [1_000], retries=1_000)
        assert [rung.attempt for rung in rungs] == list(range(first, first + RUNGS_MAX))
        assert next(rung.due_ms for rung in rungs if rung.attempt == attempt) == 50_000
