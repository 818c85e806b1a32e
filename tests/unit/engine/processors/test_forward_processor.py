"""Requests passed on to a consumer."""

import pytest

from broker_core.engine.processors.forward_processor import FORWARD_TIMEOUT_MS
from broker_core.errors import ConnectionLostError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.codes import SerializeType
from broker_core.protocol.frame import RESPONSE_FLAG, RemotingCommand
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.record import decode_record
from broker_core.transport.connection import RequestTimeoutError
from tests.support.broker_bench import RecordingPeer, consumer_heartbeat

TO_C1 = {"consumerGroup": "CG", "clientId": "c1"}


@pytest.fixture
def consumer(bench):
    peer = RecordingPeer("10.0.0.1:1")
    peer.serialize_type = SerializeType.ROCKETMQ
    bench.answer(peer, Q.HEART_BEAT, body=consumer_heartbeat("c1", T="*"))
    return peer


@pytest.fixture
def admin():
    return RecordingPeer("10.0.0.9:9")


def test_a_consumers_answer_becomes_the_brokers(bench, consumer, admin):
    fields = TO_C1 | {"jstackEnable": "true", "AccessKey": "a", "Signature": "s"}
    assert bench.ask(admin, Q.GET_CONSUMER_RUNNING_INFO, fields) is None
    ((question, answered),) = consumer.asked
    assert (question.code, question.serialize_type) == (Q.GET_CONSUMER_RUNNING_INFO, SerializeType.ROCKETMQ)
    assert question.ext_fields == TO_C1 | {"jstackEnable": "true"}
    assert admin.sent == []
    answered(RemotingCommand(0, {"x": "y"}, b"{}", opaque=99, flag=RESPONSE_FLAG, serialize_type=SerializeType.ROCKETMQ))
    (response,) = admin.sent
    assert (response.opaque, response.flag, response.serialize_type) == (7, RESPONSE_FLAG, SerializeType.JSON)
    assert (response.code, response.ext_fields, response.body) == (0, {"x": "y"}, b"{}")


@pytest.mark.parametrize(
    ("failure", "code"),
    [(RequestTimeoutError("too late"), R.CONSUME_MSG_TIMEOUT), (ConnectionLostError("it ended"), R.SYSTEM_ERROR)],
)
def test_a_consumer_that_does_not_answer_is_told(bench, consumer, admin, failure, code):
    bench.ask(admin, Q.GET_CONSUMER_RUNNING_INFO, TO_C1)
    consumer.asked[0][1](failure)
    (response,) = admin.sent
    words = f"{FORWARD_TIMEOUT_MS:,} ms" if code == R.CONSUME_MSG_TIMEOUT else "it ended"
    assert (response.code, words in response.remark) == (code, True)


@pytest.mark.parametrize("fields", [TO_C1 | {"clientId": "c2"}, TO_C1 | {"consumerGroup": "other"}])
def test_a_consumer_that_is_not_there_is_named(bench, consumer, admin, fields):
    response = bench.answer(admin, Q.GET_CONSUMER_RUNNING_INFO, fields)
    expected = f"The Consumer <{fields['consumerGroup']}> <{fields['clientId']}> not online"
    assert (response.code, response.remark) == (R.SYSTEM_ERROR, expected)
    assert consumer.asked == []


def test_a_consumer_that_is_too_old_is_not_asked(bench, admin):
    old = RecordingPeer()
    bench.ask(old, Q.HEART_BEAT, body=consumer_heartbeat("c1", T="*"), version=61)
    response = bench.answer(admin, Q.GET_CONSUMER_RUNNING_INFO, TO_C1)
    assert (response.code, "V3_1_8_SNAPSHOT" in response.remark, old.asked) == (R.SYSTEM_ERROR, True, [])


def test_a_consumer_gets_the_record_it_is_to_try(bench, consumer, admin):
    bench.put(body=b"first")
    message_id = bench.put(body=b"try me").ext_fields["msgId"]
    assert bench.ask(admin, Q.CONSUME_MESSAGE_DIRECTLY, TO_C1 | {"msgId": message_id}) is None
    ((question, _),) = consumer.asked
    assert question.ext_fields == TO_C1 | {"msgId": message_id, "brokerName": "broker-a"}
    assert decode_record(question.body).body == b"try me"


@pytest.mark.parametrize("message_id", [HostAddress.parse("127.0.0.1:1").packed.hex() + "%016x" % (1 << 40), "not an id"])
def test_a_message_that_is_not_there_is_named(bench, consumer, admin, message_id):
    response = bench.answer(admin, Q.CONSUME_MESSAGE_DIRECTLY, TO_C1 | {"msgId": message_id})
    assert (response.code, message_id in response.remark, consumer.asked) == (R.SYSTEM_ERROR, True, [])
