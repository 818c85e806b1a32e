import pytest

from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.json_body import MessageQueue, parse_object
from tests.support.broker_bench import RecordingPeer, consumer_heartbeat

PEER = RecordingPeer()


def create(bench, **more):
    fields = {
        "topic": "T", "defaultTopic": "TBW102", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": "false",
    }  # fmt: skip
    return bench.answer(PEER, Q.UPDATE_AND_CREATE_TOPIC, fields | more)


def test_a_topic_is_created_changed_and_listed(bench):
    assert create(bench).code == R.SUCCESS
    before = bench.state.topics.version
    assert create(bench, writeQueueNums=1, perm=4, order="true").code == R.SUCCESS
    topic = bench.state.topics.get("T")
    assert (topic.read_queues, topic.write_queues, topic.permission, topic.order) == (2, 1, 4, True)
    assert bench.state.topics.version.counter == before.counter + 1
    table = parse_object(bench.answer(PEER, Q.GET_ALL_TOPIC_CONFIG).body)
    assert table["topicConfigTable"]["T"]["writeQueueNums"] == 1
    one = parse_object(bench.answer(PEER, Q.GET_TOPIC_CONFIG, {"topic": "T"}).body)
    assert (one["topicName"], one["attributes"]) == ("T", {})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"topic": "TBW102"}, "The topic[TBW102] is conflict with system topic."),
        ({"topic": "rmq_sys_x"}, "conflict"),
        ({"topic": ""}, "blank"),
        ({"topic": "a b"}, "illegal characters"),
        ({"readQueueNums": 4097}, "4,096"),
        ({"writeQueueNums": -1}, "-1"),
        ({"perm": 16}, "perm"),
        ({"perm": "rw"}, "perm"),
        ({"topicFilterType": "NO_TAG"}, "SINGLE_TAG and MULTI_TAG"),
    ],
)
def test_what_is_no_topic_is_refused(bench, change, words):
    response = create(bench, **change)
    assert (response.code, words in response.remark) == (R.SYSTEM_ERROR, True), response.remark


@pytest.mark.parametrize("kind", ["UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED"])
def test_the_type_of_messages_is_declared_and_withdrawn(bench, kind):
    assert create(bench, attributes=f"+message.type={kind}").code == R.SUCCESS
    one = parse_object(bench.answer(PEER, Q.GET_TOPIC_CONFIG, {"topic": "T"}).body)
    assert one["attributes"] == {"message.type": kind}
    assert create(bench, writeQueueNums=1).code == R.SUCCESS
    assert bench.state.topics.get("T").attributes == {"message.type": kind}
    assert create(bench, attributes="-message.type").code == R.SUCCESS
    assert bench.state.topics.get("T").attributes == {}


def test_a_type_of_messages_that_there_is_not_is_refused(bench):
    response = create(bench, attributes="+message.type=FIF0")
    assert response.code == R.SYSTEM_ERROR
    assert response.remark == (
        "message.type of topic T is “FIF0”, allowed are UNSPECIFIED, NORMAL, FIFO, DELAY, TRANSACTION, MIXED"
    )
    assert bench.state.topics.get("T") is None


def test_a_type_that_a_newer_broker_declared_stays(bench):
    bench.state.topics.put(TopicConfig("T", 2, 2, attributes={"message.type": "LITE"}))
    assert create(bench, writeQueueNums=1).code == R.SUCCESS
    assert bench.state.topics.get("T").attributes == {"message.type": "LITE"}


def test_statistics_of_each_queue(bench):
    create(bench)
    start = bench.clock()
    bench.put(queue_id=1)
    bench.clock.advance(10)
    bench.put(queue_id=1)
    table = parse_object(bench.answer(PEER, Q.GET_TOPIC_STATS_INFO, {"topic": "T"}).body)["offsetTable"]
    assert table == {
        MessageQueue("T", "broker-a", 0): {"lastUpdateTimestamp": 0, "maxOffset": 0, "minOffset": 0},
        MessageQueue("T", "broker-a", 1): {"lastUpdateTimestamp": start + 10, "maxOffset": 2, "minOffset": 0},
    }


@pytest.mark.parametrize("code", [Q.GET_TOPIC_STATS_INFO, Q.GET_TOPIC_CONFIG])
def test_an_unknown_topic_has_none(bench, code):
    assert bench.answer(PEER, code, {"topic": "Nowhere"}).code == R.TOPIC_NOT_EXIST


def test_a_deleted_topic_is_gone_with_its_queues_and_offsets(bench):
    bench.put()
    bench.state.offsets.commit("CG", "T", 0, 1)
    assert bench.answer(PEER, Q.DELETE_TOPIC_IN_BROKER, {"topic": "T"}).code == R.SUCCESS
    assert bench.state.topics.get("T") is None
    assert (bench.state.store.queues(), bench.state.offsets.items()) == ([], [])
    assert bench.answer(PEER, Q.DELETE_TOPIC_IN_BROKER, {"topic": "T"}).code == R.SUCCESS
    assert bench.answer(PEER, Q.DELETE_TOPIC_IN_BROKER, {"topic": "TBW102"}).code == R.SYSTEM_ERROR


def test_a_deleted_topic_takes_its_retry_topics_of_pops_along(bench):
    retries = ["%RETRY%CG_T", "%RETRY%CG+T", "%RETRY%Gone_T"]
    kept = ["%RETRY%CG", "%RETRY%CG_U", "%RETRY%Other_T"]
    for name in ("T", *retries, *kept):
        bench.state.topics.ensure(name, queues=1)
        bench.put(name)
    for group in bench.state.groups.all().keys() - {"Other_T"}:
        bench.state.groups.remove(group)  # made by those sends; the broker itself puts retries without
    for group in ("CG", "Other"):
        bench.state.groups.find(group)
    bench.state.offsets.commit("Gone", "T", 0, 1)  # a group whose config was deleted
    assert bench.answer(PEER, Q.DELETE_TOPIC_IN_BROKER, {"topic": "T"}).code == R.SUCCESS
    left = {topic for topic, _queue_id in bench.state.store.queues()}
    assert left == set(kept), "%RETRY%Other_T is that of the group Other_T"
    assert not {"T", *retries} & set(bench.state.topics.all())


def test_a_retry_topic_that_another_topic_shares_outlives_a_deleted_topic(bench):
    for name in ("t", "a_t", "%RETRY%g_a_t"):
        bench.state.topics.ensure(name, queues=1)
        bench.put(name)
    bench.state.groups.remove("g_a_t")  # made by that send; the broker itself puts retries without
    for group in ("g", "g_a"):
        bench.state.groups.find(group)
    assert bench.answer(PEER, Q.DELETE_TOPIC_IN_BROKER, {"topic": "t"}).code == R.SUCCESS
    assert "%RETRY%g_a_t" in bench.state.topics
    assert bench.answer(PEER, Q.DELETE_TOPIC_IN_BROKER, {"topic": "a_t"}).code == R.SUCCESS
    assert "%RETRY%g_a_t" not in bench.state.topics


def test_who_consumes_a_topic(bench):
    bench.answer(PEER, Q.HEART_BEAT, body=consumer_heartbeat("c", "Online", T="*"))
    bench.state.offsets.commit("Offline", "T", 0, 1)
    body = parse_object(bench.answer(PEER, Q.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": "T"}).body)
    assert body == {"groupList": ["Offline", "Online"]}


def test_system_topics_include_the_names_of_cluster_and_broker(bench):
    names = parse_object(bench.answer(PEER, Q.GET_SYSTEM_TOPIC_LIST_FROM_BROKER).body)["topicList"]
    assert {"TBW102", "SCHEDULE_TOPIC_XXXX", "DefaultCluster", "broker-a", "DefaultCluster_REPLY_TOPIC"} <= set(names)
