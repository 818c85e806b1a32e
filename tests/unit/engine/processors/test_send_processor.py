"""Sends: which checks answer what, and what is stored."""

import pytest

from broker_core.engine.processors.dispatcher import Dispatcher
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import RecordingPeer, broker_bench, send_fields

PRODUCER = RecordingPeer()


def stored(bench, response):
    _, offset = parse_offset_message_id(response.ext_fields["msgId"].split(",")[0])
    return decode_record(bench.state.store.record_at(offset))


def test_a_message_to_an_unknown_topic_makes_the_topic_and_is_stored(bench):
    response = bench.answer(PRODUCER, Q.SEND_MESSAGE_V2, send_fields(properties="KEYS\x01k1\x02TAGS\x01a"), b"body")
    assert (response.code, response.opaque) == (R.SUCCESS, 7)
    assert response.ext_fields | {"msgId": ""} == {
        "msgId": "", "queueId": "0", "queueOffset": "0", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
    }  # fmt: skip
    topic = bench.state.topics.get("T")
    assert (topic.read_queues, topic.write_queues, topic.permission) == (4, 4, 6)
    message = stored(bench, response)
    assert (message.topic, message.body, str(message.born_host), str(message.store_host)) == (
        "T", b"body", "10.0.0.7:4711", "127.0.0.1:10911",
    )  # fmt: skip
    assert message.properties == {"KEYS": "k1", "TAGS": "a", "CLUSTER": "DefaultCluster"}


def test_the_long_names_of_code_10_store_the_same(bench):
    fields = {
        "producerGroup": "PG", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": 4, "queueId": 2, "sysFlag": 0,
        "bornTimestamp": 5, "flag": 9, "properties": "TAGS\x01a", "reconsumeTimes": 0, "unitMode": "false",
    }  # fmt: skip
    response = bench.answer(PRODUCER, Q.SEND_MESSAGE, fields, b"x")
    message = stored(bench, response)
    assert (response.ext_fields["queueId"], message.flag, message.born_timestamp_ms) == ("2", 9, 5)


@pytest.mark.parametrize(
    "text",
    [
        "WAIT\x01true\x02TAGS\x01a",
        "TAGS\x01a\x02WAIT\x01true",
        "TAGS\x01a\x02WAIT\x01true\x02",
        "CLUSTER\x01other\x02TAGS\x01a\x02WAIT\x01false",
    ],
)
def test_wait_is_not_stored_and_the_cluster_is_the_brokers(bench, text):
    message = stored(bench, bench.put(properties=text))
    assert message.properties == {"TAGS": "a", "CLUSTER": "DefaultCluster"}


def test_a_value_that_ends_like_wait_is_kept(bench):
    message = stored(bench, bench.put(properties="AWAIT\x01true\x02note\x01DELAY in TRAN_MSG"))
    assert message.properties["AWAIT"] == "true"
    assert message.properties["note"] == "DELAY in TRAN_MSG"


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        (send_fields("SCHEDULE_TOPIC_XXXX"), R.NO_PERMISSION, "forbidden"),
        (send_fields("../x"), R.SYSTEM_ERROR, "illegal characters"),
        (send_fields("t" * 128), R.SYSTEM_ERROR, "127"),
        (send_fields("New", template="NoSuchTemplate"), R.TOPIC_NOT_EXIST, "topic[New] not exist"),
        (send_fields("New", template="BenchmarkTest"), R.TOPIC_NOT_EXIST, "topic[New] not exist"),
        (send_fields(queue_id=4), R.SYSTEM_ERROR, "queueId[4]"),
        (send_fields(properties="DELAY\x01soon"), R.MESSAGE_ILLEGAL, "DELAY=soon"),
        (send_fields(properties="DELAY\x013", batch="true"), R.MESSAGE_ILLEGAL, "DELAY=3"),
        (send_fields(properties="KEYS\x01k\x02TIMER_DELAY_MS\x01500"), R.MESSAGE_ILLEGAL, "TIMER_DELAY_MS=500"),
        (send_fields(properties="TRAN_MSG\x01true"), R.MESSAGE_ILLEGAL, "transaction"),
        (send_fields(sys_flag=4), R.MESSAGE_ILLEGAL, "transaction"),
        (send_fields() | {"e": "first"}, R.SYSTEM_ERROR, "field e"),
        (send_fields() | {"h": str(1 << 40)}, R.SYSTEM_ERROR, "field h"),
    ],
)
def test_what_may_not_be_stored_is_refused_with_its_code_and_a_reason(bench, fields, code, words):
    response = bench.answer(PRODUCER, Q.SEND_MESSAGE_V2, fields, b"x")
    assert (response.code, words in response.remark) == (code, True), response.remark
    assert response.ext_fields["TRACE_ON"] == "true"
    assert bench.state.store.commit_log_max_offset == 0
    assert bench.state.counters.put_failed == 1


@pytest.mark.parametrize("level", [0, -1])
def test_a_level_below_1_is_no_delay(bench, level):
    assert stored(bench, bench.put(properties=f"DELAY\x01{level}")).topic == "T"


@pytest.mark.parametrize(("level", "stored_level"), [("3", 3), ("18", 18), ("99", 18)])
def test_a_delayed_message_waits_in_the_queue_of_its_level(bench, level, stored_level):
    response = bench.put(queue_id=2, properties=f"TAGS\x01a\x02DELAY\x01{level}\x02WAIT\x01true")
    assert (response.code, response.ext_fields["queueId"]) == (R.SUCCESS, "2")
    message = stored(bench, response)
    assert (message.topic, message.queue_id) == ("SCHEDULE_TOPIC_XXXX", stored_level - 1)
    assert message.properties == {
        "TAGS": "a", "DELAY": str(stored_level), "CLUSTER": "DefaultCluster", "REAL_TOPIC": "T", "REAL_QID": "2",
    }  # fmt: skip
    assert bench.state.counters.topics.keys() == {"SCHEDULE_TOPIC_XXXX"}


def test_a_message_without_a_body_is_illegal(bench):
    response = bench.answer(PRODUCER, Q.SEND_MESSAGE_V2, send_fields(), b"")
    assert response.code == R.MESSAGE_ILLEGAL


def test_too_large_bodies_and_properties_are_illegal(bench):
    limit = bench.state.config.store.max_message_bytes
    too_large = bench.put(body=bytes(limit + 1))
    too_many = bench.put(properties="k\x01" + "v" * 33_000)
    assert (too_large.code, too_many.code) == (R.MESSAGE_ILLEGAL, R.MESSAGE_ILLEGAL)
    assert f"{limit:,}" in too_large.remark


def test_without_auto_creation_an_unknown_topic_is_refused(tmp_path):
    with broker_bench(tmp_path, auto_create_topic=False) as bench:
        assert bench.put().code == R.TOPIC_NOT_EXIST


def test_queue_minus_one_is_chosen_among_the_write_queues(bench):
    chosen = {bench.put(queue_id=-1).ext_fields["queueId"] for _ in range(200)}
    assert chosen == {"0", "1", "2", "3"}


@pytest.mark.parametrize("queue_id", [0, -1])
def test_a_topic_without_write_queues_takes_nothing(bench, queue_id):
    response = bench.answer(PRODUCER, Q.SEND_MESSAGE_V2, send_fields(queue_id=queue_id) | {"d": 0}, b"x")
    assert (response.code, "0 write queues" in response.remark) == (R.SYSTEM_ERROR, True)


def test_bits_that_only_a_broker_sets_are_not_taken_from_clients(bench):
    response = bench.answer(PRODUCER, Q.SEND_MESSAGE_V2, send_fields(sys_flag=0x1 | 0x10 | 0x20 | 0x80), b"x")
    assert stored(bench, response).sys_flag == 0x1


def test_a_batch_is_stored_as_single_messages_with_consecutive_offsets(bench):
    bench.put()
    body = encode_batch([BatchMember(0, b"one", b"TAGS\x01a"), BatchMember(5, b"two", b"TAGS\x01b")])
    fields = send_fields(batch="true", properties="WAIT\x01true")
    response = bench.answer(PRODUCER, Q.SEND_BATCH_MESSAGE, fields, body)
    ids = response.ext_fields["msgId"].split(",")
    records = [decode_record(bench.state.store.record_at(parse_offset_message_id(i)[1])) for i in ids]
    assert response.ext_fields["queueOffset"] == "1"
    assert [(r.body, r.flag, r.queue_offset, r.properties) for r in records] == [
        (b"one", 0, 1, {"TAGS": "a", "CLUSTER": "DefaultCluster"}),
        (b"two", 5, 2, {"TAGS": "b", "CLUSTER": "DefaultCluster"}),
    ]
    assert bench.state.counters.topics["T"].put_messages == 3


@pytest.mark.parametrize(
    ("topic", "body"),
    [
        ("T", encode_batch([BatchMember(0, b"one", b"DELAY\x013")])),
        ("T", encode_batch([BatchMember(0, b"one", b"TRAN_MSG\x01true")])),
        ("T", b"this is no batch"),
        ("%RETRY%CG", encode_batch([BatchMember(0, b"one", b"")])),
    ],
)
def test_a_batch_that_may_not_be_is_illegal(bench, topic, body):
    response = bench.answer(PRODUCER, Q.SEND_BATCH_MESSAGE, send_fields(topic, batch="true"), body)
    assert response.code == R.MESSAGE_ILLEGAL
    assert bench.state.store.commit_log_max_offset == 0


def test_a_retry_beyond_the_limit_goes_to_the_dead_letter_topic_without_its_delay(bench):
    fields = send_fields("%RETRY%CG", reconsume_times=16, properties="DELAY\x0118\x02TAGS\x01a")
    message = stored(bench, bench.answer(PRODUCER, Q.SEND_MESSAGE_V2, fields, b"x"))
    assert (message.topic, message.queue_id, message.reconsume_times) == ("%DLQ%CG", 0, 16)
    assert "DELAY" not in message.properties
    assert message.properties["TAGS"] == "a"


@pytest.mark.parametrize(("version", "topic"), [(409, "%DLQ%CG"), (120, "%RETRY%CG")])
def test_the_clients_own_limit_counts_from_version_121_on(bench, version, topic):
    fields = send_fields("%RETRY%CG", reconsume_times=3, limit=2)
    response = bench.ask(PRODUCER, Q.SEND_MESSAGE_V2, fields, b"x", version=version)
    assert stored(bench, response).topic == topic


def test_a_full_store_answers_service_not_available_with_its_reason(bench, monkeypatch):
    bench.put()
    store = bench.state.store
    monkeypatch.setattr(store, "put", lambda _message: PutResult(PutStatus.SERVICE_NOT_AVAILABLE))
    monkeypatch.setattr(type(store), "write_refusal", property(lambda _self: "the disk is 99 % full"))
    response = bench.put()
    assert response.code == R.SERVICE_NOT_AVAILABLE
    assert "the disk is 99 % full" in response.remark


def test_the_address_of_a_client_is_kept_only_while_it_is_connected(bench):
    peer = RecordingPeer("10.1.1.1:1")
    bench.answer(peer, Q.SEND_MESSAGE_V2, send_fields(), b"x")
    bench.dispatcher.disconnected(peer)
    peer.remote_address = "10.1.1.2:2"
    message = stored(bench, bench.answer(peer, Q.SEND_MESSAGE_V2, send_fields(), b"x"))
    assert str(message.born_host) == "10.1.1.2:2"


class ManualDisk:
    """Stands for `DurableAnswers`: a test says how a sync ended."""

    def __init__(self):
        self.answers = []

    def wait(self, _physical_end, answer):
        self.answers.append(answer)


@pytest.mark.parametrize(
    ("durable", "refusal", "code"),
    [(True, "", R.SUCCESS), (False, "", R.FLUSH_DISK_TIMEOUT), (False, "the disk failed", R.SERVICE_NOT_AVAILABLE)],
)
def test_with_sync_flush_the_answer_waits_and_says_how_the_sync_ended(bench, monkeypatch, durable, refusal, code):
    disk, peer = ManualDisk(), RecordingPeer()
    monkeypatch.setattr(type(bench.state.store), "write_refusal", property(lambda _self: refusal))
    bench.dispatcher = Dispatcher(bench.state, disk, memory_bytes=1)
    assert bench.ask(peer, Q.SEND_MESSAGE_V2, send_fields(), b"x") is None
    assert peer.sent == []
    disk.answers[0](durable)
    (answer,) = peer.sent
    assert (answer.code, answer.ext_fields["queueOffset"]) == (code, "0")


def test_who_does_not_wait_is_answered_at_once_with_sync_flush_too(bench):
    bench.dispatcher = Dispatcher(bench.state, ManualDisk(), memory_bytes=1)
    assert bench.put(properties="WAIT\x01false").code == R.SUCCESS


@pytest.mark.parametrize(
    ("version", "properties", "stored"),
    [
        # What brokers of 4.9.4 and 5.3.3 were seen to store.
        (409, "", {}),
        (409, "TAGS\x01a\x02MSG_REGION\x01mine\x02TRACE_ON\x01false", {"TAGS": "a", "MSG_REGION": "mine", "TRACE_ON": "false"}),
        (479, "", {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}),
        (479, "TAGS\x01a\x02", {"TAGS": "a", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}),
        (479, "MSG_REGION\x01mine\x02TRACE_ON\x01false", {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}),
        (
            479,
            "TRACE_ON\x01false\x02K\x01v\x02MSG_REGION\x01mine\x02",
            {"K": "v", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true"},
        ),
    ],
)
def test_region_and_trace_switch_are_kept_as_brokers_of_the_clients_line_keep_them(bench, version, properties, stored):
    bench.ask(RecordingPeer(), Q.SEND_MESSAGE_V2, send_fields(properties=properties), b"x", version=version)
    (record,) = bench.state.store.get_messages("T", 0, 0, 1).records
    assert decode_record(record).properties == stored | {"CLUSTER": "DefaultCluster"}


def test_so_they_are_with_each_member_of_a_batch(bench):
    body = encode_batch([BatchMember(0, b"x", b"TAGS\x01%b" % tag.encode()) for tag in "ab"])
    answer = bench.ask(RecordingPeer(), Q.SEND_BATCH_MESSAGE, send_fields(batch="true"), body, version=479)
    assert answer.code == R.SUCCESS
    found = [decode_record(record).properties for record in bench.state.store.get_messages("T", 0, 0, 2).records]
    own = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "CLUSTER": "DefaultCluster"}
    assert found == [{"TAGS": tag} | own for tag in "ab"]
