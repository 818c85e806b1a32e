"""Plain pulls: which frames the kernel reads, and that kernel and processor serve them as the general decoding does."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.engine.processors.pull_kernel import PullKernel
from broker_core.errors import FrameError
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import LanguageCode, SerializeType
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand, decode_frame, encode_command
from tests.support.broker_bench import BrokerBench, RecordingPeer, broker_bench, consumer_heartbeat, pull_fields
from tests.support.machine_code import library as machine_code

VERSION_4 = 401
COMMIT, SUSPEND, INLINE = 1, 2, 4
MESSAGES = 40
JSON, BINARY = SerializeType.JSON, SerializeType.ROCKETMQ
both = pytest.mark.parametrize("kind", [BINARY, JSON], ids=["binary", "json"])


class PartsPeer(RecordingPeer):
    """Keeps answers that come as bytes, too."""

    def __init__(self, address: str = "10.0.0.7:4711") -> None:
        super().__init__(address)
        self.requests_in = 0
        self.frames: list[bytes] = []
        self.parts: list[object] = []

    def send_frame(self, frame: bytes) -> bool:
        self.frames.append(frame)
        return True

    def send_parts(self, parts: list, size: int) -> bool:
        assert sum(map(len, parts)) == size
        self.parts += parts
        return self.send_frame(b"".join(parts))

    def send_out(self, parts: list, size: int) -> bool:
        return self.send_parts([bytes(parts[0]), *parts[1:]], size)


def frame_of(
    *,
    code: int = Q.PULL_MESSAGE,
    version: int = VERSION_4,
    flag: int = 0,
    opaque: int = 7,
    remark: str | None = None,
    body: bytes = b"",
    language: LanguageCode = LanguageCode.JAVA,
    serialize_type: SerializeType = BINARY,
    **fields: object,
) -> bytes:
    """A pull as Java writes it, with the given fields; None leaves one out."""
    plain = pull_fields(sysFlag=COMMIT | INLINE, expressionType="TAG")
    ext = {name: str(value) for name, value in (plain | fields).items() if value is not None}
    return encode_command(
        RemotingCommand(
            code, ext, body, opaque=opaque, flag=flag, remark=remark, language=language, version=version,
            serialize_type=serialize_type,
        )
    )  # fmt: skip


def decode(frame: bytes) -> RemotingCommand:
    (total,) = struct.unpack_from(">I", frame)
    return decode_frame(frame, 0, total)


@pytest.fixture(autouse=True, params=["kernel in python", "machine code"], scope="module")
def kernel(request):
    """Who serves: the kernel, uncompiled or compiled."""
    library = machine_code() if request.param == "machine code" else None
    _Way.makes = partial(made_kernel, library)
    yield request.param
    _Way.makes = None


class _Way:
    makes: Callable[[BrokerBench], PullKernel] | None = None


def made_kernel(library, bench) -> PullKernel:
    return PullKernel(bench.state, bench.dispatcher.pull, bench.state.store.pull_reads(library))


def serve(bench, peer: PartsPeer, frame: bytes) -> bool:
    return taken_bytes(bench, peer, frame, 0, len(frame) - 4) > 0


def taken_bytes(bench, peer: PartsPeer, source: bytes, position: int, total: int) -> int:
    plain = bench.dispatcher.plain
    assert _Way.makes is not None
    if plain.pull_kernel is None or not hasattr(bench, "has_kernel"):
        plain.pull_kernel, bench.has_kernel = _Way.makes(bench), True
    return plain.serve(peer, source, position, total)


def comes_again(bench, frame: bytes) -> bool:
    """Whether the kernel reads a pull when it comes again: the first time it is only noted."""
    serve(bench, PartsPeer(), frame)
    return serve(bench, PartsPeer(), frame)


def filled(bench):
    """The bench with topic ``T`` of four queues, with messages in two of them."""
    bench.state.topics.put(TopicConfig("T", 4, 4))
    for number in range(MESSAGES):
        bench.put(queue_id=0 if number % 20 < 10 else number % 2, body=b"%d" % number * (1 + number % 3))
    return bench


@pytest.fixture
def full(bench):
    return filled(bench)


@both
@pytest.mark.parametrize("code", [Q.PULL_MESSAGE, Q.LITE_PULL_MESSAGE])
def test_a_plain_pull_that_comes_again_is_answered_from_its_bytes(full, kind, code):
    peer = PartsPeer()
    assert not serve(full, peer, frame_of(code=code, serialize_type=kind))
    assert (peer.frames, full.state.offsets.get("CG", "T", 0)) == ([], -1)
    assert serve(full, peer, frame_of(code=code, serialize_type=kind, opaque=99, queueOffset=3, commitOffset=2))
    answer = decode(peer.frames[0])
    assert (answer.code, answer.remark, answer.opaque, answer.flag) == (R.SUCCESS, "FOUND", 99, 1)
    assert answer.serialize_type == kind
    end = full.state.store.max_offset("T", 0)
    assert answer.ext_fields == {
        "suggestWhichBrokerId": "0", "nextBeginOffset": str(end), "minOffset": "0", "maxOffset": str(end),
    }  # fmt: skip
    assert answer.body == b"".join(full.state.store.get_messages("T", 0, 3, 32).records)
    assert full.state.offsets.get("CG", "T", 0) == 2
    counters = full.state.counters
    assert (counters.got_messages, counters.pulls["T", "CG"].pulls) == (end - 3, 1)
    assert (peer.version, peer.serialize_type, peer.language) == (VERSION_4, kind, LanguageCode.JAVA)


@both
def test_answers_are_right_whatever_the_digits_of_their_numbers(full, kind):
    assert comes_again(full, frame_of(serialize_type=kind, maxMsgNums=1))
    end, peer = full.state.store.max_offset("T", 0), PartsPeer()
    for offset in range(end):
        assert serve(full, peer, frame_of(serialize_type=kind, maxMsgNums=1, queueOffset=offset, opaque=offset * 10**7))
    answers = [decode(frame) for frame in peer.frames]
    assert [answer.ext_fields["nextBeginOffset"] for answer in answers] == [str(offset + 1) for offset in range(end)]
    assert [answer.opaque for answer in answers] == [offset * 10**7 for offset in range(end)]
    assert all(len(frame) == 4 + struct.unpack_from(">I", frame)[0] for frame in peer.frames)


PLAIN_OR_NOT = st.fixed_dictionaries(
    {},
    optional={
        "code": st.sampled_from([Q.PULL_MESSAGE, Q.LITE_PULL_MESSAGE, Q.SEND_MESSAGE_V2, 12]),
        "version": st.sampled_from([0, VERSION_4, 413, 500, -1]),
        "flag": st.sampled_from([0, 1, 2]),
        "opaque": st.integers(-(1 << 31), (1 << 31) - 1),
        "remark": st.sampled_from([None, "hello"]),
        "body": st.sampled_from([b"", b"x"]),
        "language": st.sampled_from(LanguageCode),
        "serialize_type": st.sampled_from(SerializeType),
        "consumerGroup": st.sampled_from(["CG", "Silent", "bad group", "Forbidden", None]),
        "topic": st.sampled_from(["T", "Nowhere", "WriteOnly", "%RETRY%CG", None]),
        "queueId": st.sampled_from(["0", "1", "2", "4", "-1", "x", None]),
        "queueOffset": st.sampled_from(
            ["0", "3", "003", "29", "30", "31", "99", "-1", "+1", " 1", "x", "", "9" * 18, "9" * 19, "9" * 300, None]
        ),
        "commitOffset": st.sampled_from(["5", "05", "-1", "x", "", "9" * 18, "9" * 19, None]),
        "maxMsgNums": st.sampled_from(["1", "0", "-3", "x", None]),
        "sysFlag": st.sampled_from(["0", "1", "2", "4", "5", "7", "20", "x", None]),
        "subscription": st.sampled_from(["*", "", "a", "a || b", "||", "%", "ä", "\0\x0bqueueOffset\0\0\0\x011", None]),
        "expressionType": st.sampled_from(["TAG", "SQL92", "X", "", None]),
        "subVersion": st.sampled_from(["5", "9", "x", None]),
        "suspendTimeoutMillis": st.sampled_from(["1000", "x", None]),
        "bname": st.sampled_from(["broker-a", '"queueOffset":"1"', None]),
    },
)  # fmt: skip


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two brokers with the same messages and consumers: one for the kernel, one for the general decoding."""
    tmp_path = tmp_path_factory.mktemp("two")
    with broker_bench(tmp_path / "short") as short, broker_bench(tmp_path / "long") as long:
        for bench in (short, long):
            filled(bench)
            bench.state.topics.put(TopicConfig("WriteOnly", 4, 4, permission=2))
            bench.state.groups.forbid_reading("Forbidden", "T", forbidden=True)
            bench.answer(RecordingPeer(), Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("*", 5)))
        yield short, long


def what_is_known(bench) -> tuple[object, ...]:
    state = bench.state
    counters = state.counters
    pulls = {key: (counter.pulls, counter.messages, counter.size) for key, counter in counters.pulls.items()}
    return state.offsets.to_json(), pulls, counters.get_missed, len(bench.dispatcher.pull.holds), state.groups.all()


def check_alike(short, long, frame: bytes) -> bool:
    """Serve a frame on one bench by the kernel if it reads it, on the other the general way: nothing may differ."""
    peer, other = PartsPeer(), PartsPeer()
    taken = serve(short, peer, frame)
    try:
        command = decode(frame)
    except FrameError:
        assert not taken
        return taken
    if command.code not in {Q.PULL_MESSAGE, Q.LITE_PULL_MESSAGE}:
        return taken
    expected = long.dispatcher.handle(other, command)
    if taken:
        assert not command.is_oneway
        assert peer.frames == ([] if expected is None else [encode_command(expected)])
        assert (peer.version, peer.serialize_type, peer.language) == (
            command.version, command.serialize_type, command.language,
        )  # fmt: skip
    else:
        assert peer.frames == []
        answer = short.dispatcher.handle(peer, decode(frame))
        assert (answer is None) == (expected is None)
        assert answer is None or encode_command(answer) == encode_command(expected)
    assert what_is_known(short) == what_is_known(long)
    short.dispatcher.pull.forget(peer)
    long.dispatcher.pull.forget(other)
    return taken


def test_no_pull_is_served_otherwise_than_the_general_way(two):
    short, long = two
    assert learnt_alike(short, long, frame_of())
    assert learnt_alike(short, long, frame_of(serialize_type=JSON))

    @settings(deadline=None)
    @given(PLAIN_OR_NOT)
    def check(pull) -> None:
        check_alike(short, long, frame_of(**pull))
        check_alike(short, long, frame_of(**pull))
        check_alike(short, long, frame_of(**pull))
        assert learnt_alike(short, long, frame_of())
        assert learnt_alike(short, long, frame_of(serialize_type=JSON))

    check()


def learnt_alike(short, long, frame: bytes) -> bool:
    check_alike(short, long, frame)
    return check_alike(short, long, frame)


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
        for _ in range(3):
            check_alike(short, long, bytes(frame))

    check()


def json_header() -> bytes:
    frame = frame_of(serialize_type=JSON)
    return frame[8:]


def json_frame(header: bytes) -> bytes:
    return struct.pack(">II", 4 + len(header), len(header)) + header


PIECES = [
    b'"', b"\\", b'\\"', b"\\u0030", b"\x01", b"{", b"}", b",", b":", b" ", b"0", b"-1", b"1.0", b"null", b'"opaque":1,',
    b'"opaque":"7",', b'"code":10,', b'"flag":2,', b'"queueOffset":"1",', b'"queueOffset":1,', b'"commitOffset":"9",',
    b'"extFields":{"topic":"Nowhere"},', b'"remark":"r",', b'"remark":null,', b'"version":500,', b'"language":"GO",',
    b'"sysFlag":"0",', b'{"queueOffset":"1"},', b"\xc3\xa4", b"\xff",
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
        for _ in range(3):
            check_alike(short, long, json_frame(changed))

    check()


@pytest.mark.parametrize(
    ("old", "new", "is_taken"),
    [
        (b'"opaque":7', b'"opaque":2147483647', True),
        (b'"opaque":7', b'"opaque":2147483648', False),
        (b'"opaque":7', b'"opaque":07', False),
        (b'"opaque":7', b'"opaque":-7', False),
        (b'"opaque":7', b'"opaque":"7"', False),
        (b'"opaque":7', b'"opaque": 7', False),
        (b'"flag":0', b'"flag":2', False),
        (b'"flag":0', b'"flag":0,"opaque":8', False),
        (b'"flag":0', b'"flag":0,"code":10', False),
        (b'"flag":0', b'"flag":0,"remark":""', True),
        (b'"language":"JAVA"', b'"language":"?"', True),
        (b'"version":401', b'"version":500', True),
        (b'"queueOffset":"0"', b'"queueOffset":"00"', True),
        (b'"queueOffset":"0"', b'"queueOffset":0', False),
        (b'"queueOffset":"0"', b'"queueOffset":"\\u0030"', False),
        (b'"queueOffset":"0"', b'"queueOffset":"0","queueOffset":"1"', False),
        (b'"extFields":{', b'"queueOffset":"0","extFields":{', False),
        (b'"topic":"T"', b'"topic": "T"', True),
        (b'"topic":"T"', b'"topic":"\\u0054"', True),
        (b'"subscription":"*"', b'"subscription":"a"', True),
        (b'"code":11,', b'"code": 11,', False),
    ],
)  # fmt: skip
def test_json_of_other_writers_is_read_where_it_means_the_same(two, old, new, is_taken):
    header = json_header()
    assert header.count(old) == 1
    short, long = two
    taken = [check_alike(short, long, json_frame(header.replace(old, new))) for _ in range(3)]
    assert taken[1:] == [is_taken, is_taken]


def test_the_numbers_of_json_may_stand_in_any_order(two):
    short, long = two
    offset, commit, opaque = b'"queueOffset":"5",', b'"commitOffset":"4",', b'"opaque":7,'
    for order in ((offset, commit), (commit, offset)):
        fields = (
            b'"consumerGroup":"CG","topic":"T","queueId":"0","sysFlag":"5","subscription":"*",%b"maxMsgNums":"9"'
            % b"".join(order)
        )
        for before, behind in ((opaque, b""), (b"", opaque)):
            header = b'{"code":11,%b"extFields":{%b},%b"flag":0,"language":"GO","version":401}' % (before, fields, behind)
            assert learnt_alike(short, long, json_frame(header))
            assert short.state.offsets.get("CG", "T", 0) == 4


@pytest.mark.parametrize("size", range(4, 29))
def test_a_frame_too_short_for_a_header_is_left_alone(full, size):
    frame = struct.pack(">I", size) + frame_of()[4 : 4 + size]
    assert not taken_bytes(full, PartsPeer(), frame, 0, size)


@both
def test_a_frame_may_stand_anywhere_in_what_was_read(full, kind):
    frame, peer = frame_of(serialize_type=kind), PartsPeer()
    assert comes_again(full, frame)
    assert taken_bytes(full, peer, b"before" + frame + b"behind", 6, len(frame) - 4) == len(frame)
    assert decode(peer.frames[0]).code == R.SUCCESS


# ---- what changes meanwhile ----


def code_of(bench, frame: bytes) -> int:
    """Code of the answer to a pull that the kernel has learnt."""
    peer = PartsPeer()
    assert comes_again(bench, frame)
    assert serve(bench, peer, frame)
    return decode(peer.frames[0]).code


def test_a_topic_that_changes_or_goes_is_looked_at_again(full):
    frame, topic = frame_of(queueId=1), full.state.topics.get("T")
    assert code_of(full, frame) == R.SUCCESS
    for changed, code in ((replace(topic, read_queues=1), R.SYSTEM_ERROR), (replace(topic, permission=2), R.NO_PERMISSION)):
        full.state.topics.put(changed)
        assert code_of(full, frame) == code
    full.state.topics.put(topic)
    assert code_of(full, frame) == R.SUCCESS
    full.state.topics.remove("T")
    assert code_of(full, frame) == R.TOPIC_NOT_EXIST


def test_a_group_that_may_not_consume_any_more_gets_nothing(full):
    frame = frame_of()
    assert code_of(full, frame) == R.SUCCESS
    group = full.state.groups.get("CG")
    full.state.groups.put(replace(group, consume_enabled=False))
    assert code_of(full, frame) == R.NO_PERMISSION
    full.state.groups.put(group)
    assert code_of(full, frame) == R.SUCCESS
    full.state.groups.forbid_reading("CG", "T", forbidden=True)
    assert code_of(full, frame) == R.NO_PERMISSION
    full.state.groups.forbid_reading("CG", "T", forbidden=False)
    assert code_of(full, frame) == R.SUCCESS


@pytest.mark.parametrize(("change", "code"), [({"permission": 2}, 11), ({"lite_pull": False}, 361)])
def test_settings_are_looked_at_again(full, change, code):
    frame, config = frame_of(code=code), full.state.config
    assert code_of(full, frame) == R.SUCCESS
    full.state.config = replace(config, **change)
    assert code_of(full, frame) == R.NO_PERMISSION
    full.state.config = config
    assert code_of(full, frame) == R.SUCCESS


def test_the_broker_to_pull_from_is_the_one_of_the_group(tmp_path):
    with broker_bench(tmp_path, slave_read=True) as bench:
        frame, peer = frame_of(), PartsPeer()
        assert comes_again(filled(bench), frame)
        bench.state.groups.put(replace(bench.state.groups.get("CG"), broker_id=12))
        assert serve(bench, peer, frame)
        assert decode(peer.frames[0]).ext_fields["suggestWhichBrokerId"] == "12"


def test_the_subscription_of_heartbeats_decides_where_the_pull_brings_none(full):
    frame, member = frame_of(sysFlag=COMMIT | SUSPEND, subscription="", subVersion=5), PartsPeer()
    newer = frame_of(sysFlag=COMMIT | SUSPEND, subscription="", subVersion=6)
    assert code_of(full, frame) == R.SUBSCRIPTION_NOT_EXIST, "no heartbeat has come"
    full.answer(member, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("*", 5)))
    assert code_of(full, frame) == R.SUCCESS
    assert code_of(full, newer) == R.SUBSCRIPTION_NOT_LATEST
    full.answer(member, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("a", 7)))
    assert code_of(full, frame) == R.PULL_RETRY_IMMEDIATELY, "no message has the tag"
    full.answer(member, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("*", 8)))
    assert code_of(full, frame) == R.SUCCESS
    full.dispatcher.disconnected(member)
    assert code_of(full, frame) == R.SUBSCRIPTION_NOT_EXIST


def test_who_pulls_a_queue_is_noted(full):
    member = PartsPeer()
    full.answer(member, Q.HEART_BEAT, body=consumer_heartbeat("c1", T=("*", 5)))
    assert comes_again(full, frame_of())
    assert full.state.consumers.puller("CG", "T", 0) == ""
    assert serve(full, member, frame_of())
    assert full.state.consumers.puller("CG", "T", 0) == "c1"


def test_a_pull_at_the_end_of_its_queue_is_held(full):
    frame, peer = frame_of(sysFlag=INLINE | SUSPEND, queueOffset=2), PartsPeer()
    assert comes_again(full, frame)
    end = full.state.store.max_offset("T", 0)
    assert serve(full, peer, frame_of(sysFlag=INLINE | SUSPEND, queueOffset=end))
    assert (peer.frames, len(full.dispatcher.pull.holds)) == ([], 1)
    full.put(body=b"new")
    assert [b"new" in b"".join(answer.body_slices) for answer in peer.sent] == [True]
