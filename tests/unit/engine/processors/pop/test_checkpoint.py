import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.processors.pop.checkpoint import (
    AckRecord,
    CheckpointKey,
    PopCheckpoint,
    ack_unique_key,
    checkpoint_unique_key,
    decode_ack,
    decode_checkpoint,
    encode_ack,
    encode_checkpoint,
)
from broker_core.errors import CodecError

# Bodies as a 5.3.3 broker wrote them.
CHECKPOINT = (
    b'{"bm":0,"bn":"broker-a","c":"popG1","d":[0,1,2],"it":3000,"n":3,"pt":1795275993827,"q":0,"reviveTime":1795275996827,'
    b'"ro":0,"so":3,"t":"popT1"}'
)
ACK = b'{"ao":4,"bn":"broker-a","c":"popG1","pt":1795275993827,"q":0,"so":3,"t":"popT1"}'
KEY = CheckpointKey("popT1", "popG1", 0, 3, 1795275993827)


def test_a_checkpoint_of_5_3_3_is_read_and_written():
    checkpoint = decode_checkpoint(CHECKPOINT, revive_queue=3, log_offset=7)
    assert (checkpoint.key, checkpoint.offsets, checkpoint.invisible_ms) == (KEY, (3, 4, 5), 3_000)
    assert (checkpoint.due_ms, checkpoint.revive_queue, checkpoint.log_offset) == (1795275996827, 3, 7)
    assert encode_checkpoint(checkpoint, "broker-a") == CHECKPOINT


def test_an_ack_of_5_3_3_is_read_and_written():
    ack = decode_ack(ACK, batch=False)
    assert ack == AckRecord(KEY, (4,))
    assert encode_ack(ack, "broker-a") == ACK


def test_unique_keys_are_those_of_5_3_3():
    assert checkpoint_unique_key(KEY, "broker-a") == "popT1@0@3@popG1@1795275993827@broker-a@ck"
    assert ack_unique_key(AckRecord(KEY, (4,)), "broker-a") == "popT1@0@4@popG1@1795275993827@broker-a@ack"
    assert ack_unique_key(AckRecord(KEY, (4, 5)), "broker-a") == "popT1@0@[4, 5]@popG1@1795275993827@broker-a@bAck"


@given(st.sets(st.integers(0, 500), min_size=1, max_size=32), st.data())
def test_checkpoints_come_back_with_their_acks(offsets, data):
    ordered = tuple(3 + offset for offset in sorted(offsets))
    checkpoint = PopCheckpoint(KEY, 10_000, ordered, 0)
    done = data.draw(st.sets(st.sampled_from(ordered)))
    for offset in done:
        assert checkpoint.mark(offset)
        assert not checkpoint.mark(offset)
    body = encode_checkpoint(checkpoint, "b")
    assert -(1 << 31) <= json.loads(body)["bm"] < 1 << 31
    again = decode_checkpoint(body, revive_queue=0, log_offset=0)
    assert set(again.pending()) == set(ordered) - done
    assert again.is_done == (done == set(ordered))


def test_a_renewal_names_the_first_delivery():
    first = KEY._replace(start_offset=2, pop_time_ms=5)
    renewed = PopCheckpoint(KEY, 10_000, (3,), 0, first=first)
    assert decode_checkpoint(encode_checkpoint(renewed, "b"), revive_queue=0, log_offset=0).first == first


@pytest.mark.parametrize("wrong", [None, "x", [], [1], [1, 2, 3], [1, "2"], [[1], 2], {"so": 1}])
def test_what_names_no_first_delivery_is_skipped(wrong):
    body = json.dumps(json.loads(CHECKPOINT) | {"first": wrong}).encode()
    assert decode_checkpoint(body, revive_queue=0, log_offset=0).first is None


def test_a_batch_of_acks_comes_back():
    ack = AckRecord(KEY, (3, 5))
    assert decode_ack(encode_ack(ack, "b"), batch=True) == ack


def test_an_offset_that_is_none_of_these_is_not_marked():
    assert not PopCheckpoint(KEY, 1, (3, 4), 0).mark(9)


@pytest.mark.parametrize("field", ["t", "c", "q", "so", "pt", "it", "n", "bm", "d"])
@pytest.mark.parametrize("wrong", [None, "x", [[]], True])
def test_a_checkpoint_that_is_none_is_refused(field, wrong):
    value = json.loads(CHECKPOINT) | {field: wrong}
    if field == "d" and wrong is None:
        assert decode_checkpoint(json.dumps(value).encode(), revive_queue=0, log_offset=0).offsets == (3, 4, 5)
        return
    if field in ("t", "c") and wrong == "x":
        return
    with pytest.raises(CodecError):
        decode_checkpoint(json.dumps(value).encode(), revive_queue=0, log_offset=0)


@given(st.binary())
def test_any_bytes_are_an_ack_or_are_refused(body):
    with pytest.raises(CodecError):
        decode_ack(body, batch=True)
