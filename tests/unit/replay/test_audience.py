"""What groups would reject of a replay."""

from broker_core.message.rejection import Rejection
from broker_core.replay import audience
from broker_core.replay.audience import Kinds, rejected, warnings
from broker_core.replay.item import ReplayItem
from broker_core.replay.pace import Pace
from broker_core.replay.rewrite import Target
from broker_core.replay.survey import Survey

COUNTS = {("orders", "new"): 5, ("orders", "old"): 2, ("pay", ""): 1}


def said(subscriptions, counts=COUNTS, *, alone=True):
    return list(warnings("g", subscriptions, counts, alone=alone))


def test_each_reason_is_counted():
    assert rejected({"orders": "new"}, COUNTS) == {Rejection.TAG: 2, Rejection.TOPIC: 1}
    assert rejected({"orders": "*", "pay": "*"}, COUNTS) == {}


def test_a_group_that_takes_all_is_no_matter():
    assert said({"orders": "*", "pay": "a || b || "}, {("orders", "x"): 3}) == []


def test_what_is_sent_to_a_group_alone_passes_its_filters():
    (line,) = said({"orders": "new || paid"})
    assert line == (
        "warning: g would reject 3 of 8 messages: 1 as the group does not subscribe to pay; "
        "2 as its filter takes other tags (orders: new || paid); they reach it all the same, as they are sent to it alone"
    )


def test_a_group_of_the_topic_does_not_get_them():
    (line,) = said({"orders": "new"}, {("orders", "old"): 2}, alone=False)
    assert line.endswith("(orders: new); it will not get them")


def test_what_is_not_known_is_said_of_a_group_that_is_named():
    assert said(None) == ["warning: no consumer of g is connected, so what its subscription rejects is not known"]
    assert said(None, alone=False) == []
    assert said({"orders": "a > 1", "pay": "*"}) == [
        "warning: 7 of 8 messages meet a filter of g that the broker alone can try"
    ]


def test_kinds_have_a_bound(monkeypatch):
    monkeypatch.setattr(audience, "KINDS_MAX", 2)
    kinds = Kinds()
    for tag in "abca":
        kinds.add("t", tag)
    kinds.add("u", "a")
    assert (kinds.of("t"), kinds.left_out) == ({("t", "a"): 2, ("t", "b"): 1}, 2)


def test_a_survey_counts_what_consumers_will_see():
    item = ReplayItem("%DLQ%g", 0, 0, "ID", 1, 0, 0, 0, b"x", {"RETRY_TOPIC": "orders", "TAGS": "new"})
    for target, topic in ((Target(group="g"), "orders"), (Target(topic="again"), "again"), (Target(to_origin=True), "orders")):
        survey = Survey(target, Pace())
        survey.add(item)
        assert survey.kinds.counts == {(topic, "new"): 1}
