"""What groups would reject of a replay."""

from broker_core.protocol.filter.rejection import Rejection, Wanted, wanted_topics
from broker_core.tools.replay import receiving_groups
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.receiving_groups import Kinds, rejected, warnings
from broker_core.tools.replay.rewrite import ReplayTarget
from broker_core.tools.replay.survey import ReplaySurvey

COUNTS = {("orders", "new"): 5, ("orders", "old"): 2, ("pay", ""): 1}


def kinds_of(counts):
    """Messages numbered by their property ``a``."""
    kinds, number = Kinds(), 0
    for (topic, tag), count in counts.items():
        for _ in range(count):
            kinds.add(topic, tag, {"a": str(number), "TAGS": tag})
            number += 1
    return kinds


def said(subscriptions, counts=COUNTS, *, alone=True):
    wanted = None if subscriptions is None else wanted_topics(subscriptions, {})
    return list(warnings("g", wanted, kinds_of(counts), alone=alone))


def test_each_reason_is_counted():
    kinds = kinds_of(COUNTS)
    assert rejected({"orders": Wanted("new")}, kinds) == {Rejection.TAG: 2, Rejection.TOPIC: 1}
    assert rejected({"orders": Wanted("*"), "pay": Wanted("*")}, kinds) == {}
    assert rejected({"orders": Wanted("a < 3"), "pay": Wanted("*")}, kinds) == {Rejection.PROPERTIES: 4}


def test_a_group_that_takes_all_is_no_matter():
    assert said({"orders": "*", "pay": "a || b || "}, {("orders", "x"): 3}) == []


def test_what_is_sent_to_a_group_alone_passes_its_filters():
    (line,) = said({"orders": "new || paid"})
    assert line == (
        "warning: g would reject 3 of 8 messages: 1 as the group does not subscribe to pay; "
        "2 as its filter takes other tags (orders: new || paid); they reach it all the same, as they are sent to it alone"
    )


def test_a_broker_may_try_filters_over_properties_on_what_is_sent_to_a_group_alone():
    (line,) = said({"orders": "a > 9", "pay": "*"}, {("orders", "x"): 2, ("pay", "x"): 1})
    assert line.endswith("as they are sent to it alone; with filterSupportRetry=true in its broker the 2 by properties do not")


def test_a_group_of_the_topic_does_not_get_them():
    (line,) = said({"orders": "new"}, {("orders", "old"): 2}, alone=False)
    assert line.endswith("(orders: new); it will not get them")


def test_what_is_not_known_is_said_of_a_group_that_is_named():
    assert said(None) == ["warning: no consumer of g is connected, so what its subscription rejects is not known"]
    assert said(None, alone=False) == []
    assert said({"orders": "a > ", "pay": "*"}) == ["warning: 7 of 8 messages meet a filter of g that was not tried on them"]


def test_filters_are_tried_on_as_many_messages_as_are_kept(monkeypatch):
    monkeypatch.setattr(receiving_groups, "SAMPLES_MAX", 6)
    rejected_ones, untried = said({"orders": "a > 1", "pay": "*"}, alone=False)
    assert "reject 2 of 8 messages: 2 as their properties do not pass its filter (orders: a > 1)" in rejected_ones
    assert untried == "warning: 1 of 8 messages meet a filter of g that was not tried on them"


def test_kinds_have_a_bound(monkeypatch):
    monkeypatch.setattr(receiving_groups, "KINDS_MAX", 2)
    kinds = Kinds()
    for tag in "abca":
        kinds.add("t", tag, {})
    kinds.add("u", "a", {})
    assert (kinds.of("t").counts, kinds.left_out) == ({("t", "a"): 2, ("t", "b"): 1}, 2)


def test_a_survey_counts_what_consumers_will_see():
    item = ReplayItem("%DLQ%g", 0, 0, "ID", 1, 0, 0, 0, b"x", {"RETRY_TOPIC": "orders", "TAGS": "new"})
    for target, topic in (
        (ReplayTarget(group="g"), "orders"),
        (ReplayTarget(topic="again"), "again"),
        (ReplayTarget(to_origin=True), "orders"),
    ):
        survey = ReplaySurvey(target, Pace())
        survey.add(item)
        assert survey.kinds.counts == {(topic, "new"): 1}
