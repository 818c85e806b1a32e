from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.json_body import MessageQueue, parse_object
from tests.support.broker_bench import RecordingPeer, consumer_heartbeat

PEER = RecordingPeer("10.0.0.1:1")


def body_of(bench, code, fields=None):
    response = bench.answer(PEER, code, fields)
    assert response.code == R.SUCCESS, response.remark
    return parse_object(response.body)


def test_a_group_is_created_listed_and_deleted_with_its_offsets(bench):
    config = {"groupName": "CG", "retryMaxTimes": 3, "consumeBroadcastEnable": False}
    assert bench.answer(PEER, Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=config).code == R.SUCCESS
    table = body_of(bench, Q.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)["subscriptionGroupTable"]
    assert (table["CG"]["retryMaxTimes"], table["CG"]["consumeBroadcastEnable"], table["CG"]["retryQueueNums"]) == (3, False, 1)
    assert "TOOLS_CONSUMER" in table
    assert body_of(bench, Q.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "CG"})["groupName"] == "CG"
    bench.state.offsets.commit("CG", "T", 0, 1)
    bench.answer(PEER, Q.DELETE_SUBSCRIPTIONGROUP, {"groupName": "CG"})
    assert bench.state.offsets.get("CG", "T", 0) == 1
    bench.answer(PEER, Q.DELETE_SUBSCRIPTIONGROUP, {"groupName": "CG", "cleanOffset": "true"})
    assert bench.state.offsets.get("CG", "T", 0) == -1
    gone = bench.answer(PEER, Q.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "CG"})
    assert gone.code == R.SUBSCRIPTION_GROUP_NOT_EXIST


def test_a_group_needs_a_name(bench):
    for body in ({}, {"groupName": "a b"}, {"groupName": "x", "retryMaxTimes": "many"}):
        assert bench.answer(PEER, Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body).code == R.SYSTEM_ERROR


def test_members_of_groups(bench):
    beat = consumer_heartbeat("c1", T="a") | {"producerDataSet": [{"groupName": "PG"}]}
    bench.answer(PEER, Q.HEART_BEAT, body=beat)
    connection = {"clientAddr": "10.0.0.1:1", "clientId": "c1", "language": "PYTHON", "version": 409}
    consumers = body_of(bench, Q.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "CG"})
    assert consumers["connectionSet"] == [connection]
    assert consumers["subscriptionTable"]["T"]["subString"] == "a"
    assert (consumers["messageModel"], consumers["consumeType"]) == ("CLUSTERING", "CONSUME_PASSIVELY")
    assert body_of(bench, Q.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "PG"})["connectionSet"] == [connection]
    assert [c["clientId"] for c in body_of(bench, Q.GET_ALL_PRODUCER_INFO)["data"]["PG"]] == ["c1"]


def test_groups_that_nobody_is_in_have_no_connections(bench):
    offline = bench.answer(PEER, Q.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "CG"})
    assert (offline.code, offline.remark) == (R.CONSUMER_NOT_ONLINE, "the consumer group[CG] not online")
    assert bench.answer(PEER, Q.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "PG"}).code == R.SYSTEM_ERROR


def test_progress_of_a_group_in_each_queue(bench):
    start = bench.clock()
    for _ in range(3):
        bench.put()
        bench.clock.advance(5)
    bench.state.offsets.commit("CG", "T", 0, 2)
    bench.state.offsets.commit("CG", "Deleted", 0, 2)
    table = body_of(bench, Q.GET_CONSUME_STATS, {"consumerGroup": "CG"})["offsetTable"]
    assert table[MessageQueue("T", "broker-a", 0)] == {"brokerOffset": 3, "consumerOffset": 2, "lastTimestamp": start + 5}
    assert table[MessageQueue("T", "broker-a", 1)] == {"brokerOffset": 0, "consumerOffset": 0, "lastTimestamp": 0}
    assert len(table) == 4


def test_an_online_groups_progress_leaves_out_topics_that_it_gave_up(bench):
    bench.put("T")
    bench.put("U")
    for topic in "TU":
        bench.state.offsets.commit("CG", topic, 0, 1)
    bench.answer(PEER, Q.HEART_BEAT, body=consumer_heartbeat("c1", U="*"))
    table = body_of(bench, Q.GET_CONSUME_STATS, {"consumerGroup": "CG"})["offsetTable"]
    assert {queue.topic for queue in table} == {"U"}


def test_progress_of_an_unknown_group_is_empty(bench):
    body = body_of(bench, Q.GET_CONSUME_STATS, {"consumerGroup": "nobody"})
    assert (body["offsetTable"], body["consumeTps"]) == ({}, 0.0)
