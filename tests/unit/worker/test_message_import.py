"""Messages of files for the composer."""

from __future__ import annotations

import base64
import json
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from broker_core.errors import CodecError, UsageError
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.protocol.message.sys_flag import Compression, with_compression
from broker_core.tools.search.export import FORMATS, exported
from broker_core.tools.search.message_row import message_row
from broker_core.tools.search.results import Hit
from broker_core.worker import message_import as imported
from broker_core.worker.message_import import read_imports
from broker_core.worker.questions.stored_messages import SendMessage
from tests.support.store_bench import message as message_of

TEMPLATE = SendMessage("orders", 2, b"", {"TAGS": "A"}, 7)


def stored(body, flag, properties, sys_flag=0):
    """A message as a broker has it."""
    value = message_of(body, flag=flag, sys_flag=sys_flag, properties=encode_properties(properties))
    return decode_record(encode_record(value, queue_offset=1, physical_offset=4_096, store_timestamp_ms=5))


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_rows_keep_what_producers_set_and_lose_what_brokers_added(tmp_path):
    row = {
        "topic": "payments", "body": base64.b64encode(b"\x00x").decode(), "flag": 3, "offsetMsgId": "7F01",
        "properties": {"KEYS": "K", "REAL_TOPIC": "z", "UNIQ_KEY": "U"},
    }  # fmt: skip
    (message,) = read_imports([lines(tmp_path / "a.jsonl", row)], TEMPLATE)
    properties = {"KEYS": "K", "UNIQ_KEY": "U", "ORBIT_ORIGIN_ID": "7F01"}
    assert message == SendMessage("payments", -1, b"\x00x", properties, 3)


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_of_any_format_brings_all_that_a_producer_can_set(tmp_path, form):
    packed = zlib.compress(b"body " * 50)
    messages = [
        stored(b'\x00\xff\r\n"x,', -3, {"TAGS": "a,b", "KEYS": "k1 k2", "地区": '杭州\n"x"', "DELAY": "3"}),
        stored(packed, (1 << 31) - 1, {"UNIQ_KEY": "7F"}, sys_flag=with_compression(0, Compression.ZLIB)),
        stored(b"x", 0, {}),
    ]
    path = tmp_path / f"hits.{form}"
    with exported(path, form) as write:
        for message in messages:
            write(message_row(Hit(message, b""), 0)[0])
    found = read_imports([path], TEMPLATE)
    assert [message.body for message in found] == [b'\x00\xff\r\n"x,', b"body " * 50, b"x"]
    for message, original in zip(found, messages, strict=True):
        origin = offset_message_id(original.store_host, original.physical_offset)
        assert (message.topic, message.flag) == (original.topic, original.flag)
        assert message.properties == {**original.properties, "ORBIT_ORIGIN_ID": origin}


def test_a_body_that_does_not_decompress_is_for_a_replay(tmp_path):
    path = tmp_path / "hits.jsonl"
    message = stored(b"no zlib stream", 0, {}, sys_flag=with_compression(0, Compression.ZLIB))
    with exported(path, "jsonl") as write:
        write(message_row(Hit(message, b""), 0)[0])
    with pytest.raises(CodecError, match=r"message 1 of hits\.jsonl: .*does not decompress as ZLIB.* Replay the file"):
        read_imports([path], TEMPLATE)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_empty_cells_of_a_table_stand_for_what_was_entered(tmp_path, form):
    path = tmp_path / f"hits.{form}"
    rows = [("", "", "1"), ("payments", "", "2")]
    if form == "csv":
        path.write_text("topic,body,bodyText\r\n" + "".join(",".join(row) + "\r\n" for row in rows))
    else:
        names = ("topic", "body", "bodyText")
        pq.write_table(
            pa.Table.from_pylist([dict(zip(names, (cell or None for cell in row), strict=True)) for row in rows]), path
        )
    found = read_imports([path], TEMPLATE)
    assert [(message.topic, message.body) for message in found] == [("orders", b"1"), ("payments", b"2")]


def test_a_file_of_another_kind_is_the_body_of_what_was_entered(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"{}")
    assert read_imports([path], TEMPLATE) == [SendMessage("orders", 2, b"{}", {"TAGS": "A"}, 7)]


def test_several_files_come_in_their_order(tmp_path):
    first, second = lines(tmp_path / "b.jsonl", {"bodyText": "1"}), lines(tmp_path / "a.jsonl", {"bodyText": "2"})
    assert [message.body for message in read_imports([first, second], TEMPLATE)] == [b"1", b"2"]


@pytest.mark.parametrize(
    ("name", "content", "refusal"),
    [
        ("empty.bin", b"", "empty"),
        ("empty.jsonl", b"", "no message"),
        ("empty_body.jsonl", b'{"bodyText":""}', "empty body"),
        ("none.jsonl", b'{"tag":"x"}', "no body"),
    ],
)
def test_what_cannot_be_sent_is_refused(tmp_path, name, content, refusal):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((UsageError, CodecError), match=refusal):
        read_imports([path], TEMPLATE)


def test_more_than_can_be_held_is_for_a_replay(tmp_path, monkeypatch):
    monkeypatch.setattr(imported, "IMPORT_MESSAGES_MAX", 2)
    path = lines(tmp_path / "a.jsonl", *[{"bodyText": "x"}] * 3)
    with pytest.raises(UsageError, match="replay the file instead"):
        read_imports([path], TEMPLATE)
    with pytest.raises(UsageError, match="cannot be read"):
        read_imports([tmp_path / "missing.bin"], TEMPLATE)
