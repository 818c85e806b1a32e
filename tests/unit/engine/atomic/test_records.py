"""Records and snapshots of atomic transactions, as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.atomic.records import (
    CutRecord,
    DecisionRecord,
    IdBlock,
    OffsetsRecord,
    ProducerRecord,
    decode_state,
    encode_state,
)
from broker_core.engine.atomic.snapshot import SnapshotFiles, decode_snapshot, encode_snapshot
from broker_core.engine.atomic.state import AtomicState
from broker_core.errors import CodecError
from broker_core.protocol.atomic import OffsetKey, QueueKey, Stamp
from tests.support.atomic_world import World

NUMBERS = st.integers(-1, 2**62)
QUEUES = st.builds(QueueKey, st.text(), st.integers(0, 100))
RECORDS = st.one_of(
    st.builds(IdBlock, NUMBERS),
    st.builds(ProducerRecord, st.text(), NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.builds(CutRecord, QUEUES, NUMBERS, NUMBERS, NUMBERS),
    st.builds(
        OffsetsRecord,
        st.text(),
        NUMBERS,
        NUMBERS,
        st.lists(st.tuples(st.builds(OffsetKey, st.text(), st.text(), st.integers(0, 9)), NUMBERS)).map(tuple),
    ),
    st.builds(
        DecisionRecord,
        st.text(),
        NUMBERS,
        NUMBERS,
        NUMBERS,
        NUMBERS,
        st.booleans(),
        st.booleans(),
        st.lists(st.tuples(QUEUES, NUMBERS)).map(tuple),
    ),
)
_WHOLE = st.integers(0, (1 << 63) - 1)


@given(RECORDS)
def test_what_is_written_is_read_again(record):
    assert decode_state(encode_state(record)) == record


@given(st.one_of(st.binary(), st.binary().map(lambda data: b"\x01" + data)))
def test_any_bytes_are_a_record_or_a_codec_error(data):
    is_record_or_refused(data)


def is_record_or_refused(data):
    """Every other exception fails the test; what is taken for a record is one, that can be written again."""
    try:
        record = decode_state(data)
    except CodecError:
        return
    assert decode_state(encode_state(record)) == record


@given(RECORDS, st.data())
def test_a_damaged_record_is_a_record_or_a_codec_error(record, data):
    body = bytearray(encode_state(record))
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    is_record_or_refused(body)


@given(_WHOLE, _WHOLE, _WHOLE, st.integers(1, (1 << 63) - 1), st.booleans())
def test_a_stamp_is_read_again(producer_id, epoch, base, messages, transactional):
    stamp = Stamp(producer_id, epoch, base, messages, transactional)
    assert Stamp.parse(stamp.text()) == stamp


@pytest.mark.parametrize("text", ["", "1", "1:2:3:4", "1:2:3:4:5:6", "a:2:3:4:5", "-1:0:0:1:1", "1:0:0:0:1", "1:0:0:1:²"])
def test_other_texts_are_no_stamp(text):
    assert Stamp.parse(text) is None


def a_state():
    world = World(7)
    for _ in range(150):
        world.step()
    return world.state


def test_a_snapshot_is_the_state():
    state = a_state()
    data = encode_snapshot(state, 99)
    again, offset = decode_snapshot(data)
    assert offset == 99
    assert encode_snapshot(again, 99) == data


def test_a_damaged_snapshot_is_noticed():
    data = encode_snapshot(a_state(), 99)
    for position in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 1
        with pytest.raises(CodecError):
            decode_snapshot(bytes(damaged))
    with pytest.raises(CodecError):
        decode_snapshot(data[:-1])


def test_the_newest_that_can_be_read_counts_and_two_are_kept(tmp_path, caplog):
    files = SnapshotFiles(tmp_path)
    assert files.newest(1_000) is None
    for offset in (100, 200, 300):
        files.write(encode_snapshot(AtomicState(), offset), offset)
    assert len(list(tmp_path.iterdir())) == 2
    assert files.newest(1_000)[1] == 300
    (tmp_path / "txnSnapshot-00000000000000000300").write_bytes(b"damaged")
    assert files.newest(1_000)[1] == 200
    assert "is not used" in caplog.text


def test_a_snapshot_past_the_end_of_the_log_is_deleted(tmp_path):
    files = SnapshotFiles(tmp_path)
    for offset in (200, 300):
        files.write(encode_snapshot(AtomicState(), offset), offset)
    assert files.newest(250)[1] == 200
    assert [path.name for path in tmp_path.iterdir()] == ["txnSnapshot-00000000000000000200"]
