import pytest

from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.message.record import decode_record
from tests.support.pop_bench import pop_bench


@pytest.fixture
def bench(tmp_path):
    with pop_bench(tmp_path / "store") as made:
        made.state.topics.put(TopicConfig("T", 2, 2))
        yield made


def peek(bench, **more):
    fields = {"consumerGroup": "CG", "topic": "T", "queueId": 0, "maxMsgNums": 2} | more
    return bench.answer(bench.peer, RequestCode.PEEK_MESSAGE, fields)


def bodies(response):
    return sorted(decode_record(record).body for record in response.body_slices)


def test_messages_are_shown_and_stay(bench):
    for number in range(3):
        bench.put(body=b"%d" % number)
    for _ in range(2):
        response = peek(bench)
        assert (response.code, response.remark, bodies(response)) == (ResponseCode.SUCCESS, "FOUND", [b"0", b"1"])
        assert response.ext_fields == {"popTime": "0", "invisibleTime": "0", "reviveQid": "0", "restNum": "3"}
    assert bench.state.offsets.get("CG", "T", 0) == -1
    assert bench.bodies(queueId=0) == [b"0", b"1", b"2"], "what was shown is still there to be popped"


def test_what_is_out_or_consumed_is_passed_over(bench):
    for number in range(3):
        bench.put(body=b"%d" % number)
    bench.pop(queueId=0, maxMsgNums=1)
    assert bodies(peek(bench)) == [b"1", b"2"]


def test_all_queues_and_messages_that_came_again_are_shown(bench):
    bench.put(queue_id=0, body=b"first")
    bench.put(queue_id=1, body=b"second")
    assert bodies(peek(bench, queueId=-1)) == [b"first", b"second"]
    bench.pop(queueId=0)
    bench.pass_time(20_000)
    assert bodies(peek(bench, queueId=-1, maxMsgNums=32)) == [b"first", b"second"]


def test_a_peek_that_has_many_bytes_reads_no_further_queue(bench, monkeypatch):
    monkeypatch.setattr("broker_core.engine.processors.pop.peek_processor.ANSWER_BYTES_MAX", 100)
    for queue_id in range(2):
        bench.put(queue_id=queue_id, body=bytes(100))
    response = peek(bench, queueId=-1)
    assert (len(response.body_slices), response.ext_fields["restNum"]) == (1, "2")


def test_a_queue_that_lost_its_beginning_is_shown_from_where_it_begins(bench, monkeypatch):
    for number in range(3):
        bench.put(body=b"%d" % number)
    bench.state.offsets.commit("CG", "T", 0, 1)
    asked = []
    read = bench.state.store.get_messages
    monkeypatch.setattr(
        bench.state.store, "get_messages", lambda *place, **how: (asked.append(place[2]), read(*place, **how))[1]
    )
    monkeypatch.setattr(bench.state.store, "min_offset", lambda _topic, _queue_id: 2)
    assert bodies(peek(bench)) == [b"2"]
    assert asked[0] == 2


@pytest.mark.parametrize("count", [0, -1])
def test_nothing_to_show(bench, count):
    response = peek(bench)
    assert (response.code, response.remark) == (ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE")
    bench.put()
    response = peek(bench, maxMsgNums=count)
    assert (response.code, response.ext_fields["restNum"]) == (ResponseCode.PULL_NOT_FOUND, "1")


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"topic": "nope"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"queueId": 2}, ResponseCode.INVALID_PARAMETER),
        ({"consumerGroup": "a b"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
    ],
)
def test_what_cannot_be_looked_at_is_refused(bench, wrong, code):
    response = peek(bench, **wrong)
    assert (response.code, response.ext_fields["popTime"]) == (code, "0"), response.remark
