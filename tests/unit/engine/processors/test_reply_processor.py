"""Request-reply: the reply goes to the producer that asked, and into the store."""

from broker_core.errors import NetworkError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.record import decode_record
from broker_core.transport.connection import RequestTimeoutError
from tests.support.broker_bench import RecordingPeer, send_fields

REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"
PROPERTIES = "MSG_TYPE\x01reply\x02CORRELATION_ID\x01c-1\x02REPLY_TO_CLIENT\x01asker\x02TTL\x013000"


def producer(bench, client_id="asker"):
    peer = RecordingPeer("10.0.0.9:99")
    heartbeat = {"clientID": client_id, "producerDataSet": [{"groupName": "PG"}], "consumerDataSet": []}
    bench.answer(peer, Q.HEART_BEAT, {}, heartbeat)
    return peer


def reply(bench, responder, properties=PROPERTIES, code=Q.SEND_REPLY_MESSAGE_V2):
    return bench.ask(responder, code, send_fields(REPLY_TOPIC, properties=properties), b"answer")


def stored(bench):
    return [decode_record(record) for record in bench.state.store.get_messages(REPLY_TOPIC, 0, 0, 9).records]


def test_the_asker_gets_the_reply_and_the_responder_then_its_answer(bench):
    asker, responder = producer(bench), RecordingPeer("10.0.0.8:88")
    assert reply(bench, responder) is None
    ((push, answered),) = asker.asked
    assert (push.code, bytes(push.body)) == (Q.PUSH_REPLY_MESSAGE_TO_CLIENT, b"answer")
    fields = push.ext_fields
    assert (fields["topic"], fields["producerGroup"], fields["bornHost"]) == (REPLY_TOPIC, "PG", "10.0.0.8:88")
    assert "CORRELATION_ID\x01c-1" in fields["properties"]
    assert f"PUSH_REPLY_TIME\x01{bench.clock()}" in fields["properties"]
    assert (responder.sent, stored(bench)) == ([], [])
    answered(push.reply())
    (answer,) = responder.sent
    assert (answer.code, answer.ext_fields["queueOffset"], len(answer.ext_fields["msgId"])) == (R.SUCCESS, "0", 32)
    assert stored(bench)[0].properties["PUSH_REPLY_TIME"] == str(bench.clock())


def test_a_reply_to_nobody_is_an_error_and_stored_all_the_same(bench):
    responder = RecordingPeer()
    assert reply(bench, responder) is None
    (answer,) = responder.sent
    assert (answer.code, answer.remark) == (R.SYSTEM_ERROR, "push reply message fail, channel of <asker> not found.")
    assert [message.body for message in stored(bench)] == [b"answer"]


def test_a_reply_without_an_address_is_an_error(bench):
    responder = RecordingPeer()
    reply(bench, responder, "MSG_TYPE\x01reply")
    assert responder.sent[0].remark == "reply message properties[REPLY_TO_CLIENT] is null"


def test_an_asker_that_does_not_take_it_makes_an_error(bench):
    for fault in (RequestTimeoutError("late"), NetworkError("gone")):
        asker, responder = producer(bench), RecordingPeer()
        reply(bench, responder)
        asker.asked[-1][1](fault)
        assert (responder.sent[0].code, "push reply message to <asker> fail" in responder.sent[0].remark) == (1, True)
    asker, responder = producer(bench), RecordingPeer()
    reply(bench, responder)
    push, answered = asker.asked[-1]
    answered(push.reply(R.SYSTEM_ERROR, "no such request"))
    assert responder.sent[0].remark == "push reply message to <asker> fail: no such request"


def test_with_storing_off_the_reply_is_only_handed_on(bench):
    bench.answer(RecordingPeer(), Q.UPDATE_BROKER_CONFIG, body=b"storeReplyMessageEnable=false")
    asker, responder = producer(bench), RecordingPeer()
    reply(bench, responder)
    push, answered = asker.asked[0]
    answered(push.reply())
    assert (responder.sent[0].code, responder.sent[0].ext_fields["msgId"]) == (R.SUCCESS, "0")
    assert stored(bench) == []


def test_the_long_names_of_other_clients_are_understood(bench):
    asker, responder = producer(bench), RecordingPeer()
    fields = {
        "producerGroup": "PG", "topic": REPLY_TOPIC, "defaultTopic": "TBW102", "defaultTopicQueueNums": 4, "queueId": 0,
        "sysFlag": 0, "bornTimestamp": 1, "flag": 0, "properties": PROPERTIES, "reconsumeTimes": 0,
    }  # fmt: skip
    assert bench.ask(responder, Q.SEND_REPLY_MESSAGE, fields, b"go") is None
    assert asker.asked[0][0].ext_fields["producerGroup"] == "PG"
