"""Frames: bytes ↔ command, golden bytes of real RocketMQ, and any input decodes or raises FrameError."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import FrameError
from broker_core.protocol.codes import LanguageCode, RequestCode, SerializeType
from broker_core.protocol.frame import (
    FRAME_BYTES_MAX,
    ONEWAY_FLAG,
    RESPONSE_FLAG,
    TAKEN,
    FrameDecoder,
    RemotingCommand,
    encode_command,
    encode_parts,
)

BINARY_ROUTE_REQUEST = bytes.fromhex(
    "00000025010000210069030199000000010000000000000000"
    "0000000c0005746f7069630000000154"
)  # fmt: skip

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
commands = st.builds(
    RemotingCommand,
    st.integers(-(1 << 15), (1 << 15) - 1),
    st.dictionaries(texts, texts, max_size=6),
    st.binary(max_size=200),
    opaque=st.integers(-(1 << 31), (1 << 31) - 1),
    flag=st.integers(0, 3),
    remark=st.none() | texts.filter(bool),
    language=st.sampled_from(LanguageCode),
    version=st.integers(0, 32767),
    serialize_type=st.sampled_from(SerializeType),
)


def decode_all(data: bytes) -> list[RemotingCommand]:
    return list(FrameDecoder().feed(data))


def json_frame(header: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def test_the_binary_request_of_a_real_name_server_decodes_and_encodes_back():
    (command,) = decode_all(BINARY_ROUTE_REQUEST)
    assert command == RemotingCommand(
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        {"topic": "T"},
        opaque=1,
        version=409,
        language=LanguageCode.PYTHON,
        serialize_type=SerializeType.ROCKETMQ,
    )
    assert encode_command(command) == BINARY_ROUTE_REQUEST


def test_the_json_header_of_a_java_client_decodes():
    header = (
        b'{"code":310,"extFields":{"a":"PG","b":"T","e":"3"},"flag":0,"language":"JAVA","opaque":7,'
        b'"serializeTypeCurrentRPC":"JSON","version":409}'
    )
    assert decode_all(json_frame(header, b"hello")) == [
        RemotingCommand(310, {"a": "PG", "b": "T", "e": "3"}, b"hello", opaque=7, language=LanguageCode.JAVA)
    ]


def test_the_json_header_of_the_cpp_client_has_native_values_and_a_newline():
    header = b'{"code":11,"extFields":{"queueId":3,"order":false,"x":null,"y":1.5},"language":"CPP","opaque":"9"}\n'
    (command,) = decode_all(json_frame(header))
    assert (command.ext_fields, command.opaque) == ({"queueId": "3", "order": "false", "y": "1.5"}, 9)


def test_a_language_by_ordinal_and_one_nobody_knows():
    assert [decode_all(json_frame(b'{"code":1,"language":%b}' % word))[0].language for word in (b"9", b"99", b'"COBOL"')] == [
        LanguageCode.GO,
        LanguageCode.OTHER,
        LanguageCode.OTHER,
    ]


@given(commands)
def test_every_command_survives_encoding(command):
    assert decode_all(encode_command(command)) == [command]


@given(st.lists(commands, max_size=5), st.data())
def test_any_split_of_the_stream_gives_the_same_commands(sent, data):
    stream = b"".join(map(encode_command, sent))
    decoder, received, position = FrameDecoder(), [], 0
    while position < len(stream):
        size = data.draw(st.integers(1, len(stream) - position))
        received += decoder.feed(stream[position : position + size])
        position += size
    assert received == sent
    assert decoder.pending_bytes == 0


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_decoded_up_to_the_frame_that_is_not_whole(data):
    decoder = FrameDecoder()
    try:
        received = list(decoder.feed(data))
    except FrameError:
        return
    sizes, position = [], 0
    while position + 4 <= len(data) and (end := position + 4 + struct.unpack_from(">I", data, position)[0]) <= len(data):
        sizes.append(end - position)
        position = end
    assert (len(received), decoder.pending_bytes) == (len(sizes), len(data) - position)


def decoded_or_refused(frame):
    """Every other exception fails the test; what is taken for a command is one, that can be sent again."""
    try:
        (command,) = decode_all(frame)
    except FrameError:
        return
    assert decode_all(encode_command(command)) == [command]


@given(st.binary(max_size=120), st.sampled_from([0, 1]), st.binary(max_size=10))
def test_any_header_decodes_or_raises_frame_error(header, kind, body):
    decoded_or_refused(struct.pack(">II", 4 + len(header) + len(body), kind << 24 | len(header)) + header + body)


@given(commands, st.data())
def test_any_damage_of_a_header_decodes_or_raises_frame_error(command, data):
    frame = bytearray(encode_command(command))
    frame[data.draw(st.integers(8, len(frame) - 1))] ^= data.draw(st.integers(1, 255))
    decoded_or_refused(bytes(frame))


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (struct.pack(">I", FRAME_BYTES_MAX + 1), "16,777,217 bytes, allowed are 4 to 16,777,216"),
        (struct.pack(">II", 3, 0), "claims 3 bytes"),
        (struct.pack(">II", 4, 5), "a header of 5 bytes does not fit a frame of 4 bytes"),
        (struct.pack(">II", 6, 2 << 24 | 2) + b"{}", "serialize type 2 is unknown"),
        (json_frame(b"{"), "the JSON header cannot be read"),
        (json_frame(b"[" * 100_000), "the JSON header cannot be read"),
        (json_frame(b"\xff{}"), "the JSON header cannot be read"),
        (json_frame(b"[]"), "not an object"),
        (json_frame(b'{"code":[]}'), "header field code"),
        (json_frame(b'{"code":1,"opaque":2147483648}'), "not a 32-bit number"),
        (json_frame(b'{"code":"ten"}'), "not a number"),
        (json_frame(b'{"code":1,"extFields":[1]}'), "extFields"),
        (b"\x16\x03\x01\x02\x00\x01", "claims 369,295,618 bytes"),
    ],
)
def test_a_broken_frame_says_what_is_wrong(frame, says):
    with pytest.raises(FrameError, match=says):
        decode_all(frame)


def test_commands_before_a_broken_frame_are_delivered():
    good = RemotingCommand(1, opaque=5)
    decoder, received = FrameDecoder(), []
    with pytest.raises(FrameError, match="at byte"):
        received.extend(decoder.feed(encode_command(good) + b"\xff\xff\xff\xff"))
    assert received == [good]


def test_the_position_in_a_frame_error_counts_from_the_start_of_the_connection():
    frame = encode_command(RemotingCommand(1))
    decoder = FrameDecoder()
    assert len(list(decoder.feed(frame))) == 1
    with pytest.raises(FrameError, match=f"at byte {2 * len(frame)} "):
        list(decoder.feed(frame + b"\xff\xff\xff\xff"))


def test_a_reply_keeps_opaque_and_header_encoding():
    request = RemotingCommand(105, opaque=77, serialize_type=SerializeType.ROCKETMQ)
    reply = request.reply(17, "nothing", {"a": "b"}, b"x")
    assert (reply.opaque, reply.serialize_type, reply.is_response, reply.is_oneway) == (77, SerializeType.ROCKETMQ, True, False)
    assert request.not_supported().remark == " request type 105 not supported"


def test_flags_tell_requests_oneways_and_responses_apart():
    kinds = [RemotingCommand(1, flag=flag) for flag in (0, ONEWAY_FLAG, RESPONSE_FLAG)]
    assert [(kind.is_response, kind.is_oneway) for kind in kinds] == [(False, False), (False, True), (True, False)]


def test_slices_are_sent_after_the_body_without_a_copy():
    backing = bytearray(b"0123456789")
    slices = [memoryview(backing)[2:4], memoryview(backing)[8:]]
    parts = encode_parts(RemotingCommand(0, body=b"body", body_slices=slices))
    assert parts[2] is slices[0]
    (command,) = decode_all(b"".join(parts))
    assert command.body == b"body2389"


def test_values_go_out_as_json_text_and_lone_surrogates_as_question_marks():
    frame = encode_command(RemotingCommand(1, {"k": "é\ud800\n"}, remark='say "hi"'))
    header = json.loads(frame[8:])
    assert (header["extFields"], header["remark"]) == ({"k": "é?\n"}, 'say "hi"')
    assert header["serializeTypeCurrentRPC"] == "JSON"


def test_a_frame_that_peers_would_refuse_is_not_encoded():
    with pytest.raises(FrameError, match="more than the 16,777,216"):
        encode_command(RemotingCommand(1, body=bytes(FRAME_BYTES_MAX)))


def test_codes_of_rocketmq_5_do_not_fit_a_binary_header():
    with pytest.raises(FrameError, match="code 200050 does not fit"):
        encode_command(RemotingCommand(RequestCode.POP_MESSAGE, serialize_type=SerializeType.ROCKETMQ))


def test_a_frame_that_somebody_takes_as_bytes_is_not_decoded():
    frames = [encode_command(RemotingCommand(code, body=bytes(code), opaque=code)) for code in (1, 2, 3)]
    stream = b"".join(frames)
    for cut in range(1, len(stream)):
        decoder, offered, commands = FrameDecoder(), [], []

        def take(source: bytes, position: int, total: int) -> int:
            offered.append(source[position : position + 4 + total])  # noqa: B023  used in its round only
            return 0 if len(offered) == 2 else 4 + total  # noqa: B023

        for part in (stream[:cut], stream[cut:]):
            commands += decoder.feed(part, take)
        assert offered == frames
        assert [command.opaque for command in commands] == [2]
        assert decoder.taken == len(frames[0]) + len(frames[2])
        assert decoder.pending_bytes == 0


def test_whoever_takes_frames_may_have_the_one_who_feeds_stop_behind_them():
    stream = b"".join(encode_command(RemotingCommand(1, opaque=opaque)) for opaque in range(6))
    decoder, offered = FrameDecoder(), []

    def take(source: bytes, position: int, total: int) -> int:
        offered.append(position)
        decoder.interrupted = len(offered) % 2 == 0
        return 4 + total

    commands = decoder.feed(stream, take)
    assert next(commands) is TAKEN
    commands.close()
    size = len(stream) // 6
    assert (len(offered), decoder.taken, decoder.pending_bytes) == (2, 2 * size, 4 * size)
    assert [command is TAKEN for command in decoder.feed(b"", take)] == [True, True]
    assert (len(offered), decoder.taken, decoder.pending_bytes) == (6, 6 * size, 0)


def test_whoever_takes_a_frame_may_take_those_behind_it():
    frames = [encode_command(RemotingCommand(1, opaque=opaque)) for opaque in range(6)]
    stream, offered, decoder = b"".join(frames), [], FrameDecoder()

    def take(source: bytes, position: int, total: int) -> int:
        offered.append(position)
        return 2 * (4 + total) if len(offered) == 1 else 0

    size = len(frames[0])
    assert [command.opaque for command in decoder.feed(stream[:-1], take)] == [2, 3, 4]
    assert (offered, decoder.taken, decoder.pending_bytes) == ([0, 2 * size, 3 * size, 4 * size], 2 * size, size - 1)


class Kept:
    """Bytes that a decoder puts aside."""

    def __init__(self) -> None:
        self.data = b""
        self.is_closed = False

    def append(self, data: bytes | bytearray) -> None:
        self.data += bytes(data)

    def take(self) -> bytes:
        self.is_closed = True
        return self.data

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_frame_that_is_put_aside_comes_out_the_same(size):
    large, small = (RemotingCommand(1, body=bytes(range(256)) * count, opaque=count) for count in (10, 1))
    stream = b"".join(map(encode_command, (small, large, small, large, small)))
    decoder, kept, got = FrameDecoder(), [], []
    for start in range(0, len(stream), size):
        got += decoder.feed(stream[start : start + size])
        if decoder.wanted_bytes > 1000 and (not kept or kept[-1].is_closed):
            kept.append(Kept())
            decoder.put_aside(kept[-1])
            assert decoder.pending_bytes == len(kept[-1].data) < decoder.wanted_bytes
    assert [command.opaque for command in got] == [1, 10, 1, 10, 1]
    assert [bytes(command.body) for command in got[:2]] == [small.body, large.body]
    assert len(kept) == 2
    assert all(one.is_closed for one in kept)
    assert decoder.pending_bytes == 0


def test_what_came_with_the_end_of_a_frame_put_aside_waits_for_who_comes_back_for_it():
    frames = [encode_command(RemotingCommand(1, body=bytes(100), opaque=number)) for number in range(3)]
    decoder = FrameDecoder()
    assert not list(decoder.feed(frames[0][:50]))
    decoder.put_aside(Kept())
    feed = decoder.feed(frames[0][50:] + frames[1] + frames[2][:20])
    assert next(feed).opaque == 0
    feed.close()
    assert decoder.pending_bytes == len(frames[1]) + 20
    assert [command.opaque for command in decoder.feed(frames[2][20:])] == [1, 2]


def test_a_stream_that_ends_drops_what_was_put_aside():
    decoder, kept = FrameDecoder(), Kept()
    decoder.drop()
    assert not list(decoder.feed(encode_command(RemotingCommand(1, body=bytes(100)))[:50]))
    decoder.put_aside(kept)
    decoder.drop()
    assert kept.is_closed
    assert decoder.pending_bytes == 0
