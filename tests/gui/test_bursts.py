"""What a draft with variables becomes, and bursts of such messages; over a fake source."""

from __future__ import annotations

import random
from datetime import UTC

import pytest

from broker_core.api import RemoteError
from gui.models.compose import DraftTemplate, delivery_value
from gui.models.messages import ALL_QUEUES, MessageDraft
from gui.views.messages.burst import UNANSWERED_MAX, Burst
from monitoring.compose.delivery import When, queue_of_key
from monitoring.compose.template import Moment, TemplateError
from tests.support.fake_source import FakeSource

NOW_MS = 1_800_000_000_000


@pytest.fixture
def source() -> FakeSource:
    return FakeSource()


def test_deliveries_are_levels_durations_and_times():
    def value(when: When, text: str) -> str | None:
        return delivery_value(when, text, now_ms=NOW_MS, zone=UTC)

    assert [value(When.LEVEL, text) for text in ("3", " 18 ", "0", "19", "x", "")] == ["3", "18", None, None, None, None]
    assert [value(When.AFTER, text) for text in ("30s", "1.5h", "2 d", "250ms")] == ["30000", "5400000", "172800000", "250"]
    assert [value(When.AFTER, text) for text in ("", "5", "-5s", "5 weeks")] == [None] * 4
    assert value(When.AT, "2027-01-15 08:00:01") == "1800000001000"
    assert [value(When.AT, text) for text in ("", "soon")] == [None, None]


def test_a_draft_with_variables_makes_another_message_each_time():
    draft = MessageDraft(
        "orders", ALL_QUEUES, "${pick:a}", "K-${n}", (("no", "${n:3}"), ("__SHARDINGKEY", "s${n}")), b'{"n": ${n}}'
    )
    template = DraftTemplate(draft, queues=range(8), fills=True)
    one, two = (template.message(Moment(number, NOW_MS, random.Random(1))) for number in (1, 2))
    assert (one.body, two.body) == (b'{"n": 1}', b'{"n": 2}')
    assert one.properties == {"KEYS": "K-1", "TAGS": "a", "no": "001", "__SHARDINGKEY": "s1"}
    assert (one.queue_id, two.queue_id) == (queue_of_key("s1", 8), queue_of_key("s2", 8))


def test_variables_stay_where_they_are_not_to_be_filled_in_and_bytes_stay_bytes():
    moment = Moment(1, NOW_MS, random.Random(1))
    kept = DraftTemplate(MessageDraft("t", 0, "", "${k}", (), b"${x}"), queues=(), fills=False).message(moment)
    assert (kept.body, kept.properties["KEYS"]) == (b"${x}", "${k}")
    body = b"\xff\xfe${n}"
    assert DraftTemplate(MessageDraft("t", 0, "", "", (), body), queues=(), fills=True).message(moment).body == body
    assert DraftTemplate(MessageDraft("t", 0, "", "", (), b"$${n}"), queues=(), fills=True).message(moment).body == b"${n}"
    with pytest.raises(TemplateError):
        DraftTemplate(MessageDraft("t", 0, "", "${k}", (), b""), queues=(), fills=True)


# ---- bursts ----


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def burst_of(source, qapp, count: int, rate: float, clock: Clock) -> tuple[Burst, list[tuple[int, object]]]:
    template = DraftTemplate(MessageDraft("orders", 0, "", "", (), b"${n}"), queues=(), fills=True)
    made = Burst(
        source,
        lambda number: template.message(Moment(number, NOW_MS, random.Random(1))),
        count=count,
        rate=rate,
        clock=clock,
        parent=qapp,
    )
    over: list[tuple[int, object]] = []
    made.finished.connect(lambda stored, error: over.append((stored, error)))
    return made, over


def test_a_burst_keeps_its_rate_and_ends_after_the_last(source, qapp):
    clock = Clock()
    burst, over = burst_of(source, qapp, 25, 10.0, clock)
    burst.start()
    assert len(source.sent) == 1
    clock.now_s += 1.0
    burst.turn()
    assert len(source.sent) == 11
    assert over == []
    clock.now_s += 100.0
    burst.turn()
    assert [message.body for message in source.sent] == [b"%d" % number for number in range(1, 26)]
    assert over == [(25, None)]
    assert not burst.is_running


def test_a_burst_waits_for_answers_when_too_many_are_on_their_way(source, qapp):
    clock = Clock()
    source.hold = True
    burst, over = burst_of(source, qapp, 1_000, 2_000.0, clock)
    burst.start()
    clock.now_s += 60.0
    burst.turn()
    burst.turn()
    assert len(source.sent) == UNANSWERED_MAX
    burst.stop()
    assert over == []
    for held in list(source.held):
        held.release()
    assert over == [(UNANSWERED_MAX, None)]


def test_a_refusal_ends_a_burst(source, qapp):
    clock = Clock()
    burst, over = burst_of(source, qapp, 100, 10.0, clock)
    burst.start()
    source.fail_with = RemoteError("the topic is read-only", code=16)
    clock.now_s += 0.5
    burst.turn()
    assert over == [(1, source.fail_with)]
    assert len(source.sent) == 2
    assert not burst.is_running
