"""Where half messages, timers and delays are stored."""

from dataclasses import replace

import pytest

from broker_core.engine.processors.put_rewrites import PutDraft, PutRewrites, to_internal_queue
from broker_core.errors import RequestRefusedError
from broker_core.protocol.delay_levels import DelayLevels

REWRITES = PutRewrites(DelayLevels("1s 5s 1m"))


def draft(**properties):
    return PutDraft(topic="T", queue_id=2, properties=properties)


def test_a_plain_message_is_stored_as_it_is():
    plain = draft(TAGS="a", DELAY="0")
    assert REWRITES.place(plain) is plain


def test_the_level_wins_over_a_time():
    placed = REWRITES.place(draft(DELAY="2", TIMER_DELAY_MS="5", TIMER_DELIVER_MS="7"))
    assert (placed.topic, placed.queue_id) == ("SCHEDULE_TOPIC_XXXX", 1)
    assert placed.properties == {"DELAY": "2", "REAL_TOPIC": "T", "REAL_QID": "2"}


def test_a_level_above_the_last_is_the_last():
    placed = REWRITES.place(draft(DELAY="30"))
    assert (placed.queue_id, placed.properties["DELAY"]) == (2, "3")


def test_a_half_message_is_not_delayed_by_itself():
    rewrites = PutRewrites(DelayLevels("1s"))
    rewrites.half = lambda half: to_internal_queue(half, "HALF", 0)
    placed = rewrites.place(draft(TRAN_MSG="true", DELAY="1"))
    assert (placed.topic, placed.properties["DELAY"], placed.properties["REAL_TOPIC"]) == ("HALF", "1", "T")


def test_a_retry_with_the_mark_of_a_transaction_is_delayed():
    placed = REWRITES.place(replace(draft(TRAN_MSG="true", DELAY="3"), reconsume_times=1))
    assert placed.topic == "SCHEDULE_TOPIC_XXXX"


def test_a_commit_is_delayed():
    placed = REWRITES.schedule(replace(draft(TRAN_MSG="true", DELAY="1"), sys_flag=8))
    assert (placed.topic, placed.sys_flag) == ("SCHEDULE_TOPIC_XXXX", 8)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (draft(DELAY="x"), "DELAY=x"),
        (draft(TRAN_MSG="true"), "transaction"),
        (replace(draft(), sys_flag=4), "transaction"),
        (draft(TIMER_DELAY_SEC="4"), "TIMER_DELAY_SEC=4"),
        (replace(draft(DELAY="1"), is_batch=True), "DELAY=1"),
        (replace(draft(TRAN_MSG="true"), is_batch=True), "TRAN_MSG=true"),
    ],
)
def test_what_cannot_be_stored_so_is_refused(asked, words):
    with pytest.raises(RequestRefusedError, match=words):
        REWRITES.place(asked)
