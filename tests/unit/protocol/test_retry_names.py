from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.protocol.message import receipt_handle
from broker_core.protocol.message.receipt_handle import FLAG_RETRY_V1, FLAG_RETRY_V2, pop_retry_topic
from broker_core.protocol.retry_names import (
    KnownNames,
    RetryOwner,
    first_topic,
    groups_of,
    names_text,
    origins_of,
    owners_of,
    owners_of_message,
    owners_text,
    possible_groups,
    possible_owners,
    topic_popped_by,
)

COLLIDING = "%RETRY%g_a_t"
G_A, G, OWN = RetryOwner("g_a", "t"), RetryOwner("g", "a_t"), RetryOwner("g_a_t")
NAMES = st.text("ab_", min_size=1, max_size=6)


def test_two_pairs_have_one_name():
    assert pop_retry_topic("g_a", "t") == pop_retry_topic("g", "a_t") == COLLIDING
    assert owners_of(COLLIDING, KnownNames({"g", "g_a"}, {"t", "a_t"})) == (G, G_A)


@pytest.mark.parametrize(
    ("groups", "topics", "owners"),
    [
        ({"g_a"}, {"t"}, (G_A,)), ({"g"}, {"a_t"}, (G,)), ({"g_a_t"}, set(), (OWN,)),
        ({"g_a", "g_a_t"}, {"t"}, (G_A, OWN)), ({"g_a", "g"}, {"t"}, (G_A,)), ({"g_a"}, set(), (G_A,)), (set(), {"a_t"}, (G,)),
        ({"g"}, {"t"}, (G, G_A)), (set(), set(), (G, G_A, OWN)), ({"h"}, {"u"}, (G, G_A, OWN)),
    ],
)  # fmt: skip
def test_known_groups_and_topics_tell_which_one_is_meant(groups, topics, owners):
    assert owners_of(COLLIDING, KnownNames(groups, topics)) == owners


def test_messages_tell_whether_they_were_popped():
    known = KnownNames({"g_a", "g_a_t"}, {"t"})
    assert owners_of_message(COLLIDING, {"RETRY_TOPIC": "t", "ORIGIN_MESSAGE_ID": "o"}, known) == (OWN,)
    assert owners_of_message(COLLIDING, {"1ST_POP_TIME": "1"}, known) == (G_A,)
    assert owners_of_message(COLLIDING, {}, known) == (G_A, OWN)
    assert owners_of_message(COLLIDING, {"1ST_POP_TIME": "1"}) == (G, G_A)
    assert owners_of_message(COLLIDING, {"1ST_POP_TIME": "1", "ORIGIN_GROUP": "g"}, known) == (G,)
    assert owners_of_message(COLLIDING, {"1ST_POP_TIME": "1", "ORIGIN_GROUP": "other"}, known) == (G_A,)
    assert owners_of_message("orders", {"RETRY_TOPIC": "t"}, known) == ()
    assert owners_of_message("%DLQ%g", {"RETRY_TOPIC": COLLIDING}) == (G,)


def test_the_newer_name_has_one_owner():
    name = pop_retry_topic("g_a", "t_x", flag=FLAG_RETRY_V2)
    assert owners_of(name) == possible_groups_and_topics(name) == (RetryOwner("g_a", "t_x"),)


def possible_groups_and_topics(name: str) -> tuple[RetryOwner, ...]:
    return tuple(possible_owners(name))


def test_a_groups_own_retry_topic_is_its_own():
    assert owners_of("%RETRY%orders") == (RetryOwner("orders"),)
    assert owners_of("%RETRY%orders", popped=True) == (RetryOwner("orders"),)
    assert owners_of("%RETRY%order_service", KnownNames({"order_service", "order"}, {"orders"})) == (
        RetryOwner("order_service"),
    )
    assert owners_of("orders") == possible_groups("orders") == ()
    assert possible_groups("%DLQ%g_a") == ("g_a",)


def test_the_first_topic_is_told_where_it_is_certain():
    assert first_topic("%DLQ%g_a", {"RETRY_TOPIC": COLLIDING}) == "t"
    assert first_topic("%DLQ%g", {"RETRY_TOPIC": COLLIDING}) == "a_t"
    assert first_topic("%DLQ%g", {"DLQ_ORIGIN_TOPIC": "orders"}) == "orders"
    assert first_topic("%DLQ%g", {}) == first_topic("orders", {}) == ""
    assert first_topic("%RETRY%g_t", {"1ST_POP_TIME": "1"}) == "t"
    assert first_topic(COLLIDING, {"1ST_POP_TIME": "1"}) == ""
    assert first_topic(COLLIDING, {"1ST_POP_TIME": "1"}, KnownNames({"g"}, {"a_t"})) == "a_t"
    assert first_topic("%RETRY%g", {"RETRY_TOPIC": "orders"}) == "orders"
    assert first_topic("%RETRY%g_a", {"RETRY_TOPIC": COLLIDING}, KnownNames({"g_a"}, {"t"})) == "t"
    assert first_topic("%RETRY%g_a", {"RETRY_TOPIC": COLLIDING}) == ""


@pytest.mark.parametrize(
    ("groups", "topics", "origins"),
    [
        ({"g_a", "g"}, {"t", "a_t"}, ("a_t", "t")),
        ({"g_a"}, {"t", "a_t"}, ("t",)),
        ({"g_a", "g"}, {"t"}, ("t",)),
        ((), (), ("t",)),
    ],
)
def test_a_dead_letter_may_be_of_another_pair_that_shares_the_retry_topic(groups, topics, origins):
    known = KnownNames(frozenset(groups), frozenset(topics))
    for name in ("RETRY_TOPIC", "DLQ_ORIGIN_TOPIC"):
        assert origins_of({name: COLLIDING}, "g_a", known) == origins
        assert first_topic("%DLQ%g_a", {name: COLLIDING}, known) == (origins[0] if len(origins) == 1 else "")
    assert origins_of({"RETRY_TOPIC": "a_t"}, "g_a", known) == ("a_t",)
    assert origins_of({}, "g_a", known) == ()


def test_owners_are_named_in_short():
    assert owners_text([G, G_A, OWN]) == "g+a_t, g_a+t, g_a_t"
    assert names_text(groups_of([G, G_A])) == "g / g_a"
    assert names_text(["g"]) == "g"
    many = owners_of("%RETRY%a_b_c_d_e", popped=True)
    assert owners_text(many) == "a+b_c_d_e, a_b+c_d_e, a_b_c+d_e, …"
    assert names_text(groups_of(many)) == "a / a_b / a_b_c / …"


@given(NAMES, NAMES, st.sampled_from((FLAG_RETRY_V1, FLAG_RETRY_V2)))
def test_the_true_owner_is_always_among_the_possible_ones(group, topic, flag):
    name = pop_retry_topic(group, topic, flag=flag)
    true = RetryOwner(group, topic)
    assert true in possible_owners(name)
    assert true in owners_of(name, KnownNames({group}, {topic}))
    assert true in owners_of_message(name, {"1ST_POP_TIME": "1"})
    assert group in possible_groups(name)
    assert topic_popped_by(group, name) == topic
    assert all(pop_retry_topic(*one, flag=flag) == name for one in possible_owners(name) if one.topic)
    if flag == FLAG_RETRY_V2:
        assert owners_of(name) == (true,)


@given(st.sets(NAMES, max_size=4), st.sets(NAMES, max_size=4), NAMES, NAMES)
def test_names_about_some_topics_tell_them_apart_as_all_names_do(groups, topics, group, topic):
    known, name = KnownNames(groups, topics), receipt_handle.pop_retry_topic(group, topic)
    for popped in (None, True, False):
        assert owners_of(name, known.about([name, "orders"]), popped=popped) == owners_of(name, known, popped=popped)
