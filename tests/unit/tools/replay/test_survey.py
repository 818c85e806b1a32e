from __future__ import annotations

from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.pace import Pace
from broker_core.tools.replay.rewrite import ReplayTarget
from broker_core.tools.replay.survey import ROUTES_SHOWN, ReplaySurvey


def item(topic: str, stored_ms: int, body: bytes = b"abc", **properties: str) -> ReplayItem:
    return ReplayItem(topic, 0, 0, "ID", stored_ms, 0, 0, 0, body, properties)


def test_figures_routes_notes_and_what_is_left_out():
    survey = ReplaySurvey(ReplayTarget(to_origin=True), Pace(speed=2))
    for found in (
        item("orders", 10_000),
        item("orders", 130_000),
        item("RMQ_SYS_TRANS_HALF_TOPIC", 20_000, REAL_TOPIC="pay"),
        item("SCHEDULE_TOPIC_XXXX", 20_000, REAL_TOPIC="pay"),
        item("orders", 20_000, b""),
    ):
        survey.add(found)
    assert list(survey.lines()) == [
        "plan: 4 messages with 12 bytes of bodies, in 0:01:00 h or more",
        "  2 from orders to orders",
        "  1 from RMQ_SYS_TRANS_HALF_TOPIC to pay",
        "  1 from SCHEDULE_TOPIC_XXXX to pay",
        "  note: 1 of them is half messages: their transactions may have been rolled back; they are sent as plain messages",
        "  note: 1 of them is messages that still wait for their time: they will come a second time",
        "  1 left out: it has no body, and brokers refuse empty ones",
    ]
    assert survey.topics == {"orders", "pay"}


def test_dead_letters_of_a_shared_retry_topic_are_named():
    shared = item("%DLQ%g_a", 1, RETRY_TOPIC="%RETRY%g_a_t")
    survey = ReplaySurvey(ReplayTarget(to_origin=True), Pace())
    for found in (shared, shared, item("%DLQ%g", 1, RETRY_TOPIC="%RETRY%g_t"), item("%DLQ%g_a", 1, RETRY_TOPIC="t")):
        survey.add(found)
    assert [line for line in survey.lines() if "note" in line] == [
        "  note: 2 of them are of retry topic %RETRY%g_a_t, which fits several pairs of group and topic: g+a_t, g_a+t",
    ]
    to_group = ReplaySurvey(ReplayTarget(group="g_a"), Pace())
    to_group.add(shared)
    assert not any("note" in line for line in to_group.lines())


def test_many_routes_are_counted():
    survey = ReplaySurvey(ReplayTarget(to_origin=True), Pace())
    for number in range(ROUTES_SHOWN + 3):
        survey.add(item(f"t{number}", 1))
    assert list(survey.lines())[-1] == "  and 3 more pairs of topics"
    assert next(survey.lines()).endswith("as fast as they are taken")
