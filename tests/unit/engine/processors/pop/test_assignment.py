import json

import pytest

from broker_core.engine.processors.pop.assignment import RequestModes
from broker_core.errors import CodecError
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.json_body import MessageQueue
from tests.support.broker_bench import RecordingPeer, consumer_heartbeat
from tests.support.pop_bench import pop_bench


@pytest.fixture
def bench(tmp_path):
    with pop_bench(tmp_path / "store") as made:
        made.state.topics.put(TopicConfig("T", 4, 4))
        yield made


def join(bench, *client_ids):
    for client_id in client_ids:
        bench.answer(RecordingPeer(), RequestCode.HEART_BEAT, body=consumer_heartbeat(client_id, T="*"))


def set_mode(bench, **more):
    body = {"topic": "T", "consumerGroup": "CG", "mode": "POP", "popShareQueueNum": 0} | more
    return bench.answer(bench.peer, RequestCode.SET_MESSAGE_REQUEST_MODE, body=body)


def query(bench, client_id, **more):
    body = {
        "clientId": client_id, "consumerGroup": "CG", "messageModel": "CLUSTERING", "strategyName": "AVG", "topic": "T",
    }  # fmt: skip
    response = bench.answer(bench.peer, RequestCode.QUERY_ASSIGNMENT, body=body | more)
    assert response.code == ResponseCode.SUCCESS
    items = json.loads(response.body).get("messageQueueAssignments")
    return None if items is None else [(item["messageQueue"]["queueId"], item["mode"]) for item in items]


def test_without_a_mode_queues_are_divided_and_pulled(bench):
    join(bench, "a", "b")
    assert query(bench, "a") == [(0, "PULL"), (1, "PULL")]
    assert query(bench, "b", strategyName="AVG_BY_CIRCLE") == [(1, "PULL"), (3, "PULL")]
    assert query(bench, "c") == []


def test_the_answer_has_the_form_of_5_3_3(bench):
    join(bench, "a")
    set_mode(bench)
    body = {"clientId": "a", "consumerGroup": "CG", "messageModel": "CLUSTERING", "strategyName": "AVG", "topic": "T"}
    response = bench.answer(bench.peer, RequestCode.QUERY_ASSIGNMENT, body=body)
    assert bytes(response.body) == (
        b'{"messageQueueAssignments":[{"messageQueue":{"brokerName":"broker-a","queueId":-1,"topic":"T"},"mode":"POP"}]}'
    )


def test_all_consumers_pop_all_queues(bench):
    join(bench, "a", "b", "c")
    set_mode(bench)
    assert [query(bench, client) for client in "abc"] == [[(-1, "POP")]] * 3


def test_a_consumer_may_share_the_queues_of_the_next_ones(bench):
    join(bench, "a", "b", "c", "d")
    set_mode(bench, popShareQueueNum=1)
    assert query(bench, "a") == [(0, "POP"), (1, "POP")]
    assert query(bench, "d") == [(3, "POP"), (0, "POP")]
    set_mode(bench, popShareQueueNum=3)
    assert query(bench, "a") == [(-1, "POP")]


def test_more_consumers_than_queues_have_one_each(bench):
    join(bench, *"abcdef")
    set_mode(bench, popShareQueueNum=1)
    assert [query(bench, client) for client in "aef"] == [[(0, "POP")], [(0, "POP")], [(1, "POP")]]


def test_broadcasting_consumers_have_all_queues(bench):
    assert query(bench, "a", messageModel="BROADCASTING") == [(number, "PULL") for number in range(4)]


@pytest.mark.parametrize("more", [{"topic": "nope"}, {"strategyName": "NOSUCH"}, {"consumerGroup": "unknown"}])
def test_where_nothing_can_be_said_the_answer_is_empty(bench, more):
    join(bench, "a")
    assert query(bench, "a", **more) is None


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"topic": "%RETRY%CG"}, 16),
        ({"topic": "nope"}, 17),
        ({"consumerGroup": "a b"}, 26),
        ({"mode": "PUSH"}, 1),
        ({"topic": ""}, 1),
    ],
)
def test_a_mode_that_cannot_be_set_is_refused(bench, wrong, code):
    assert set_mode(bench, **wrong).code == code


def test_modes_are_listed_and_come_back_from_their_file(bench):
    set_mode(bench)
    listed = json.loads(bench.answer(bench.peer, RequestCode.GET_ALL_MESSAGE_REQUEST_MODE).body)
    entry = {"consumerGroup": "CG", "mode": "POP", "popShareQueueNum": 0, "topic": "T"}
    assert listed == {"messageRequestModeMap": {"T": {"CG": entry}}}
    modes = RequestModes()
    modes.load(listed)
    assert modes.to_json() == listed
    assert modes.clean(lambda _topic: False)
    assert modes.get("T", "CG") is None


def test_a_file_that_cannot_be_read_is_told():
    with pytest.raises(CodecError, match="PULL or POP"):
        RequestModes().load({"messageRequestModeMap": {"T": {"g": {"topic": "T", "consumerGroup": "g", "mode": "?"}}}})


def test_queues_of_other_brokers_are_assigned_too(bench):
    route = [MessageQueue("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(2)]
    bench.dispatcher.pop.assignment._route = lambda topic: route if topic == "T" else []
    join(bench, "a", "b")

    def brokers(client_id, **more):
        body = {"clientId": client_id, "consumerGroup": "CG", "messageModel": "CLUSTERING", "strategyName": "AVG", "topic": "T"}
        items = json.loads(bench.answer(bench.peer, RequestCode.QUERY_ASSIGNMENT, body=body | more).body)
        return [
            (item["messageQueue"]["brokerName"], item["messageQueue"]["queueId"]) for item in items["messageQueueAssignments"]
        ]

    assert brokers("b") == [("broker-b", 0), ("broker-b", 1)]
    assert len(brokers("a", messageModel="BROADCASTING")) == 4
    set_mode(bench)
    assert brokers("a") == [("broker-a", -1), ("broker-b", -1)], "one entry for all queues of each broker"
