"""Heartbeats, goodbyes, members and orderly locks."""

import pytest

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.json_body import parse_object
from tests.support.broker_bench import RecordingPeer, broker_bench, consumer_heartbeat


@pytest.fixture
def peers():
    return RecordingPeer("10.0.0.1:1"), RecordingPeer("10.0.0.2:2")


def ids(bench, group="CG"):
    return parse_object(bench.answer(RecordingPeer(), Q.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}).body)


def test_a_first_heartbeat_makes_group_and_retry_topic_and_tells_the_member(bench, peers):
    response = bench.answer(peers[0], Q.HEART_BEAT, body=consumer_heartbeat("c1", T="*"))
    assert response.code == R.SUCCESS
    assert bench.state.groups.get("CG").retry_times_max == 16
    retry = bench.state.topics.get("%RETRY%CG")
    assert (retry.read_queues, retry.write_queues, retry.permission) == (1, 1, 6)
    (push,) = peers[0].pushed
    assert (push.code, push.ext_fields) == (Q.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": "CG"})
    assert ids(bench) == {"consumerIdList": ["c1"]}


def test_all_members_are_told_of_a_new_one_but_not_of_a_repeated_heartbeat(bench, peers):
    for name, peer in zip(("c1", "c2"), peers, strict=True):
        bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat(name, T="*"))
    assert [len(peer.pushed) for peer in peers] == [2, 1]
    bench.answer(peers[0], Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("*", 99)))
    assert [len(peer.pushed) for peer in peers] == [2, 1]
    bench.answer(peers[0], Q.HEART_BEAT, body=consumer_heartbeat("c1", T="*", U="*"))
    assert [len(peer.pushed) for peer in peers] == [3, 2]


@pytest.mark.parametrize("leave", ["goodbye", "connection"])
def test_a_member_that_leaves_is_told_to_the_others(bench, peers, leave):
    for name, peer in zip(("c1", "c2"), peers, strict=True):
        bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat(name, T="*"))
    if leave == "goodbye":
        fields = {"clientID": "c1", "producerGroup": "", "consumerGroup": "CG"}
        assert bench.answer(peers[0], Q.UNREGISTER_CLIENT, fields).code == R.SUCCESS
    else:
        bench.dispatcher.disconnected(peers[0])
    assert [len(peer.pushed) for peer in peers] == [2, 2]
    assert ids(bench) == {"consumerIdList": ["c2"]}


def test_a_group_without_members_is_unknown(bench, peers):
    bench.answer(peers[0], Q.HEART_BEAT, body=consumer_heartbeat("c1", T="*"))
    bench.dispatcher.disconnected(peers[0])
    response = bench.answer(peers[1], Q.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "CG"})
    assert (response.code, response.remark) == (R.SYSTEM_ERROR, "no consumer for this group, CG")


def test_a_group_that_wants_no_notifications_gets_none(bench, peers):
    config = {"groupName": "CG", "notifyConsumerIdsChangedEnable": False}
    bench.answer(peers[0], Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=config)
    bench.answer(peers[0], Q.HEART_BEAT, body=consumer_heartbeat("c1", T="*"))
    assert peers[0].pushed == []


def test_producers_are_registered_and_leave(bench, peers):
    body = {"clientID": "p1", "producerDataSet": [{"groupName": "PG"}]}
    bench.answer(peers[0], Q.HEART_BEAT, body=body)
    (client,) = bench.state.producers.members("PG")
    assert (client.client_id, client.address, client.last_heartbeat_ms) == ("p1", "10.0.0.1:1", bench.clock())
    bench.answer(peers[0], Q.UNREGISTER_CLIENT, {"clientID": "p1", "producerGroup": "PG"})
    assert bench.state.producers.members("PG") is None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"no json", R.SYSTEM_ERROR),
        (b"{}", R.SYSTEM_ERROR),
        (b'{"clientID":"c","consumerDataSet":[{}]}', R.SYSTEM_ERROR),
        (b'{"clientID":"c","consumerDataSet":[{"groupName":"no such name!"}]}', R.SUBSCRIPTION_GROUP_NOT_EXIST),
    ],
)
def test_a_heartbeat_that_cannot_be_used_is_answered_with_its_fault(bench, peers, body, code):
    response = bench.answer(peers[0], Q.HEART_BEAT, body=body)
    assert response.code == code
    assert response.remark


def test_without_auto_creation_unknown_groups_are_refused(tmp_path, peers):
    with broker_bench(tmp_path, auto_create_group=False) as bench:
        response = bench.answer(peers[0], Q.HEART_BEAT, body=consumer_heartbeat("c1", T="*"))
        assert response.code == R.SUBSCRIPTION_GROUP_NOT_EXIST


@pytest.mark.parametrize(("kind", "code"), [("TAG", R.SUCCESS), (None, R.SUCCESS), ("SQL92", R.SYSTEM_ERROR)])
def test_a_consumer_learns_at_its_start_whether_its_filter_is_served(bench, peers, kind, code):
    body = {"clientId": "c", "group": "CG", "subscriptionData": {"expressionType": kind, "topic": "T"}}
    assert bench.answer(peers[0], Q.CHECK_CLIENT_CONFIG, body=body).code == code


def lock(bench, client, code=Q.LOCK_BATCH_MQ):
    queue = {"brokerName": "broker-a", "queueId": 0, "topic": "T"}
    body = {"clientId": client, "consumerGroup": "CG", "mqSet": [queue]}
    response = bench.answer(RecordingPeer(), code, body=body)
    assert response.code == R.SUCCESS
    return parse_object(response.body).get("lockOKMQSet")


def test_one_client_holds_a_queue_until_it_unlocks_or_its_lease_ends(bench):
    queue = {"brokerName": "broker-a", "queueId": 0, "topic": "T"}
    assert lock(bench, "c1") == [queue]
    assert lock(bench, "c2") == []
    lock(bench, "c2", Q.UNLOCK_BATCH_MQ)
    assert lock(bench, "c2") == []
    lock(bench, "c1", Q.UNLOCK_BATCH_MQ)
    assert lock(bench, "c2") == [queue]
    bench.clock.advance(60_001)
    assert lock(bench, "c1") == [queue]


@pytest.mark.parametrize(
    ("kind", "expression", "code"),
    [
        ("SQL92", "price > 1", R.SUCCESS),
        ("SQL92", "price >", R.SUBSCRIPTION_PARSE_FAILED),
        ("SQL92", "", R.SUBSCRIPTION_PARSE_FAILED),
        ("XPATH", "price > 1", R.SUBSCRIPTION_PARSE_FAILED),
        ("TAG", "a || b", R.SUCCESS),
    ],
)
def test_with_filters_on_a_consumer_learns_whether_its_filter_can_be_read(tmp_path, peers, kind, expression, code):
    with broker_bench(tmp_path, property_filter=True) as bench:
        body = {"clientId": "c", "subscriptionData": {"expressionType": kind, "topic": "T", "subString": expression}}
        response = bench.answer(peers[0], Q.CHECK_CLIENT_CONFIG, body=body)
        assert (response.code, bool(response.remark)) == (code, code != R.SUCCESS)


def test_members_with_different_topics_notify_the_group_at_every_heartbeat(bench, peers):
    first, second = peers[:2]
    for _ in range(3):
        bench.answer(first, Q.HEART_BEAT, body=consumer_heartbeat("c1", A="*"))
        bench.answer(second, Q.HEART_BEAT, body=consumer_heartbeat("c2", B="*"))
    assert len(first.pushed) == 6
    first.pushed.clear()
    for _ in range(3):
        bench.answer(second, Q.HEART_BEAT, body=consumer_heartbeat("c2", B="*"))
    assert first.pushed == []


def test_the_filter_of_a_group_dies_with_its_last_member(tmp_path, peers):
    with broker_bench(tmp_path, property_filter=True) as bench:
        for number, peer in enumerate(peers[:2]):
            bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat(f"c{number}", T=("a > 1", 1, "SQL92")))
        bench.answer(peers[0], Q.UNREGISTER_CLIENT, {"clientID": "c0", "consumerGroup": "CG"})
        assert not bench.dispatcher.filters.get("T", "CG").dead
        bench.dispatcher.disconnected(peers[1])
        assert bench.dispatcher.filters.get("T", "CG").dead
