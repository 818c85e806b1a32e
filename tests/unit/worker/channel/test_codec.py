import typing
from collections.abc import Callable

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import BugError, CodecError
from broker_core.protocol.codes import ResponseCode
from broker_core.worker.channel import schema
from broker_core.worker.channel.codec import decode_window_message, decode_worker_message, encode_message
from broker_core.worker.questions.administration import Members
from broker_core.worker.questions.figures import Occurred, Snapshot
from broker_core.worker.questions.lifecycle import Fatal, Hello, Shutdown, Stage
from broker_core.worker.questions.stored_messages import FindOffset, FoundOffset, SendMessage

PREFIX_BYTES = 4
text = st.text(max_size=20)
numbers = st.integers(min_value=-(2**63), max_value=2**63 - 1)
columns = st.dictionaries(text, st.binary(max_size=40), max_size=4)

worker_messages = st.one_of(
    st.builds(Hello, numbers, numbers, text),
    st.builds(Snapshot, numbers, numbers, columns, columns, columns, columns, st.lists(text), st.just({"put_rate": 1.5})),
    st.builds(Fatal, text, text, st.dictionaries(text, st.one_of(st.none(), st.booleans(), numbers, text), max_size=3)),
    st.builds(schema.Reply, numbers, st.builds(FoundOffset, numbers)),
    st.builds(schema.Reply, numbers, st.just(Members(["a"], ["b"], ["c"], ["d"], [1], [{"topic": "*"}]))),
)
window_messages = st.one_of(
    st.builds(schema.Cancel, numbers),
    st.builds(schema.Request, numbers, st.builds(SendMessage, text, numbers, st.binary(), st.dictionaries(text, text))),
    st.builds(schema.Request, numbers, st.just(Shutdown())),
)


@given(worker_messages)
def test_what_a_worker_says_is_read_as_it_was(message: schema.WorkerMessage):
    assert decode_worker_message(encode_message(message)[PREFIX_BYTES:]) == message


@given(window_messages)
def test_what_a_window_says_is_read_as_it_was(message: schema.WindowMessage):
    assert decode_window_message(encode_message(message)[PREFIX_BYTES:]) == message


def test_a_message_is_an_array_that_begins_with_its_tag():
    data = encode_message(schema.Request(7, FindOffset("orders", 3, 1_700)))
    assert msgpack.unpackb(data[PREFIX_BYTES:]) == ["Request", 7, ["FindOffset", "orders", 3, 1_700]]


def test_missing_fields_at_the_end_take_their_defaults():
    assert decode_worker_message(msgpack.packb(["Stage", "recovering"])) == Stage("recovering", 0, 0)


def test_fields_that_a_newer_peer_has_added_are_ignored():
    assert decode_worker_message(msgpack.packb(["Stage", "recovering", 1, 2, "new", {}])) == Stage("recovering", 1, 2)


def test_a_message_with_a_nested_message_is_cut_the_same_way():
    payload = msgpack.packb(["Reply", 1, ["FoundOffset", 5, "new"], "new"])
    assert decode_worker_message(payload) == schema.Reply(1, FoundOffset(5))


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (["Nonsense", 1], "expected one of"),
        (["Request", 1, ["Shutdown"]], "expected one of"),  # a window's message, read as a worker's
        ([], "expected one of"),
        (5, "expected one of"),
        (["Hello", 1], "at least 3 fields, got 1"),
        (["Hello", "1", 2, "v"], "Hello.protocol_version: expected int, got str"),
        (["Hello", True, 2, "v"], "Hello.protocol_version: expected int, got bool"),
        (["Reply", 1, ["FoundOffset", None]], "Reply.body: FoundOffset.offset: expected int, got NoneType"),
        (["Reply", 1, ["Cancel", 1]], "Reply.body: expected one of"),
        (["Snapshot", 1, 2, {"a": "text"}, {}, {}, {}, [], {}], "Snapshot.queues: expected items of bytes, got str"),
        (["Snapshot", 1, 2, {}, {}, {}, {}, ["a", 1], {}], "Snapshot.owners: expected items of str, got int"),
        (["Snapshot", 1, 2, [], {}, {}, {}, [], {}], "Snapshot.queues: expected a map, got list"),
    ],
)
def test_what_is_no_message_is_refused_with_the_place(payload: object, words: str):
    with pytest.raises(CodecError) as caught:
        decode_worker_message(msgpack.packb(payload))
    assert words in str(caught.value)


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_raise_a_codec_error(payload: bytes):
    for decode in (decode_worker_message, decode_window_message):
        decoded_or_refused(decode, payload)


def decoded_or_refused(
    decode: Callable[[bytes], schema.WorkerMessage | schema.WindowMessage], payload: bytes
) -> schema.WorkerMessage | schema.WindowMessage | None:
    """Every other exception fails the test; what is taken for a message is one, that can be said again."""
    try:
        message = decode(payload)
    except CodecError:
        return None
    said = encode_message(message)
    assert encode_message(decode(said[PREFIX_BYTES:])) == said
    return message


@given(
    st.recursive(st.one_of(st.none(), st.booleans(), numbers, text, st.binary(max_size=9)), st.lists, max_leaves=12), st.data()
)
def test_any_fields_behind_a_known_tag_decode_or_raise_a_codec_error(value: object, data: st.DataObject):
    tag = data.draw(st.sampled_from([kind.__name__ for kind in typing.get_args(schema.WorkerMessage)]))
    fields = value if isinstance(value, list) else [value]
    message = decoded_or_refused(decode_worker_message, msgpack.packb([tag, *fields]))
    assert message is None or type(message).__name__ == tag


def test_deep_nesting_is_a_codec_error():
    with pytest.raises(CodecError):
        decode_worker_message(b"\x91" * 5_000 + b"\xc0")


def test_lone_surrogates_of_a_property_survive():
    message = Occurred("kind", "a\udc80b", 1)
    assert decode_worker_message(encode_message(message)[PREFIX_BYTES:]) == message


def test_enum_members_travel_as_their_numbers():
    data = encode_message(schema.Failure(1, "RemoteError", "no", {"code": ResponseCode.SYSTEM_ERROR}))
    failure = decode_worker_message(data[PREFIX_BYTES:])
    assert isinstance(failure, schema.Failure)
    assert type(failure.context["code"]) is int


def test_what_is_no_message_class_is_a_fault_of_the_sender():
    with pytest.raises(BugError, match="object"):
        encode_message(object())  # type: ignore[arg-type]  that is the point
