"""Members of batches obey the rules of single messages, one by one (`check_batch`, `batch_fault`).

One rule differs, as in RocketMQ: the property WAIT of a member is stored, because the request has its own.
"""

import pytest

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.codes import SerializeType
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import RecordingPeer, send_fields
from tests.unit.engine.processors.test_plain_sends import FramePeer, frame_of

PRODUCER = RecordingPeer()
PLAIN = b"UNIQ_KEY\x01u\x02TAGS\x01a"
ROOM = 32_767 - len("\x02CLUSTER\x01DefaultCluster")
"""Bytes of properties that leave room for what the broker adds."""


def sent_singly(bench, body, properties, flag=0):
    fields = send_fields(properties=properties.decode()) | {"h": flag}
    return bench.answer(PRODUCER, Q.SEND_MESSAGE_V2, fields, body)


def sent_in_a_batch(bench, body, properties, flag=0, *, at=(2, 1)):
    members, place = at
    batch = [BatchMember(flag, b"%d" % number, PLAIN) for number in range(members)]
    batch[place] = BatchMember(flag, body, properties)
    return bench.answer(PRODUCER, Q.SEND_BATCH_MESSAGE, send_fields(batch="true"), encode_batch(batch))


def stored(bench, queue_id=0):
    store = bench.state.store
    offset = store.max_offset("T", queue_id) - 1
    return decode_record(store.get_messages("T", queue_id, offset, 1).records[0])


@pytest.mark.parametrize(
    ("body", "properties", "flag"),
    [
        (b"x", b"", 0), (b"x", b"", -1), (b"x", b"", 2**31 - 1), (b"x", PLAIN, -(2**31)), (b"\0", b"TAGS\x01a\x02", 5),
        (b"x" * 60_000, "KEYS\x01键 k\x02标签\x01值".encode(), 0), (b"x", b"a\x01" + b"v" * (ROOM - 2), 0),
        (b"x", b"DELAY\x010\x02TAGS\x01a", 0), (b"x", b"DELAY\x01-3", 0), (b"x", b"MYDELAY\x013", 0),
        (b"x", b"TRAN_MSG\x01false\x02TAGS\x01a", 0), (b"x", b"CLUSTER\x01mine\x02TAGS\x01a", 0),
        (b"x", b"TAGS\x01a\x02\x02", 0), (b"x", b"lonely\x01", 0), (b"x", b"no value", 0), (b"x", b"a\x011\x02a\x012", 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("at", [(2, 1), (9, 0)])
def test_what_a_single_message_may_be_a_member_may_be_too(bench, body, properties, flag, at):
    assert sent_singly(bench, body, properties, flag).code == R.SUCCESS
    single = stored(bench)
    assert sent_in_a_batch(bench, body, properties, flag, at=at).code == R.SUCCESS
    store = bench.state.store
    member = decode_record(store.get_messages("T", 0, 1 + at[1], 1).records[0])
    assert (member.body, member.flag, member.properties) == (single.body, single.flag, single.properties)
    assert member.properties["CLUSTER"] == "DefaultCluster"


@pytest.mark.parametrize(
    ("body", "properties", "fault"),
    [
        (b"", PLAIN, "member {} of the batch has no body"),
        (b"", b"", "member {} of the batch has no body"),
        (b"x", b"a\x01" + b"v" * (ROOM - 1), "member {} of the batch has 32,768 bytes of properties"),
        (b"x", b"DELAY\x013", "member {} has DELAY=3"),
        (b"x", b"DELAY\x01soon", "DELAY=soon is no whole number"),
        (b"x", b"TAGS\x01a\x02TRAN_MSG\x01TRUE", "member {} has TRAN_MSG=TRUE"),
    ],
)
@pytest.mark.parametrize("at", [(2, 1), (9, 4), (9, 0)])
def test_what_a_single_message_may_not_be_no_member_is_and_nothing_is_stored(bench, body, properties, fault, at):
    single = sent_singly(bench, body, properties)
    assert single.code == R.MESSAGE_ILLEGAL or properties.startswith((b"DELAY\x013", b"TAGS"))  # these have queues of their own
    before = bench.state.store.commit_log_max_offset
    answer = sent_in_a_batch(bench, body, properties, at=at)
    assert (answer.code, fault.format(at[1]) in answer.remark) == (R.MESSAGE_ILLEGAL, True), answer.remark
    assert bench.state.store.commit_log_max_offset == before


@pytest.mark.parametrize("members", [2, 9])
@pytest.mark.parametrize("properties", [b"TAGS\x01\xff", b"\xc3\x28\x01v\x02TAGS\x01a"])
def test_properties_that_no_header_can_have_are_refused_in_a_member(bench, properties, members):
    answer = sent_in_a_batch(bench, b"x", properties, at=(members, 1))
    assert (answer.code, answer.remark) == (R.MESSAGE_ILLEGAL, "the properties of member 1 of the batch are no UTF-8")
    alike = encode_batch([BatchMember(0, b"x", properties)] * members)
    assert bench.answer(PRODUCER, Q.SEND_BATCH_MESSAGE, send_fields(batch="true"), alike).code == R.MESSAGE_ILLEGAL
    assert bench.state.store.commit_log_max_offset == 0


@pytest.mark.parametrize("members", [2, 9])
def test_members_that_are_alike_need_bodies_too(bench, members):
    answer = bench.answer(
        PRODUCER, Q.SEND_BATCH_MESSAGE, send_fields(batch="true"), encode_batch([BatchMember(0, b"", PLAIN)] * members)
    )
    assert (answer.code, answer.remark) == (R.MESSAGE_ILLEGAL, "member 0 of the batch has no body: send at least one byte")


@pytest.mark.parametrize("topic", ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "bad name", "t" * 128, "%RETRY%CG"])
def test_a_topic_that_single_messages_may_not_have_is_refused_for_batches(bench, topic):
    single = bench.answer(PRODUCER, Q.SEND_MESSAGE_V2, send_fields(topic), b"x")
    batch = bench.answer(
        PRODUCER, Q.SEND_BATCH_MESSAGE, send_fields(topic, batch="true"), encode_batch([BatchMember(0, b"x", b"")])
    )
    if topic == "%RETRY%CG":
        assert (single.code, batch.code) == (R.SUCCESS, R.MESSAGE_ILLEGAL)
    else:
        assert single.code != R.SUCCESS
        assert (batch.code, batch.remark) == (single.code, single.remark)


@pytest.mark.parametrize("kind", list(SerializeType))
@pytest.mark.parametrize(
    ("code", "batch"), [(Q.SEND_BATCH_MESSAGE, "true"), (Q.SEND_MESSAGE_V2, "true"), (Q.SEND_MESSAGE_V2, "1")]
)
def test_no_codec_and_no_kernel_takes_a_batch_for_one_message(bench, kind, code, batch):
    plain = bench.dispatcher.plain
    for _ in range(4):
        single = frame_of(serialize_type=kind)
        plain.serve(FramePeer(), single, 0, len(single) - 4)
    before = bench.state.store.max_offset("T", 0)
    frame = frame_of(code=code, m=batch, body=encode_batch([BatchMember(0, b"x", PLAIN)] * 9), serialize_type=kind)
    for _ in range(4):
        peer = FramePeer()
        assert not plain.serve(peer, frame, 0, len(frame) - 4)
        assert not peer.frames
    assert bench.state.store.max_offset("T", 0) == before
