"""Pulls: codes of every status, filters, and waiting for a message."""

import asyncio
import logging

import pytest

from broker_core.engine.processors import pull_processor
from broker_core.engine.processors.pull_request import TermsReader
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import RecordingPeer, broker_bench, consumer_heartbeat, pull_fields
from tests.support.remoting_peer import eventually

COMMIT, SUSPEND, INLINE = 1, 2, 4


@pytest.fixture
def peer():
    return RecordingPeer("10.0.0.9:1000")


def bodies(response):
    data, found = b"".join(response.body_slices), []
    while data:
        message = decode_record(data)
        found.append(message.body)
        data = data[message.store_size :]
    return found


def tagged(bench, tag, body=b"x", queue_id=0):
    return bench.put(body=body, queue_id=queue_id, properties=f"TAGS\x01{tag}")


@pytest.mark.parametrize(
    ("queue_id", "offset", "answer"),
    [
        (0, 0, (R.SUCCESS, "FOUND", 2)),
        (0, 1, (R.SUCCESS, "FOUND", 2)),
        (0, 2, (R.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", 2)),
        (0, 9, (R.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", 2)),
        (0, -1, (R.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL", 0)),
        (1, 0, (R.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE", 0)),
        (1, 5, (R.PULL_OFFSET_MOVED, "NO_MESSAGE_IN_QUEUE", 0)),
    ],
)
def test_each_status_answers_its_code_and_next_offset(bench, peer, queue_id, offset, answer):
    code, status, next_offset = answer
    bench.put(body=b"one")
    bench.put(body=b"two")
    response = bench.answer(peer, Q.PULL_MESSAGE, pull_fields(queue_id=queue_id, offset=offset))
    assert (response.code, response.remark) == (code, status)
    assert response.ext_fields["nextBeginOffset"] == str(next_offset)
    assert response.ext_fields["suggestWhichBrokerId"] == "0"
    assert bodies(response) == ([b"one", b"two"][offset:] if code == R.SUCCESS else [])
    if queue_id == 0:
        assert (response.ext_fields["minOffset"], response.ext_fields["maxOffset"]) == ("0", "2")


def test_an_answers_records_are_slices_of_the_store(bench, peer):
    bench.put(body=b"one")
    response = bench.answer(peer, Q.PULL_MESSAGE, pull_fields())
    assert [type(record) for record in response.body_slices] == [memoryview]


def test_a_lite_pull_is_a_pull(bench, peer):
    bench.put(body=b"one")
    assert bodies(bench.answer(peer, Q.LITE_PULL_MESSAGE, pull_fields(sysFlag=INLINE | 16))) == [b"one"]


def test_only_messages_of_the_wanted_tags_come_and_the_offset_passes_the_others(bench, peer):
    for tag in "abcab":
        tagged(bench, tag, tag.encode())
    response = bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subscription="a || c"))
    assert bodies(response) == [b"a", b"c", b"a"]
    assert response.ext_fields["nextBeginOffset"] == "5"
    nothing = bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subscription="z"))
    assert (nothing.code, nothing.ext_fields["nextBeginOffset"]) == (R.PULL_RETRY_IMMEDIATELY, "5")


def test_tags_with_one_hash_both_pass_as_the_client_tells_them_apart(bench, peer):
    tagged(bench, "Aa", b"1")
    tagged(bench, "BB", b"2")
    assert bodies(bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subscription="Aa"))) == [b"1", b"2"]


def test_a_pull_passes_800_unwanted_messages_at_once(bench, peer):
    for _ in range(1000):
        tagged(bench, "other")
    response = bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subscription="wanted"))
    assert int(response.ext_fields["nextBeginOffset"]) >= 800


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"consumerGroup": "bad group"}, R.SUBSCRIPTION_GROUP_NOT_EXIST, "bad group"),
        ({"topic": "Nowhere"}, R.TOPIC_NOT_EXIST, "topic[Nowhere]"),
        ({"topic": "WriteOnly"}, R.NO_PERMISSION, "WriteOnly"),
        ({"queueId": 4}, R.SYSTEM_ERROR, "queueId[4]"),
        ({"queueId": -1}, R.SYSTEM_ERROR, "queueId[-1]"),
        ({"queueOffset": "x"}, R.SYSTEM_ERROR, "queueOffset"),
        ({"subscription": " || "}, R.SUBSCRIPTION_PARSE_FAILED, "||"),
        (
            {"subscription": "a > 1", "expressionType": "SQL92"},
            R.SYSTEM_ERROR,
            "filter message by SQL92; set enablePropertyFilter",
        ),
        ({"sysFlag": 0}, R.SUBSCRIPTION_NOT_EXIST, "group info not exist"),
        # the order of checks decides: group before topic before queue
        ({"consumerGroup": "bad group", "topic": "Nowhere"}, R.SUBSCRIPTION_GROUP_NOT_EXIST, ""),
        ({"topic": "Nowhere", "queueId": 99}, R.TOPIC_NOT_EXIST, ""),
    ],
)
def test_checks_answer_their_code_and_a_reason(bench, peer, change, code, words):
    bench.put()
    bench.state.topics.put(TopicConfig("WriteOnly", 4, 4, permission=2))
    response = bench.answer(peer, Q.PULL_MESSAGE, pull_fields() | change)
    assert (response.code, words in response.remark) == (code, True), response.remark


def test_the_registered_subscription_decides_and_must_be_as_new_as_the_request(bench, peer):
    tagged(bench, "a", b"1")
    tagged(bench, "b", b"2")
    bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("b", 5)))
    registered = {"sysFlag": 0, "subscription": ""}
    assert bodies(bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subVersion=5, **registered))) == [b"2"]
    newer = bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subVersion=6, **registered))
    assert newer.code == R.SUBSCRIPTION_NOT_LATEST
    bench.state.topics.put(TopicConfig("Other", 1, 1))
    assert bench.answer(peer, Q.PULL_MESSAGE, pull_fields("Other", **registered)).code == R.SUBSCRIPTION_NOT_EXIST


def test_a_group_that_may_not_consume_gets_nothing(bench, peer):
    bench.put()
    config = {"groupName": "CG", "consumeEnable": False}
    bench.answer(peer, Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=config)
    assert bench.answer(peer, Q.PULL_MESSAGE, pull_fields()).code == R.NO_PERMISSION


def held_pull(bench, peer, offset=1, **more):
    fields = pull_fields(offset=offset, sysFlag=INLINE | SUSPEND) | more
    assert bench.ask(peer, Q.PULL_MESSAGE, fields) is None
    assert len(bench.dispatcher.pull.holds) == 1


def test_a_new_message_answers_a_held_pull_inside_of_its_put(bench, peer):
    bench.put()
    held_pull(bench, peer)
    bench.put(body=b"new")
    (answer,) = peer.sent
    assert (answer.code, answer.opaque, bodies(answer)) == (R.SUCCESS, 7, [b"new"])
    assert len(bench.dispatcher.pull.holds) == 0


def test_a_pull_is_held_on_a_queue_that_does_not_exist_yet(bench, peer):
    bench.put(queue_id=1)
    held_pull(bench, peer, offset=0)
    bench.put(queue_id=0, body=b"first")
    assert bodies(peer.sent[0]) == [b"first"]


def test_messages_of_other_queues_and_tags_do_not_wake(bench, peer):
    bench.put()
    held_pull(bench, peer, subscription="a")
    bench.put(queue_id=1)
    tagged(bench, "b")
    assert peer.sent == []
    tagged(bench, "a", b"wanted")
    assert bodies(peer.sent[0]) == [b"wanted"]


def test_unwanted_messages_move_a_held_pull_on_at_the_next_tick(bench, peer):
    bench.put()
    bench.dispatcher.pull.tick()
    held_pull(bench, peer, subscription="a")
    tagged(bench, "b")
    bench.clock.advance(4_999)
    bench.dispatcher.pull.tick()
    assert peer.sent == []
    bench.clock.advance(1)
    bench.dispatcher.pull.tick()
    assert (peer.sent[0].code, peer.sent[0].ext_fields["nextBeginOffset"]) == (R.PULL_RETRY_IMMEDIATELY, "2")


def test_without_messages_a_held_pull_is_answered_when_its_time_is_over(bench, peer):
    bench.put()
    held_pull(bench, peer, suspendTimeoutMillis=15_000)
    bench.clock.advance(14_999)
    bench.dispatcher.pull.tick()
    assert peer.sent == []
    bench.clock.advance(1)
    bench.dispatcher.pull.tick()
    assert (peer.sent[0].code, peer.sent[0].remark) == (R.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE")


def test_with_long_polling_off_a_pull_is_held_for_the_short_time_only(tmp_path, peer):
    with broker_bench(tmp_path, long_polling=False) as bench:
        bench.put()
        held_pull(bench, peer)
        bench.clock.advance(1_000)
        bench.dispatcher.pull.tick()
        assert peer.sent[0].code == R.PULL_NOT_FOUND


def test_with_long_polling_off_a_message_is_seen_at_the_next_look(tmp_path, peer):
    with broker_bench(tmp_path, long_polling=False) as bench:
        bench.put()
        bench.dispatcher.pull.tick()
        held_pull(bench, peer)
        bench.put(body=b"new")
        assert peer.sent == []
        bench.clock.advance(1_000)
        bench.dispatcher.pull.tick()
        assert bodies(peer.sent[0]) == [b"new"]


def test_the_offset_in_a_pull_is_stored_even_when_the_pull_is_held_but_not_without_its_flag(bench, peer):
    bench.put()
    held_pull(bench, peer, sysFlag=INLINE | SUSPEND | COMMIT, commitOffset=1)
    assert bench.state.offsets.get("CG", "T", 0) == 1
    bench.answer(peer, Q.PULL_MESSAGE, pull_fields(commitOffset=44))
    assert bench.state.offsets.get("CG", "T", 0) == 1


def test_a_connection_that_ends_leaves_no_held_pull(bench, peer):
    bench.put()
    held_pull(bench, peer)
    bench.dispatcher.disconnected(peer)
    bench.put()
    assert (len(bench.dispatcher.pull.holds), peer.sent) == (0, [])


def test_pulled_messages_are_counted_by_topic_and_group(bench, peer):
    bench.put(body=b"one")
    bench.put(body=b"two")
    response = bench.answer(peer, Q.PULL_MESSAGE, pull_fields())
    size = sum(map(len, response.body_slices))
    topic, group = bench.state.counters.topics["T"], bench.state.counters.groups["CG"]
    assert (topic.got_messages, topic.got_bytes) == (group.got_messages, group.got_bytes) == (2, size)


# ---- SQL92 ----


@pytest.fixture
def sql_bench(tmp_path):
    with broker_bench(tmp_path, property_filter=True) as bench:
        yield bench


def priced(bench, price, topic="T"):
    return bench.put(topic, body=str(price).encode(), properties=f"price\x01{price}")


SQL = {"subscription": "price > 2", "expressionType": "SQL92"}


def test_a_pull_brings_its_own_sql_filter(sql_bench, peer):
    for price in (1, 3, "dear", 5):
        priced(sql_bench, price)
    response = sql_bench.answer(peer, Q.PULL_MESSAGE, pull_fields(**SQL))
    assert (bodies(response), response.ext_fields["nextBeginOffset"]) == ([b"3", b"5"], "4")
    none = sql_bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subscription="price > 9", expressionType="SQL92"))
    assert (none.code, none.remark, none.ext_fields["nextBeginOffset"]) == (R.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE", "4")


@pytest.mark.parametrize(
    ("expression", "kind", "words"),
    [
        ("price >", "SQL92", "at character 8"),
        ("price > 1 more", "SQL92", "“more” stands where the end"),
        ("price > 1", "XPATH", "no filter type XPATH"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused(sql_bench, peer, expression, kind, words):
    priced(sql_bench, 1)
    response = sql_bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subscription=expression, expressionType=kind))
    assert (response.code, words in response.remark) == (R.SUBSCRIPTION_PARSE_FAILED, True), response.remark


def test_the_sql_filter_of_the_heartbeat_decides_and_must_be_as_new_as_the_request(sql_bench, peer):
    for price in (1, 3):
        priced(sql_bench, price)
    registered = {"sysFlag": 0, "subscription": "", "expressionType": "SQL92"}
    sql_bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("price = 3", 5, "SQL92")))
    assert bodies(sql_bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subVersion=5, **registered))) == [b"3"]
    newer = sql_bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subVersion=6, **registered))
    assert newer.code == R.SUBSCRIPTION_NOT_LATEST


def test_without_filter_data_or_with_older_ones_the_client_tries_again(sql_bench, peer):
    priced(sql_bench, 1)
    registered = {"sysFlag": 0, "subscription": ""}
    sql_bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("price >", 5, "SQL92")))
    missing = sql_bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subVersion=5, **registered))
    assert missing.code == R.FILTER_DATA_NOT_EXIST
    sql_bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("price > 0", 6, "SQL92")))
    assert sql_bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subVersion=6, **registered)).code == R.SUCCESS
    sql_bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("price >", 7, "SQL92")))
    old = sql_bench.answer(peer, Q.PULL_MESSAGE, pull_fields(subVersion=7, **registered))
    assert old.code == R.FILTER_DATA_NOT_LATEST


def test_a_held_pull_is_woken_by_a_message_that_its_sql_filter_wants(sql_bench, peer):
    priced(sql_bench, 1)
    held_pull(sql_bench, peer, **SQL)
    priced(sql_bench, 2)
    assert peer.sent == []
    priced(sql_bench, 3)
    (answer,) = peer.sent
    assert (bodies(answer), answer.ext_fields["nextBeginOffset"]) == ([b"3"], "3")


def test_a_damaged_record_is_left_to_the_client(sql_bench):
    wanted = sql_bench.dispatcher.pull.admission.wanted(TermsReader().read(texts(pull_fields(**SQL))))
    assert wanted.matches(memoryview(bytes(100)))


def texts(fields):
    return {key: str(value) for key, value in fields.items()}


def test_retries_can_be_filtered_by_the_filter_of_their_topic(tmp_path, peer):
    with broker_bench(tmp_path, property_filter=True, filter_support_retry=True) as bench:
        bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("price > 2", 5, "SQL92")))
        for price in (1, 3):
            bench.put("%RETRY%CG", body=b"%d" % price, properties=f"price\x01{price}\x02RETRY_TOPIC\x01T")
        bench.put("%RETRY%CG", body=b"other", properties="RETRY_TOPIC\x01Other")
        got = bench.answer(peer, Q.PULL_MESSAGE, pull_fields("%RETRY%CG"))
        assert bodies(got) == [b"3", b"other"]


# ---- switches ----


def test_tags_codes_of_delayed_messages_are_times_and_never_filtered(bench, peer):
    bench.put()
    terms = TermsReader().read(texts(pull_fields("SCHEDULE_TOPIC_XXXX", subscription="a")))
    assert bench.dispatcher.pull.admission.wanted(terms).accepts is None


def test_lite_pulls_can_be_forbidden(tmp_path, peer):
    with broker_bench(tmp_path, lite_pull=False) as bench:
        bench.put()
        assert bench.answer(peer, Q.LITE_PULL_MESSAGE, pull_fields()).code == R.NO_PERMISSION
        assert bench.answer(peer, Q.PULL_MESSAGE, pull_fields()).code == R.SUCCESS


def test_a_group_that_may_not_broadcast_gets_nothing(bench, peer):
    bench.put()
    config = {"groupName": "CG", "consumeBroadcastEnable": False}
    bench.answer(peer, Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=config)
    heartbeat = consumer_heartbeat("c1", T="*")
    heartbeat["consumerDataSet"][0]["messageModel"] = "BROADCASTING"
    bench.answer(peer, Q.HEART_BEAT, body=heartbeat)
    response = bench.answer(peer, Q.PULL_MESSAGE, pull_fields(sysFlag=0, subVersion=1))
    assert (response.code, "broadcast" in response.remark) == (R.NO_PERMISSION, True)


@pytest.mark.parametrize(("slave_read", "suggested"), [(False, "0"), (True, "3")])
def test_the_broker_to_pull_from_is_that_of_the_group_where_slaves_are_read(tmp_path, peer, slave_read, suggested):
    with broker_bench(tmp_path, slave_read=slave_read) as bench:
        bench.put()
        bench.answer(peer, Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body={"groupName": "CG", "brokerId": 3})
        assert bench.answer(peer, Q.PULL_MESSAGE, pull_fields()).ext_fields["suggestWhichBrokerId"] == suggested


# ---- old messages ----


@pytest.fixture
def cold(bench, monkeypatch):
    """A bench whose messages all lie far back, on a disk that a test lets be read; gives what was read."""
    read = []
    bench.put(body=b"old")
    bench.put(body=b"older")
    store = bench.state.store
    monkeypatch.setattr("broker_core.engine.store.reading.NEAR_BYTES", 0)
    monkeypatch.setattr(store, "is_in_memory", lambda _places: False)
    monkeypatch.setattr(store, "bring_to_memory", read.extend)
    return read


def test_messages_that_are_not_in_memory_are_read_by_a_thread_before_the_answer(bench, peer, cold):
    async def scenario():
        assert bench.ask(peer, Q.PULL_MESSAGE, pull_fields()) is None
        assert peer.sent == []
        await eventually(lambda: peer.sent)

    asyncio.run(scenario())
    assert bodies(peer.sent[0]) == [b"old", b"older"]
    assert (peer.sent[0].code, peer.sent[0].opaque) == (R.SUCCESS, 7)
    assert [place.physical_offset for place in cold] == [0, cold[0].size]


def test_no_more_pulls_wait_for_the_disk_than_the_bound(bench, peer, cold, monkeypatch):
    monkeypatch.setattr(pull_processor, "COLD_READS_MAX", 2)

    async def scenario():
        answers = [bench.ask(peer, Q.PULL_MESSAGE, pull_fields()) for _ in range(4)]
        assert [answer is None for answer in answers] == [True, True, False, False]
        await eventually(lambda: len(peer.sent) == 2)
        assert bench.ask(peer, Q.PULL_MESSAGE, pull_fields()) is None
        await eventually(lambda: len(peer.sent) == 3)

    asyncio.run(scenario())


def test_a_pull_is_answered_even_if_its_messages_could_not_be_read_ahead(bench, peer, cold, monkeypatch, caplog):
    def fail(_places):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(bench.state.store, "bring_to_memory", fail)

    async def scenario():
        assert bench.ask(peer, Q.PULL_MESSAGE, pull_fields()) is None
        await eventually(lambda: peer.sent)

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    assert bodies(peer.sent[0]) == [b"old", b"older"]
    assert "could not be read ahead" in caplog.text


def test_an_answer_from_memory_has_what_follows_read_ahead(bench, peer, cold, monkeypatch):
    store, ahead = bench.state.store, []
    monkeypatch.setattr(store, "is_in_memory", lambda _places: True)
    monkeypatch.setattr(store, "is_ahead_in_memory", lambda _places: bool(ahead))
    monkeypatch.setattr(store, "read_ahead", ahead.extend)

    async def scenario():
        assert bodies(bench.ask(peer, Q.PULL_MESSAGE, pull_fields())) == [b"old", b"older"]
        await eventually(lambda: ahead)
        assert bodies(bench.ask(peer, Q.PULL_MESSAGE, pull_fields())) == [b"old", b"older"]

    asyncio.run(scenario())
    assert len(ahead) == 2
    assert (cold, peer.sent) == ([], [])
