import pytest

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.json_body import MessageQueue, parse_object
from tests.support.broker_bench import RecordingPeer, consumer_heartbeat, pull_fields

PEER = RecordingPeer()
FIRST = MessageQueue("T", "broker-a", 0)


def ask(bench, code, **fields):
    answer = bench.answer(PEER, code, fields)
    assert answer.code == R.SUCCESS, answer.remark
    return parse_object(answer.body)


@pytest.fixture
def filled(bench):
    """Five messages, a second apart, two of them with a tag; three are consumed."""
    for number in range(5):
        bench.put(properties="TAGS\x01TagA" if number < 2 else "")
        bench.clock.advance(1_000)
    bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(maxMsgNums=3))
    bench.state.offsets.commit("CG", "T", 0, 3)
    return bench


def test_600_messages_in_a_minute(bench):
    for _ in range(60):
        for _ in range(10):
            bench.put()
        bench.clock.advance(1_000)
        bench.state.counters.sample(bench.clock())
    minute = ask(bench, Q.VIEW_BROKER_STATS_DATA, statsName="TOPIC_PUT_NUMS", statsKey="T")["statsMinute"]
    assert minute == {"avgpt": 1.0, "sum": 600, "tps": 10.0}
    row = dict(part.rsplit(":", 1) for part in put_times(bench).split())
    assert sum(map(int, row.values())) == 600
    for _ in range(60):
        bench.clock.advance(1_000)
        bench.state.counters.sample(bench.clock())
    assert {part.rsplit(":", 1)[1] for part in put_times(bench).split()} == {"0"}, "the row resets each minute"


def put_times(bench):
    return ask(bench, Q.GET_BROKER_RUNTIME_INFO)["table"]["putMessageDistributeTime"]


def test_statistics_that_are_not_kept_do_not_exist(bench):
    answer = bench.answer(PEER, Q.VIEW_BROKER_STATS_DATA, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "T"})
    assert (answer.code, answer.remark) == (R.SYSTEM_ERROR, "The stats <TOPIC_PUT_NUMS> <T> not exist")


def test_the_rate_of_a_group_and_its_lag(filled):
    filled.clock.advance(5_000)
    filled.state.counters.sample(filled.clock())
    progress = ask(filled, Q.GET_CONSUME_STATS, consumerGroup="CG")
    lag = {queue: row["brokerOffset"] - row["consumerOffset"] for queue, row in progress["offsetTable"].items()}
    assert lag[FIRST] == 5 - 3, "produced minus consumed"
    assert progress["consumeTps"] == pytest.approx(0.3)


def test_progress_of_all_groups(filled):
    body = ask(filled, Q.GET_BROKER_CONSUME_STATS, isOrder="false")
    groups = {name: stats for entry in body["consumeStatsList"] for name, stats in entry.items()}
    assert groups["CG"][0]["offsetTable"][FIRST]["consumerOffset"] == 3
    assert groups["TOOLS_CONSUMER"] == []
    assert (body["totalDiff"], body["brokerAddr"]) == (2, "127.0.0.1:10911")
    ordered = ask(filled, Q.GET_BROKER_CONSUME_STATS, isOrder="true")
    assert ordered["totalDiff"] == 0


def test_time_spans_of_each_queue(filled):
    start = filled.clock() - 5_000
    spans = ask(filled, Q.QUERY_CONSUME_TIME_SPAN, topic="T", group="CG")["consumeTimeSpanSet"]
    assert spans[0] == {
        "consumeTimeStamp": start + 2_000,
        "delayTime": 2_000,
        "maxTimeStamp": start + 4_000,
        "messageQueue": {"brokerName": "broker-a", "queueId": 0, "topic": "T"},
        "minTimeStamp": start,
    }
    assert (spans[1]["minTimeStamp"], spans[1]["delayTime"]) == (-1, 0)
    missing = filled.answer(PEER, Q.QUERY_CONSUME_TIME_SPAN, {"topic": "Other", "group": "CG"})
    assert missing.code == R.TOPIC_NOT_EXIST


def test_entries_of_a_consume_queue(filled):
    body = ask(filled, Q.QUERY_CONSUME_QUEUE, topic="T", queueId=0, index=1, count=2)
    assert (body["minQueueIndex"], body["maxQueueIndex"], "filterData" in body) == (0, 5, False)
    assert [(entry["tagsCode"], entry["eval"]) for entry in body["queueData"]] == [(2598919, False), (0, False)]
    offline = ask(filled, Q.QUERY_CONSUME_QUEUE, topic="T", queueId=0, index=0, count=1, consumerGroup="CG")
    assert offline["filterData"] == "CG@T is not online!"
    missing = filled.answer(PEER, Q.QUERY_CONSUME_QUEUE, {"topic": "T", "queueId": 3, "index": 0, "count": 1})
    assert (missing.code, missing.remark) == (R.SYSTEM_ERROR, "3@T is not exist!")


def test_entries_say_whether_the_group_takes_them(filled):
    filled.answer(RecordingPeer(), Q.HEART_BEAT, {}, consumer_heartbeat("me", T="TagA"))
    body = ask(filled, Q.QUERY_CONSUME_QUEUE, topic="T", queueId=0, index=0, count=9, consumerGroup="CG")
    assert [entry["eval"] for entry in body["queueData"]] == [True, True, False, False, False]
    assert (body["filterData"], body["subscriptionData"]["subString"]) == ("null", "TagA")


def test_topics_and_subscriptions_of_a_group(filled):
    assert ask(filled, Q.QUERY_TOPICS_BY_CONSUMER, group="CG")["topicList"] == ["T"]
    offline = ask(filled, Q.QUERY_SUBSCRIPTION_BY_CONSUMER, group="CG", topic="T")
    assert offline == {"group": "CG", "topic": "T"}
    filled.answer(RecordingPeer(), Q.HEART_BEAT, {}, consumer_heartbeat("me", T="TagA"))
    online = ask(filled, Q.QUERY_SUBSCRIPTION_BY_CONSUMER, group="CG", topic="T")
    assert online["subscriptionData"]["tagsSet"] == ["TagA"]


def test_a_group_can_be_forbidden_to_read_a_topic(filled):
    fields = {"group": "CG", "topic": "T"}
    assert ask(filled, Q.UPDATE_AND_GET_GROUP_FORBIDDEN, **fields)["readable"] is True
    assert ask(filled, Q.UPDATE_AND_GET_GROUP_FORBIDDEN, readable="false", **fields)["readable"] is False
    assert filled.answer(PEER, Q.PULL_MESSAGE, pull_fields()).code == R.NO_PERMISSION
    assert filled.state.groups.to_json()["forbiddenTable"] == {"CG": {"T": 4}}
    ask(filled, Q.UPDATE_AND_GET_GROUP_FORBIDDEN, readable="true", **fields)
    assert filled.answer(PEER, Q.PULL_MESSAGE, pull_fields()).code == R.SUCCESS
    assert "forbiddenTable" not in filled.state.groups.to_json()
