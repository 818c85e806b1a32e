import asyncio

import pytest

from broker_core.errors import UsageError
from broker_core.worker.channel.codec import decode_worker_message, encode_message
from broker_core.worker.channel.schema import Reply
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.embedded.queue_measures import TOPICS_MAX, WHOLE_MAX, QueueMeasures
from broker_core.worker.questions.administration import MeasureTopics, TopicMeasures
from tests.support.engine import Engine

FRAME_HEAD_BYTES = 4


def test_short_queues_are_measured_exactly(engine: Engine):
    begin = engine.store.commit_log_max_offset
    for number in range(5):
        engine.put("orders", number % 2, b"x" * number)
    written = engine.store.commit_log_max_offset - begin
    first_ms = engine.clock()

    answer = QueueMeasures(engine.store).measure(["orders", "nothing"])

    assert (answer.topic, answer.queue_id) == (["orders", "orders"], [0, 1])
    assert sum(answer.log_bytes) == written
    assert answer.queue_bytes == [60, 40]
    assert answer.oldest_ms == [first_ms] * 2
    assert answer.is_estimate == [False, False]


def test_long_queues_are_estimated_from_places_all_over_them(engine: Engine):
    count = WHOLE_MAX + 200
    begin = engine.store.commit_log_max_offset
    for number in range(count):
        engine.put("orders", 0, b"x" * (number // 10))
    written = engine.store.commit_log_max_offset - begin

    answer = QueueMeasures(engine.store).measure(["orders"])

    assert answer.is_estimate == [True]
    assert answer.queue_bytes == [count * 20]
    assert answer.log_bytes[0] == pytest.approx(written, rel=0.05)


def test_a_topic_without_messages_has_nothing_to_measure(engine: Engine):
    engine.add_topic("orders", 4)
    assert QueueMeasures(engine.store).measure(["orders"]) == TopicMeasures([], [], [], [], [], [])


def test_the_time_of_the_oldest_message_is_read_once(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    engine.put("orders", 0, b"x")
    measures, read = QueueMeasures(engine.store), []
    store_time = engine.store.store_time
    monkeypatch.setattr(engine.store, "store_time", lambda *asked: read.append(asked) or store_time(*asked))
    first = measures.measure(["orders"])
    engine.put("orders", 0, b"y")
    assert measures.measure(["orders"]).oldest_ms == first.oldest_ms == [engine.clock()]
    assert read == [("orders", 0, 0)]


def test_too_many_topics_are_refused(engine: Engine):
    with pytest.raises(UsageError, match="100 topics"):
        QueueMeasures(engine.store).measure([str(number) for number in range(TOPICS_MAX + 1)])


def test_the_worker_measures(engine: Engine):
    engine.put("orders", 0, b"x")
    queries = Queries(engine, console=None, shut_down=lambda: None)
    try:
        answer = asyncio.run(queries.answer(MeasureTopics(["orders"])))
    finally:
        queries.close()
    assert isinstance(answer, TopicMeasures)
    assert decode_worker_message(encode_message(Reply(1, answer))[FRAME_HEAD_BYTES:]) == Reply(1, answer)
