from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.errors import FilterError, UsageError
from broker_core.worker import follows as follows_module
from broker_core.worker.channel.codec import decode_window_message, decode_worker_message, encode_message
from broker_core.worker.channel.framing import FrameReader
from broker_core.worker.channel.schema import Reply, Request
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.follows import BATCH_MESSAGES_MAX, FOLLOWS_MAX, RULES_MAX, TOPICS_MAX, Follows
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Question
from broker_core.worker.questions.searches import ContinueFollow, EndFollow, Followed, FollowStarted, StartFollow
from tests.support.answering import answer_by
from tests.support.engine import Engine

NOW_MS = 1_800_000_000_000


@pytest.fixture
def follows(engine: Engine) -> Iterator[Follows]:
    made = Follows(engine.store, clock=lambda: NOW_MS, pace_seconds=0.001, hold_seconds=0.003)
    yield made
    made.close()


def ask(follows: Follows, query: StartFollow | ContinueFollow | EndFollow):
    return asyncio.run(answer_by(follows, query))


def start(follows: Follows, query: StartFollow) -> int:
    started = ask(follows, query)
    assert isinstance(started, FollowStarted)
    return started.follow_id


def test_only_what_arrives_after_the_start_is_followed_in_the_order_of_the_log(engine: Engine, follows: Follows):
    engine.put("orders", 0, b"before")
    number = start(follows, StartFollow(["orders", "payments"]))
    engine.put("payments", 1, b"first", TAGS="REFUND", KEYS="P-1")
    engine.put("stock", 0, b"of no interest")
    engine.put("orders", 2, b"second")
    followed = ask(follows, ContinueFollow(number))
    assert followed.body_start == [b"first", b"second"]
    assert followed.topic == ["payments", "orders"]
    assert (followed.queue_id, followed.tag, followed.keys) == ([1, 2], ["REFUND", ""], ["P-1", ""])
    assert (followed.left_out, followed.skipped_bytes, followed.is_over) == (0, 0, False)
    assert followed.position == engine.store.commit_log_max_offset


def test_a_quiet_time_is_answered_with_nothing(follows: Follows):
    number = start(follows, StartFollow(["orders"]))
    assert ask(follows, ContinueFollow(number)).body_start == []


def test_the_filter_takes_heads_bodies_and_properties(engine: Engine, follows: Follows):
    number = start(follows, StartFollow(["orders"], 'body.amount > 100 and tag = "paid"'))
    for amount in (50, 150, 250):
        engine.put("orders", 0, b'{"amount": %d}' % amount, TAGS="paid")
    engine.put("orders", 0, b'{"amount": 900}', TAGS="new")
    engine.put("stock", 0, b'{"amount": 900}', TAGS="paid")
    assert ask(follows, ContinueFollow(number)).body_start == [b'{"amount": 150}', b'{"amount": 250}']


def test_a_filter_without_topics_follows_everything_that_passes(engine: Engine, follows: Follows):
    number = start(follows, StartFollow([], "body_bytes > 3"))
    engine.put("a", 0, b"long enough")
    engine.put("b", 0, b"no")
    engine.put("c", 0, b"also long")
    assert ask(follows, ContinueFollow(number)).topic == ["a", "c"]


def test_each_message_names_the_first_rule_that_it_passes(engine: Engine, follows: Follows):
    number = start(follows, StartFollow(["orders"], "", ['tag = "REFUND"', 'body contains "x"']))
    engine.put("orders", 0, b"x", TAGS="REFUND")
    engine.put("orders", 0, b"x")
    engine.put("orders", 0, b"y")
    assert ask(follows, ContinueFollow(number)).rule == [0, 1, -1]


def test_more_than_a_batch_holds_is_counted_and_left_out(engine: Engine, follows: Follows):
    number = start(follows, StartFollow(["orders"]))
    for one in range(BATCH_MESSAGES_MAX + 70):
        engine.put("orders", 0, b"%d" % one)
    followed = ask(follows, ContinueFollow(number))
    assert (len(followed.topic), followed.left_out) == (BATCH_MESSAGES_MAX, 70)
    engine.put("orders", 0, b"next")
    assert ask(follows, ContinueFollow(number)).body_start == [b"next"]


def test_large_bodies_fill_a_batch_by_their_bytes(engine: Engine, follows: Follows, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(follows_module, "BATCH_BYTES_MAX", 1_000)
    number = start(follows, StartFollow(["orders"]))
    for _ in range(5):
        engine.put("orders", 0, b"b" * 600)
    followed = ask(follows, ContinueFollow(number))
    assert (len(followed.topic), followed.left_out) == (2, 3)


def test_a_follow_that_fell_behind_goes_on_at_the_end_and_says_so(
    engine: Engine, follows: Follows, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(follows_module, "BEHIND_BYTES_MAX", 1_000)
    number = start(follows, StartFollow(["orders"]))
    begin = engine.store.commit_log_max_offset
    for _ in range(20):
        engine.put("orders", 0, b"b" * 100)
    followed = ask(follows, ContinueFollow(number))
    assert followed.topic == []
    assert followed.skipped_bytes == engine.store.commit_log_max_offset - begin
    engine.put("orders", 0, b"next")
    assert ask(follows, ContinueFollow(number)).body_start == [b"next"]


def test_a_turn_ends_after_its_share_of_the_log_and_the_next_goes_on_there(
    engine: Engine, follows: Follows, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(follows_module, "TURN_BYTES", 1_000)
    monkeypatch.setattr(follows_module, "WINDOW_BYTES", 1_000)
    number = start(follows, StartFollow(["orders"]))
    for one in range(40):
        engine.put("orders", 0, b"%04d" % one + b"b" * 100)
    parts = [ask(follows, ContinueFollow(number)).body_start for _ in range(12)]
    assert len(parts[0]) < 40
    assert [int(body[:4]) for part in parts for body in part] == list(range(40))


def test_a_follow_goes_on_from_a_position_without_a_gap(engine: Engine, follows: Follows):
    first = start(follows, StartFollow(["orders"]))
    engine.put("orders", 0, b"one")
    position = ask(follows, ContinueFollow(first)).position
    engine.put("orders", 0, b"two")
    second = start(follows, StartFollow(["orders"], "", ['body = "two"'], position))
    followed = ask(follows, ContinueFollow(second))
    assert (followed.body_start, followed.rule) == ([b"two"], [0])


def test_log_files_that_follow_one_another_are_followed(engine: Engine, follows: Follows):
    number = start(follows, StartFollow(["orders"]))
    file_bytes = engine.store.config.commit_log_file_bytes
    bodies = [b"%04d" % one + b"b" * (file_bytes // 10) for one in range(25)]
    found: list[bytes] = []
    for body in bodies:
        engine.put("orders", 0, body)
        found += ask(follows, ContinueFollow(number)).body_start
    assert engine.store.commit_log_max_offset > 2 * file_bytes
    assert [body[:4] for body in found] == [body[:4] for body in bodies]


def test_the_end_of_a_follow_answers_the_open_question(engine: Engine):
    async def both() -> Followed:
        follows = Follows(engine.store, clock=lambda: NOW_MS, pace_seconds=0.01, hold_seconds=60.0)
        started = await answer_by(follows, StartFollow(["orders"]))
        asked = asyncio.ensure_future(answer_by(follows, ContinueFollow(started.follow_id)))
        await asyncio.sleep(0)
        assert await answer_by(follows, EndFollow(started.follow_id)) == Done()
        answer = await asyncio.wait_for(asked, 60)
        follows.close()
        return answer

    assert asyncio.run(both()).is_over


def test_a_second_question_at_a_time_is_refused(engine: Engine):
    async def both() -> None:
        follows = Follows(engine.store, clock=lambda: NOW_MS, pace_seconds=0.01, hold_seconds=60.0)
        started = await answer_by(follows, StartFollow(["orders"]))
        asked = asyncio.ensure_future(answer_by(follows, ContinueFollow(started.follow_id)))
        await asyncio.sleep(0)
        with pytest.raises(UsageError, match="open already"):
            await answer_by(follows, ContinueFollow(started.follow_id))
        asked.cancel()
        follows.close()

    asyncio.run(both())


def test_what_cannot_be_followed_is_refused(follows: Follows):
    with pytest.raises(FilterError) as refused:
        ask(follows, StartFollow(["orders"], "tag ="))
    assert refused.value.context["position"] == 5
    with pytest.raises(FilterError, match="rule 2") as refused:
        ask(follows, StartFollow(["orders"], "", ['tag = "a"', "tag ="]))
    assert (refused.value.context["rule"], refused.value.context["position"]) == (1, 5)
    with pytest.raises(UsageError, match="100 topics"):
        ask(follows, StartFollow([f"t{number}" for number in range(TOPICS_MAX + 1)]))
    with pytest.raises(UsageError, match="8 rules"):
        ask(follows, StartFollow([], "", ['tag = "a"'] * (RULES_MAX + 1)))
    with pytest.raises(UsageError, match="was ended"):
        ask(follows, ContinueFollow(77))


def test_no_more_than_some_are_open_at_a_time(follows: Follows):
    numbers = [start(follows, StartFollow(["orders"])) for _ in range(FOLLOWS_MAX)]
    with pytest.raises(UsageError, match="live tails are open"):
        ask(follows, StartFollow(["orders"]))
    ask(follows, EndFollow(numbers[0]))
    assert start(follows, StartFollow(["orders"])) not in numbers


def test_the_worker_answers_follows_over_the_channel(engine: Engine):
    queries = Queries(engine, console=None, shut_down=lambda: None, read_only=True)
    query: Question[Any] = StartFollow(["orders"], 'tag = "a"', ['tag = "a"'])
    (payload,) = FrameReader().feed(encode_message(Request(1, query)))
    sent = decode_window_message(payload)
    assert sent == Request(1, query)
    number = asyncio.run(queries.answer(query)).follow_id
    engine.put("orders", 0, b"body", TAGS="a")
    followed = asyncio.run(queries.answer(ContinueFollow(number)))
    assert followed.body_start == [b"body"]
    (payload,) = FrameReader().feed(encode_message(Reply(2, followed)))
    assert decode_worker_message(payload) == Reply(2, followed)
    queries.close()
