"""Messages of files for the composer."""

from __future__ import annotations

import base64
import json

import pytest

from broker_core.errors import CodecError, UsageError
from broker_core.ipc.schema import SendMessage
from broker_core.replay import imported
from broker_core.replay.imported import read_imports

TEMPLATE = SendMessage("orders", 2, b"", {"TAGS": "A"}, 7)


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
