"""Programs of SDKs: what they express, what they leave out, and that nothing of a message is run."""

from __future__ import annotations

import ast
import json

import pytest

from broker_core.worker.questions.stored_messages import SendMessage
from monitoring.compose.sdk_code import SDK_LANGUAGES, as_sdk_python, sdk_message

ENDPOINTS = "127.0.0.1:8081"
PROPERTIES = {"KEYS": "a b", "TAGS": "t", "region": "eu", "__SHARDINGKEY": "order-7"}


def program(language, message):
    return SDK_LANGUAGES[language](message, ENDPOINTS)


def test_what_sdks_express_of_a_message():
    wanted = sdk_message(SendMessage("orders", -1, b"x", PROPERTIES))
    assert (wanted.tag, wanted.keys, wanted.group) == ("t", ("a", "b"), "order-7")
    assert (wanted.properties, wanted.notes) == ((("region", "eu"),), ())


@pytest.mark.parametrize(
    ("message", "note"),
    [
        (SendMessage("t", 3, b"x", {}), "the queue 3"),
        (SendMessage("t", -1, b"x", {}, flag=5), "the flag 5"),
        (SendMessage("t", -1, b"x", {"DELAY": "3"}), "the delay level 3"),
        (SendMessage("t", -1, b"x", {"UNIQ_KEY": "7"}), "the property UNIQ_KEY"),
        (SendMessage("t", -1, b"x", {"a": " "}), "the property a"),
        (SendMessage("t", -1, b"x", {"TAGS": "a|b"}), "this tag"),
        (SendMessage("t", -1, b"x", {"__SHARDINGKEY": "键" * 22}), "a message group of more than 63 bytes or of blanks"),
        (SendMessage("t", -1, b"x", {"__SHARDINGKEY": "g", "TIMER_DELAY_MS": "5"}), "a message group with a delay"),
        (SendMessage("t", -1, b"x", {"TIMER_DELAY_MS": "5"}, 0, "commit"), "a message group or a delay in a transaction"),
    ],
)
@pytest.mark.parametrize("language", SDK_LANGUAGES)
def test_what_an_sdk_cannot_say_stands_in_a_comment(language, message, note):
    assert sdk_message(message).notes == (f"the SDK cannot set: {note}",)
    lines = program(language, message).splitlines()
    mark = "#" if language == "Python" else "//"
    assert f"{mark} the SDK cannot set: {note}" in lines


def test_an_empty_body_is_named():
    assert sdk_message(SendMessage("t", -1, b"", {})).notes == ("the broker takes no empty body over gRPC",)


def test_a_delay_has_one_time():
    both = sdk_message(SendMessage("t", -1, b"x", {"TIMER_DELAY_MS": "5", "TIMER_DELIVER_MS": "1700000000000"}))
    assert (both.after_ms, both.at_ms) == (5, -1)
    at = sdk_message(SendMessage("t", -1, b"x", {"TIMER_DELIVER_MS": "1700000000000"}))
    assert (at.after_ms, at.at_ms) == (-1, 1_700_000_000_000)
    none = sdk_message(SendMessage("t", -1, b"x", {"TIMER_DELIVER_MS": "soon"}))
    assert not none.is_delayed


@pytest.mark.parametrize("language", SDK_LANGUAGES)
@pytest.mark.parametrize("end", ["commit", "rollback", "unknown"])
def test_a_transaction_ends_as_it_was_chosen(language, end):
    text = program(language, SendMessage("t", -1, b"x", {}, 0, end)).casefold()
    assert (f"transaction.{end}(" in text) == (end != "unknown")


@pytest.mark.parametrize("language", [name for name in SDK_LANGUAGES if name != "Rust"])
def test_a_short_program_is_read_without_scrolling_it_sideways(language):
    lines = program(language, SendMessage("orders", -1, b"hello", {})).expandtabs(4).splitlines()
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("language", SDK_LANGUAGES)
def test_no_line_of_a_message_is_a_line_of_the_program(language):
    hostile = "\"; system(\"x\"); //\n*/ evil() /*\r'''\u2028evil()\u2029evil()\x85evil()"
    message = SendMessage("orders", -1, hostile.encode(), {"TAGS": hostile, "KEYS": hostile, hostile: hostile})
    for line in program(language, message).splitlines():
        assert not line.lstrip().startswith("evil()")
        assert not line.lstrip().startswith("*/")


def test_a_python_program_holds_the_body_as_it_is():
    for body in (b"\x00\xff\n", "名 \"'\\".encode()):
        tree = ast.parse(as_sdk_python(SendMessage("orders", -1, body, {}), ENDPOINTS))
        held = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        assert body in held or body.decode() in held


def test_literals_of_rust_and_csharp_escape_what_cannot_be_seen():
    message = SendMessage("orders", -1, 'a\u202eb\x85c\u2029"\\'.encode(), {})
    assert '"a\\u{202e}b\\u{85}c\\u{2029}\\"\\\\"' in program("Rust", message)
    assert '"a\u202eb\\u0085c\\u2029\\"\\\\"' in program("C#", message)


def test_java_go_and_node_read_the_literal_of_json():
    message = SendMessage("orders", -1, '名\n"'.encode(), {})
    for language in ("Java", "Go", "Node"):
        assert json.dumps('名\n"', ensure_ascii=False) in program(language, message)
