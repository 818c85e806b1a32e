import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.protocol.json_body import JsonBodyError, MessageQueue, as_message_queue, emit, parse, parse_object

QUEUE = MessageQueue("T", "broker-a", 0)
json_values = st.recursive(
    st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc ", max_size=3), inner, max_size=3),
    max_leaves=12,
)


def test_bodies_are_compact_sorted_and_leave_nothing_out_but_none():
    assert emit({"b": [1, 2.5, True], "a": {"y": None, "x": "é"}, "c": [], "d": {}}) == (
        '{"a":{"x":"é"},"b":[1,2.5,true],"c":[],"d":{}}'.encode()
    )


@pytest.mark.parametrize(("bare", "text"), [(False, b'{"0":"a:1","10":"b:2"}'), (True, b'{0:"a:1",10:"b:2"}')])
def test_number_keys_are_quoted_or_bare_and_in_order(bare, text):
    assert emit({10: "b:2", 0: "a:1"}, bare_int_keys=bare) == text


def test_a_queue_as_key_is_written_and_read_as_an_object():
    body = emit({"offsetTable": {QUEUE: 5}})
    assert body == b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:5}}'
    assert parse(body) == {"offsetTable": {QUEUE: 5}}


def test_routes_for_new_clients_are_ascii():
    assert emit({"a": "é"}, ascii_only=True) == b'{"a":"\\u00e9"}'


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{0:"a:1",1:"b:2"}', {"0": "a:1", "1": "b:2"}),
        (b'{"T@CG":{0:5,1:7}}', {"T@CG": {"0": 5, "1": 7}}),
        (b"{'single':'it\\'s \\u00e9\\n',}", {"single": "it's é\n"}),
        (b'{"{1:":{-1:2,3:"a,4:\\",5:"},"x":[{6:null}]}', {"{1:": {"-1": 2, "3": 'a,4:",5:'}, "x": [{"6": None}]}),
        (b"{1:'a,2:',3:{bare:4}}", {"1": "a,2:", "3": {"bare": 4}}),
        (b"[1,-2.5,true,false,null,]", [1, -2.5, True, False, None]),
        (b' {"mqTable":{{"$ref":"$.x"}:{}}} ', {"mqTable": {'{"$ref":"$.x"}': {}}}),
        (b'{"a":1}\n', {"a": 1}),
        (b"{bare:{}}", {"bare": {}}),
    ],
)
def test_the_dialect_of_fastjson_is_read(body, value):
    assert parse(body) == value


def test_a_queue_key_as_text_is_a_queue():
    text = emit(QUEUE).decode()
    assert as_message_queue(text) == QUEUE
    assert as_message_queue(parse(text.encode())) == QUEUE
    assert [as_message_queue(value) for value in ("{", "x", 5, {"topic": "T"}, {**parse(text.encode()), "queueId": []})] == [
        None
    ] * 5


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"{1", b"{1:", b'{"a" 1}', b"[1 2]", b"[1", b"'open", b"{1:2} 3", b"nonsense", b"\xff", b"1" * 5000, b"{:1}"],
)
def test_what_is_neither_says_so(body):
    with pytest.raises(JsonBodyError):
        parse(body)


@pytest.mark.parametrize("end", ["", "\\", "\\\n"])
def test_a_text_without_an_end_is_looked_for_once(end):
    """At each of its quotes it would take hours."""
    with pytest.raises(JsonBodyError):
        parse(('{1:"' + '\\"' * 500_000 + end).encode())


def test_endless_nesting_is_refused():
    with pytest.raises(JsonBodyError, match="64 levels"):
        parse(b"{0:" * 10_000)
    with pytest.raises(JsonBodyError, match="64 levels"):
        parse(b"{" * 10_000)


def test_an_object_is_demanded_where_one_belongs():
    assert parse_object(b"") == {}
    with pytest.raises(JsonBodyError, match="list, not an object"):
        parse_object(b"[]")


@given(json_values)
def test_what_is_written_is_read_back(value):
    assert parse(emit(value)) == value


@given(st.binary(max_size=60) | st.text("{}[]:,'\"\\u0a1 ", max_size=40).map(str.encode))
def test_any_bytes_are_refused_or_a_value_that_is_written_and_read_the_same(data):
    try:
        value = parse(data)
    except JsonBodyError:
        return
    assert text_of(parse(emit(value))) == text_of(value)


def text_of(value):
    """Standard JSON, for NaN is not equal to itself; without what is not written: None members and halves of characters."""
    return json.dumps(_written(value), sort_keys=True)


def _written(value):
    if isinstance(value, dict):
        return {_written(str(name)): _written(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_written(item) for item in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
