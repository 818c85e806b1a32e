"""What goes out as a file comes back as the same message, in all that a producer can set."""

from __future__ import annotations

import json
import random
import resource
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.errors import CodecError, UsageError
from broker_core.protocol.message.body import compress_body, decompress_body
from broker_core.protocol.message.model import HostAddress, MessageToStore, StoredMessage
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.protocol.message.resent_properties import BROKERS_OWN, ORIGIN_LINK
from broker_core.protocol.message.sys_flag import Compression, with_compression
from broker_core.tools.replay.item import ReplayItem, item_of_message, item_of_row
from broker_core.tools.replay.rewrite import Outgoing, ReplayTarget, outgoing
from broker_core.tools.search.export import exported, read_rows
from broker_core.tools.search.message_row import message_row
from broker_core.tools.search.results import Hit

HOST = HostAddress.parse("127.0.0.1:10911")
FORMATS = ("jsonl", "csv", "parquet")

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=12)
_NAMES = _TEXT.filter(lambda name: name not in BROKERS_OWN)
_PROPERTIES = st.dictionaries(_NAMES, _TEXT, max_size=5) | st.fixed_dictionaries(
    {"TAGS": _TEXT, "KEYS": _TEXT, "UNIQ_KEY": _TEXT, "DELAY": st.integers(1, 18).map(str), "__SHARDINGKEY": _TEXT}
)


@st.composite
def messages(draw: st.DrawFn) -> StoredMessage:
    """A record as a broker stores it for a producer."""
    body, sys_flag = draw(st.binary(min_size=1, max_size=300)), draw(st.sampled_from((0, 2)))
    compression = draw(st.none() | st.sampled_from(Compression))
    damage = draw(st.booleans())
    if compression is not None:
        sys_flag = with_compression(sys_flag, compression)
        body = body if damage else compress_body(body, compression)
    message = MessageToStore(
        "orders",
        draw(st.integers(0, 7)),
        draw(st.integers(-(1 << 31), (1 << 31) - 1)),
        sys_flag,
        draw(st.integers(0, 1 << 45)),
        HOST,
        HOST,
        0,
        0,
        body,
        encode_properties(draw(_PROPERTIES)),
    )
    record = encode_record(
        message,
        queue_offset=draw(st.integers(0, 1 << 40)),
        physical_offset=draw(st.integers(0, 1 << 40)),
        store_timestamp_ms=draw(st.integers(0, 1 << 45)),
    )
    return decode_record(record)


def example(body: bytes) -> StoredMessage:
    """A message without more than its body."""
    message = MessageToStore("t", 0, 0, 0, 1, HOST, HOST, 0, 0, body, b"")
    return decode_record(encode_record(message, queue_offset=0, physical_offset=0, store_timestamp_ms=1))


def hit_of(message: StoredMessage) -> Hit:
    return Hit(message, b"record")


def through(form: str, stored: list[StoredMessage]) -> list[ReplayItem]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"hits.{form}"
        with exported(path, form) as write:
            for message in stored:
                write(message_row(hit_of(message), 0)[0])
        assert [entry.name for entry in Path(folder).iterdir()] == [path.name]
        return [item_of_row(row, f"row {number}", now_ms=1) for number, row in read_rows(path)]


def body_of(item: ReplayItem) -> bytes:
    try:
        return decompress_body(item.sys_flag, item.body)
    except CodecError:
        return item.body


@settings(max_examples=60, deadline=None)
@given(form=st.sampled_from(FORMATS), stored=st.lists(messages(), min_size=1, max_size=6))
def test_export_then_import_gives_the_same_messages(form: str, stored: list[StoredMessage]) -> None:
    originals = [item_of_message(message) for message in stored]
    found = through(form, stored)
    assert [body_of(item) for item in found] == [body_of(item) for item in originals]
    assert [replace(item, body=b"") for item in found] == [replace(item, body=b"") for item in originals]
    # What a producer can set arrives as it was; the body is the same once it is decompressed.
    for message, item in zip(stored, found, strict=True):
        sent = outgoing(item, ReplayTarget(to_origin=True, link=False))
        assert isinstance(sent, Outgoing)
        assert (sent.topic, sent.queue_id, sent.flag, sent.sys_flag) == (
            message.topic,
            message.queue_id,
            message.flag,
            message.sys_flag,
        )
        assert sent.born_timestamp_ms == message.born_timestamp_ms
        assert sent.properties == message.properties
        linked = outgoing(item, ReplayTarget(to_origin=True))
        assert isinstance(linked, Outgoing)
        assert linked.properties == {**message.properties, ORIGIN_LINK: item.origin_id}


@settings(max_examples=40, deadline=None)
@given(message=messages())
def test_the_spool_keeps_an_item(message: StoredMessage) -> None:
    item = item_of_message(message)
    assert ReplayItem.unpack(item.pack()) == item


@given(data=st.binary(max_size=60))
def test_other_bytes_are_no_item(data: bytes) -> None:
    try:
        ReplayItem.unpack(data)
    except CodecError:
        return
    pytest.fail("random bytes were taken for a message")


def test_bodies_that_do_not_decompress_go_back_as_they_are_stored():
    body = b"no zlib stream"
    row = {"topic": "t", "sysFlag": 0x301, "bodyCrc": crc32(body) & 0x7FFFFFFF, "body": "bm8gemxpYiBzdHJlYW0="}
    assert item_of_row(row, "row", now_ms=1).body == body


def test_a_row_made_by_hand_needs_topic_and_body():
    assert item_of_row({"topic": "t", "body": "YQ=="}, "row", now_ms=7) == ReplayItem("t", 0, -1, "", 7, 7, 0, 0, b"a", {})


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"body": "YQ=="}, "row 1 has no topic"),
        ({"topic": "t"}, "row 1 has no body"),
        ({"topic": "t", "body": "?"}, "the body of row 1 is no Base64"),
        ({"topic": "t", "body": "YQ==", "flag": "3"}, "the flag of row 1 is no whole number"),
        ({"topic": "t", "body": "YQ==", "flag": 1 << 31}, "the flag of row 1 is 2147483648, outside"),
        ({"topic": "t", "body": "YQ==", "properties": []}, None),
        ({"topic": "t", "body": "YQ==", "properties": [1]}, "the properties of row 1 are no object"),
        ({"topic": "t", "body": "YQ==", "properties": {"a": 1}}, "a property of row 1 is no text: a"),
        ({"topic": "t", "body": "YQ==", "properties": {"a": "\x01"}}, "a property of row 1 cannot be sent"),
        ({"topic": "t", "body": "YQ==", "offsetMsgId": 5}, "the offsetMsgId of row 1 is no text"),
        ({"topic": "t", "body": "YQ==", "sysFlag": 0x601}, "the sysFlag of row 1 names compression type 6"),
    ],
)
def test_rows_that_are_no_message(row, fault):
    if fault is None:
        assert item_of_row(row, "row 1", now_ms=1).properties == {}
        return
    with pytest.raises(CodecError, match=fault):
        item_of_row(row, "row 1", now_ms=1)


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("x.jsonl", b'{"topic":"t"}\n{"topic', "line 2 of x.jsonl is no JSON"),
        ("x.jsonl", b"[1]\n", "line 1 of x.jsonl is no JSON object"),
        ("x.jsonl", b"\xff\n", "is no UTF-8 text"),
        ("x.csv", b"topic,flag\r\nt,x\r\n", "line 2 of x.csv cannot be read"),
        ("x.csv", b"topic,flag\r\nt\r\n", "line 2 of x.csv has not as many cells"),
        ("x.csv", b'topic,flag\r\n"t"x,1\r\n', "x.csv is no CSV in line 2"),
        ("x.parquet", b"PAR1 no", "x.parquet is no Parquet file"),
    ],
)
def test_files_that_are_none(tmp_path, name, content, fault):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CodecError, match=fault):
        list(read_rows(tmp_path / name))


def test_files_that_cannot_be_had(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_rows(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match="does not say what it is"):
        list(read_rows(tmp_path / "hits.txt"))
    with pytest.raises(UsageError, match="name a file"), exported(None, "parquet"):
        pass


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_stays_of_an_export_that_fails(tmp_path, form):
    with pytest.raises(RuntimeError), exported(tmp_path / f"hits.{form}", form):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMATS)
def test_a_disk_without_room_is_told_with_figures_and_leaves_nothing(tmp_path, form):
    body = random.Random(7).randbytes(300_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        refused = pytest.raises(UsageError, match=rf"hits.{form} was not written: .*after [\d,]+ bytes.*Make room")
        with refused, exported(tmp_path / f"hits.{form}", form) as write:
            write(message_row(hit_of(example(body)), 0)[0])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMATS)
def test_large_bodies_and_many_rows(form):
    template = example(b"x")
    many = [replace(template, body=b"\xf0" * 300_000, queue_offset=0)]
    many += [replace(template, queue_offset=number) for number in range(1, 5_000)]
    found = through(form, many)
    assert [item.queue_offset for item in found] == list(range(5_000))
    assert found[0].body == many[0].body


def test_lines_are_utf8_json(tmp_path):
    path = tmp_path / "a.jsonl"
    with exported(path, "jsonl") as write:
        write({"topic": "杭州\u2028"})
    assert json.loads(path.read_bytes()) == {"topic": "杭州\u2028"}
    assert [row for _, row in read_rows(path)] == [{"topic": "杭州\u2028"}]
