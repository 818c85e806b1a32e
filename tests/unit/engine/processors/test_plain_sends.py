"""Plain sends: which frames the codec reads, and that codec and processor serve them as the general decoding does."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.engine.processors.plain.learnt import LearntParts
from broker_core.engine.processors.plain_requests import PlainRequests
from broker_core.engine.processors.send_processor import SendProcessor
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.errors import FrameError
from broker_core.protocol.codes import LanguageCode, SerializeType
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand, decode_frame, encode_command
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import RecordingPeer, broker_bench

PROPERTIES = "UNIQ_KEY\x01C0A8%08d\x02KEYS\x01k\x02TAGS\x01a\x02WAIT\x01true"
VERSION_4 = 401


class FramePeer(RecordingPeer):
    """Keeps answers that come as bytes, too."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[bytes] = []

    def send_frame(self, frame: bytes) -> bool:
        self.frames.append(frame)
        return True

    def send_parts(self, parts: list, size: int) -> bool:
        assert sum(map(len, parts)) == size
        return self.send_frame(b"".join(parts))


def frame_of(
    properties: str = PROPERTIES % 7,
    body: bytes = b"body",
    *,
    code: int = Q.SEND_MESSAGE_V2,
    version: int = VERSION_4,
    flag: int = 0,
    opaque: int = 7,
    remark: str | None = None,
    language: LanguageCode = LanguageCode.JAVA,
    serialize_type: SerializeType = SerializeType.ROCKETMQ,
    **fields: str | None,
) -> bytes:
    """A send as Java writes it, with the given fields; None leaves one out."""
    plain = {
        "a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1699999999000", "h": "0", "i": properties,
        "j": "0", "k": "false", "m": "false",
    }  # fmt: skip
    ext = {name: value for name, value in (plain | fields).items() if value is not None}
    return encode_command(
        RemotingCommand(
            code, ext, body, opaque=opaque, flag=flag, remark=remark, language=language, version=version,
            serialize_type=serialize_type,
        )
    )  # fmt: skip


JSON, BINARY = SerializeType.JSON, SerializeType.ROCKETMQ
both = pytest.mark.parametrize("kind", [BINARY, JSON], ids=["binary", "json"])


def json_frame(header: bytes, body: bytes = b"body") -> bytes:
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def json_header() -> bytes:
    """That of a plain send; what encodes it writes the same bytes as Java (see the golden frames)."""
    frame = frame_of(serialize_type=JSON)
    return frame[8 : 8 + struct.unpack_from(">I", frame, 4)[0]]


def serve(bench, peer: FramePeer, frame: bytes) -> bool:
    return bool(bench.dispatcher.plain.serve(peer, frame, 0, len(frame) - 4))


def with_topic(bench):
    """The bench, whose topic ``T`` has four queues."""
    bench.dispatcher.handle(FramePeer(), decode(frame_of()))
    return bench


def decode(frame: bytes) -> RemotingCommand:
    (total,) = struct.unpack_from(">I", frame)
    return decode_frame(frame, 0, total)


def logs(bench) -> bytes:
    store = bench.state.store
    found = store.bytes_at(0, store.commit_log_max_offset)
    assert found is not None
    return bytes(found)


@both
def test_a_plain_send_is_stored_and_answered(bench, kind):
    peer = FramePeer()
    assert serve(with_topic(bench), peer, frame_of(opaque=99, e="3", serialize_type=kind))
    answer = decode(peer.frames[0])
    assert (answer.code, answer.opaque, answer.flag, answer.serialize_type) == (R.SUCCESS, 99, 1, kind)
    assert (answer.ext_fields["queueId"], answer.ext_fields["queueOffset"]) == ("3", "0")
    message = decode_record(bench.state.store.record_at(int(answer.ext_fields["msgId"][16:], 16)))
    assert (message.topic, message.queue_id, message.body, message.born_timestamp_ms) == ("T", 3, b"body", 1_699_999_999_000)
    assert message.properties == {"UNIQ_KEY": "C0A800000007", "KEYS": "k", "TAGS": "a", "CLUSTER": "DefaultCluster"}
    assert str(message.born_host) == peer.remote_address
    assert (peer.version, peer.serialize_type, peer.language) == (VERSION_4, kind, LanguageCode.JAVA)
    assert bench.state.counters.topics["T"].put_messages == 2


@both
def test_answers_are_right_whatever_the_digits_of_the_offset(bench, kind):
    peer = FramePeer()
    with_topic(bench)
    for number in range(120):
        assert serve(bench, peer, frame_of(serialize_type=kind, opaque=number * 1000))
    answers = [decode(frame) for frame in peer.frames]
    assert [answer.ext_fields["queueOffset"] for answer in answers] == [str(offset) for offset in range(1, 121)]
    assert [answer.opaque for answer in answers] == [number * 1000 for number in range(120)]
    assert len({answer.ext_fields["msgId"] for answer in answers}) == 120


PLAIN_OR_NOT = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.sampled_from(
            [
                "", "TAGS\x01a", "TAGS\x01a\x02", "WAIT\x01true", "WAIT\x01true\x02TAGS\x01a",
                "TAGS\x01a\x02WAIT\x01true\x02K\x01v", "TAGS\x01a\x02WAIT\x01false", "CLUSTER\x01x\x02TAGS\x01a",
                "DELAY\x013", "TAGS\x01ä", "TAGS\x01a\x02\x02",
            ]
        ),
        "body": st.binary(max_size=40),
        "version": st.sampled_from([0, VERSION_4, 413, 500, -1]),
        "flag": st.sampled_from([0, 2]),
        "code": st.sampled_from([Q.SEND_MESSAGE_V2, Q.SEND_MESSAGE, Q.SEND_BATCH_MESSAGE]),
        "opaque": st.integers(-(1 << 31), (1 << 31) - 1),
        "remark": st.sampled_from([None, "hello"]),
        "language": st.sampled_from(LanguageCode),
        "serialize_type": st.sampled_from(SerializeType),
        "b": st.sampled_from(["T", "Other", "%RETRY%G", "TBW102", "SCHEDULE_TOPIC_XXXX", "%LMQ%x", None]),
        "d": st.sampled_from(["8", "x", "-1", None]),
        "e": st.sampled_from(["1", "3", "4", "99", "x", None]),
        "f": st.sampled_from(["1", "4", "16", "128", "-1", None]),
        "g": st.sampled_from(["1", "1699999999001", "0x69999999900", "             ", None]),
        "h": st.sampled_from(["9", "-1", None]),
        "j": st.sampled_from(["1", None]),
        "k": st.sampled_from(["true", None]),
        "l": st.sampled_from(["16", None]),
        "m": st.sampled_from(["true", "1", None]),
        "n": st.sampled_from(["broker-a", None]),
    },
)  # fmt: skip


def check_alike(short, long, frame: bytes) -> bool:
    """Serve a frame on one bench by the codec if it reads it, on the other the general way: nothing may differ."""
    peer, other = FramePeer(), FramePeer()
    taken = serve(short, peer, frame)
    try:
        command = decode(frame)
    except FrameError:
        assert not taken
        return taken
    expected = long.dispatcher.handle(other, command)
    if taken:
        assert peer.frames == [encode_command(expected)]
        assert (peer.version, peer.serialize_type, peer.language) == (
            command.version, command.serialize_type, command.language,
        )  # fmt: skip
    else:
        assert peer.frames == []
        answer = short.dispatcher.handle(peer, decode(frame))
        assert (answer is None) == (expected is None)
        assert answer is None or encode_command(answer) == encode_command(expected)
    return taken


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two brokers with the same topic: one for the codec, one for the general decoding."""
    tmp_path = tmp_path_factory.mktemp("two")
    with broker_bench(tmp_path / "short") as short, broker_bench(tmp_path / "long") as long:
        yield with_topic(short), with_topic(long)


def test_no_send_is_served_otherwise_than_the_general_way(two):
    short, long = two

    @settings(deadline=None)
    @given(PLAIN_OR_NOT)
    def check(send) -> None:
        check_alike(short, long, frame_of(**send))
        assert check_alike(short, long, frame_of())
        assert check_alike(short, long, frame_of(serialize_type=JSON))

    check()
    assert logs(short) == logs(long)


@both
def test_nor_is_one_that_was_damaged(two, kind):
    short, long = two
    whole = frame_of(serialize_type=kind)

    @settings(deadline=None)
    @given(st.lists(st.tuples(st.integers(4, len(whole) - 1), st.integers(0, 255)), min_size=1, max_size=3))
    def check(changes) -> None:
        frame = bytearray(whole)
        for position, value in changes:
            frame[position] = value
        check_alike(short, long, bytes(frame))

    check()
    assert logs(short) == logs(long)


PIECES = [
    b'"', b"\\", b'\\"', b"\\u0001", b"\\u0002", b"\\u0003", b"\\\\u0001", b"\\n", b"\x01", b"{", b"}", b",", b":", b" ", b"0",
    b"-1", b"1.0", b"null", b"true", b'"opaque":1,', b'"opaque":"7",', b'"code":10,', b'"flag":2,', b'"g":"',
    b'"g":"1699999999000",', b'"i":"x",', b'"l":"1",', b'"m":"true",', b'"a":"PG",', b'"extFields":{"b":"Other"},',
    b'"remark":"r",', b'"remark":null,', b'"version":500,', b'"language":"GO",', b"\xc3\xa4", b"\xff",
]  # fmt: skip


def test_nor_is_one_whose_json_says_more_or_less_or_twice(two):
    short, long = two
    header = json_header()
    places = [number for number in range(len(header) + 1) if header[number - 1 : number] in b'",:{}\\']

    @settings(deadline=None, max_examples=200)
    @given(st.lists(st.tuples(st.sampled_from(places), st.sampled_from(PIECES), st.integers(0, 12)), min_size=1, max_size=2))
    def check(changes) -> None:
        changed = header
        for place, piece, cut in changes:
            changed = changed[:place] + piece + changed[place + cut :]
        check_alike(short, long, json_frame(changed))

    check()
    assert logs(short) == logs(long)


@pytest.mark.parametrize(
    ("old", "new", "is_taken"),
    [
        (b'"opaque":7', b'"opaque":2147483647', True),
        (b'"opaque":7', b'"opaque":2147483648', False),
        (b'"opaque":7', b'"opaque":07', False),
        (b'"opaque":7', b'"opaque":-7', False),
        (b'"opaque":7', b'"opaque":"7"', False),
        (b'"opaque":7', b'"opaque": 7', False),
        (b'"serializeTypeCurrentRPC":"JSON",', b"", True),
        (b'"language":"JAVA"', b'"language":"JAVA","language":"GO"', False),
        (b'"language":"JAVA"', b'"language":"?"', True),
        (b'"flag":0', b'"flag":0,"code":10', False),
        (b'"flag":0', b'"flag":false', False),
        (b'"flag":0', b'"flag":0,"opaque":8', False),
        (b'"version":401', b'"version":402', True),
        (b'"version":401', b'"version":499', True),
        (b'"a":"PG"', b'"ns":"x","a":"PG"', True),
        (b'"j":"0"', b'"j":"0","n":"broker-a","oway":"true"', True),
        (b'"version":401', b'"version":"401"', True),
        (b'"version":401', b'"version":401 ', True),
        (b'"a":"PG"', b'"a": "PG"', True),
        (b'"a":"PG"', b'"a":"P\\"g\\":\\"G"', True),
        (b'"a":"PG"', b'"a":7', False),
        (b'"b":"T"', b'"b":"T","b":"T"', False),
        (b'"e":"0"', b'"e":"\\u0030"', True),
        (b'"j":"0"', b'"j":"0","g":"1699999999001"', False),
        (b'"j":"0"', b'"j":0', False),
        (b'KEYS\\u0001k', b'KEYS\\u0001k\\\\', False),
        (b'KEYS\\u0001k', b'KEYS\\u0001\\"k', False),
        (b'KEYS\\u0001k', b'KEYS\\u0001\\u0041', False),
    ],
)  # fmt: skip
def test_json_of_other_writers_is_read_where_it_means_the_same(two, old, new, is_taken):
    header = json_header()
    assert header.count(old) == 1
    short, long = two
    for _ in range(2):
        assert check_alike(short, long, json_frame(header.replace(old, new))) == is_taken
    assert logs(short) == logs(long)


def test_the_start_of_a_json_header_means_nothing_in_a_binary_one(two):
    short, long = two
    header = json_header()
    assert check_alike(short, long, json_frame(header))
    start, whole = header[: header.index(b'"g":"')], frame_of()
    rest = whole[whole.index(b"\0\1g\0\0\0\x0d") :]
    fields = start + rest[: -len(b"body")]
    mixed = struct.pack(">II", len(fields) + 21 + 4 + 4, 1 << 24 | len(fields) + 21) + whole[8 : 8 + 17]
    assert not check_alike(short, long, mixed + struct.pack(">I", len(fields)) + fields + b"body")


def test_a_header_made_to_be_looked_at_for_long_is_looked_at_once(bench):
    plain = with_topic(bench).dispatcher.plain
    for filler in (b'"opaque":1,' * 6_000, b"\\u0001a" * 9_000, b"a" * 65_000):
        for header in (json_header().replace(b'"flag":0', filler + b"\x00"), json_header().replace(b"KEYS", filler + b"\x00")):
            frame = json_frame(header)
            assert not plain.serve(FramePeer(), frame, 0, len(frame) - 4)


@pytest.mark.parametrize("size", range(4, 29))
def test_a_frame_too_short_for_a_header_is_left_alone(bench, size):
    frame = struct.pack(">I", size) + frame_of()[4 : 4 + size]
    assert not bench.dispatcher.plain.serve(FramePeer(), frame, 0, size)
    with pytest.raises(FrameError):
        decode(frame)


def test_a_frame_may_stand_anywhere_in_what_was_read(bench):
    peer, frame = FramePeer(), frame_of()
    source = b"before" + frame + b"behind"
    assert with_topic(bench).dispatcher.plain.serve(peer, source, 6, len(frame) - 4)
    assert decode(peer.frames[0]).code == R.SUCCESS


def code_of(bench, frame: bytes) -> int:
    """Code of the answer to a frame that the codec reads."""
    peer = FramePeer()
    assert serve(bench, peer, frame)
    return decode(peer.frames[0]).code


def test_a_topic_that_changes_or_goes_counts_for_the_next_send(bench):
    assert code_of(with_topic(bench), frame_of(e="3")) == R.SUCCESS
    topic = bench.state.topics.get("T")
    bench.state.topics.put(replace(topic, read_queues=2, write_queues=2))
    assert code_of(bench, frame_of(e="3")) == R.SYSTEM_ERROR
    bench.state.topics.put(topic)
    assert code_of(bench, frame_of(e="3")) == R.SUCCESS
    bench.state.topics.remove("T")
    assert code_of(bench, frame_of(e="3", c="Nothing")) == R.TOPIC_NOT_EXIST


def test_a_broker_that_may_not_be_written_to_refuses_ordered_topics(bench):
    topic = with_topic(bench).state.topics.get("T")
    bench.state.topics.put(replace(topic, order=True))
    assert code_of(bench, frame_of()) == R.SUCCESS
    bench.dispatcher.send.reconfigure(replace(bench.state.config, permission=4))
    assert code_of(bench, frame_of()) == R.NO_PERMISSION


def test_a_refusal_of_the_store_is_answered_and_counted_once(bench, monkeypatch):
    with_topic(bench)
    monkeypatch.setattr(bench.state.store, "put", lambda _: PutResult(PutStatus.SERVICE_NOT_AVAILABLE))
    assert code_of(bench, frame_of()) == R.SERVICE_NOT_AVAILABLE
    assert bench.state.counters.put_failed == 1


def test_an_unexpected_fault_is_answered_with_its_place(bench, monkeypatch):
    def put(_message) -> None:
        raise OSError("the disk is gone")

    peer = FramePeer()
    with_topic(bench)
    monkeypatch.setattr(bench.state.store, "put", put)
    assert serve(bench, peer, frame_of())
    answer = decode(peer.frames[0])
    assert answer.code == R.SYSTEM_ERROR
    assert answer.remark.startswith("OSError: the disk is gone, test_plain_sends.py:")


def test_what_was_remembered_is_bounded(bench, monkeypatch):
    monkeypatch.setattr("broker_core.engine.processors.plain.learnt.KNOWN_MAX", 8)
    codec = with_topic(bench).dispatcher.plain._read_send.__self__
    for number in range(40):
        for _time in range(2):
            assert serve(bench, FramePeer(), frame_of(a=f"PG{number}", k=str(number)))
            assert serve(bench, FramePeer(), frame_of(a=f"PG{number}", k=str(number), serialize_type=JSON))
        for table in (codec._ends, codec._json_ends):
            assert 0 < len(table) <= 8
        for lanes in (codec._lanes, codec._json_lanes):  # those that machine code serves are forgotten
            assert len(lanes) <= 8
    assert not serve(bench, FramePeer(), frame_of(k="P" * 2000, serialize_type=JSON))
    assert not serve(bench, FramePeer(), frame_of(a="P" * 2000))


class DurableByHand:
    """Keeps who waits for the disk."""

    def __init__(self) -> None:
        self.waiting = []

    def wait(self, physical_end, answer) -> None:
        self.waiting.append((physical_end, answer))


@pytest.mark.parametrize(
    "outcome", [(True, "", R.SUCCESS), (False, "", R.FLUSH_DISK_TIMEOUT), (False, "broken", R.SERVICE_NOT_AVAILABLE)]
)
@both
def test_with_sync_flush_the_answer_waits_for_the_disk(bench, monkeypatch, outcome, kind):
    durable, refusal, code = outcome
    by_hand, peer = DurableByHand(), FramePeer()
    sends = SendProcessor(with_topic(bench).state, by_hand, bench.dispatcher.rewrites)
    frame = frame_of(opaque=31, serialize_type=kind)
    assert PlainRequests(sends, bench.dispatcher.pull).serve(peer, frame, 0, len(frame) - 4)
    assert peer.frames == []
    ((end, answer),) = by_hand.waiting
    assert end == bench.state.store.commit_log_max_offset
    monkeypatch.setattr(type(bench.state.store), "write_refusal", refusal)
    answer(durable)
    told = decode(peer.frames[0]) if durable else peer.sent[0]
    assert (told.code, told.opaque, told.ext_fields["queueOffset"]) == (code, 31, "1")
    assert len(peer.frames) + len(peer.sent) == 1


def test_only_what_is_met_again_is_remembered(monkeypatch):
    monkeypatch.setattr("broker_core.engine.processors.plain.learnt.KNOWN_MAX", 8)
    read = []
    parts = LearntParts[bytes, int](lambda part: read.append(part) or len(part))
    once = [b"x" * size for size in range(1, 30)]
    assert [parts[part] for part in once] == list(range(1, 30))
    assert not parts
    assert len(parts._met_once) <= 8
    assert [parts[b"again"] for _time in range(5)] == [5] * 5
    assert read == [*once, b"again", b"again"]
    assert dict(parts) == {b"again": 5}
