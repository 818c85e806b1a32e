from __future__ import annotations

import ast
import base64
import re
import shlex

import pytest

from broker_core.api import java_string_hash
from broker_core.worker.questions.stored_messages import SendMessage
from monitoring.compose.code import LANGUAGES, as_go, as_java, as_mqadmin, as_python

TEXT = '{"name": "王\\"芳"}\nend $HOME \'quoted\''
PROPERTIES = {"KEYS": "K-1 K-2", "TAGS": "paid", "region": 'e"u', "DELAY": "3"}
MESSAGE = SendMessage("orders", -1, TEXT.encode(), PROPERTIES)
BYTES = SendMessage("orders", 2, b"\x00\xff\x01", {"TIMER_DELIVER_MS": "1800000000000"}, flag=5)
KEYED = SendMessage("orders", -1, b"x", {"__SHARDINGKEY": "order-7", "TIMER_DELAY_MS": "5000"})
PLACE = "127.0.0.1:9876", "broker-a"


def values(code: str) -> list[object]:
    """All literals of a Python program."""
    return [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]


def test_python_says_everything_the_client_can():
    found = values(as_python(MESSAGE, *PLACE))
    assert {"orders", "K-1 K-2", "paid", "region", 'e"u', 3, TEXT, "127.0.0.1:9876"} <= set(found)
    code = as_python(BYTES, *PLACE)
    assert b"\x00\xff\x01" in values(code)
    assert "queue_selector=lambda count, *_: 2)" in code
    assert "dll.SetByteMessageBody(message, body, len(body))" in code
    assert "# this client cannot set the flag 5" in code
    keyed = as_python(KEYED, *PLACE)
    assert f"queue_selector=lambda count, *_: {abs(java_string_hash('order-7'))} % count)" in keyed
    assert {"__SHARDINGKEY", "order-7"} <= set(values(keyed))


def test_java_quotes_and_uses_setters_for_what_the_system_reads():
    code = as_java(MESSAGE, *PLACE)
    assert 'new Message("orders", "paid", "K-1 K-2", "{\\"name\\": \\"王\\\\\\"芳\\"}\\nend' in code
    assert 'message.putUserProperty("region", "e\\"u");' in code
    assert "message.setDelayTimeLevel(3);" in code
    assert 'putUserProperty("DELAY"' not in code
    code = as_java(BYTES, *PLACE)
    assert f'Base64.getDecoder().decode("{base64.b64encode(BYTES.body).decode()}")' in code
    assert "message.setDeliverTimeMs(1800000000000L);" in code
    assert 'producer.send(message, new MessageQueue("orders", "broker-a", 2))' in code
    assert "message.setFlag(5);" in code
    assert 'producer.send(message, new SelectMessageQueueByHash(), "order-7")' in as_java(KEYED, *PLACE)
    assert 'MessageAccessor.putProperty(message, "__SHARDINGKEY", "order-7");' in as_java(KEYED, *PLACE)
    assert "message.setDelayTimeMs(5000L);" in as_java(KEYED, *PLACE)


def test_java_takes_bodies_of_any_length_and_values_that_its_setter_refuses():
    code = as_java(SendMessage("orders", -1, ("龙" * 25_000).encode(), {"CLUSTER": "a", "blank": " "}), *PLACE)
    assert re.findall(r'"(龙+)"', code) == ["龙" * 10_000, "龙" * 10_000, "龙" * 5_000]
    assert 'MessageAccessor.putProperty(message, "CLUSTER", "a");' in code
    assert 'MessageAccessor.putProperty(message, "blank", " ");' in code


@pytest.mark.parametrize("end", ["commit", "rollback", "unknown"])
def test_a_transaction_ends_in_the_program_as_it_would_in_the_composer_or_is_named(end):
    message = SendMessage("orders", 2, b"x", {}, transaction=end)
    java, go = as_java(message, *PLACE), as_go(message, *PLACE)
    states = {"commit": ("COMMIT_MESSAGE", "CommitMessageState"), "rollback": ("ROLLBACK_MESSAGE", "RollbackMessageState"),
              "unknown": ("UNKNOW", "UnknowState")}  # fmt: skip
    assert java.count(f"return LocalTransactionState.{states[end][0]};") == 2
    assert "sendMessageInTransaction" in java
    assert "// this client chooses the queue of a transaction itself, not 2" in java
    assert go.count(f"return primitive.{states[end][1]}\n") == 2
    assert "SendMessageInTransaction" in go
    assert f"# sent as a plain message, not in a transaction that ends with: {end}" in as_python(message, *PLACE)
    assert as_mqadmin(message, *PLACE).startswith("# mqadmin cannot set: a transaction\n")


def test_go_takes_no_byte_order_mark():
    assert "\ufeff" not in as_go(SendMessage("orders", -1, "\ufeffa,b".encode(), {"KEYS": "\ufeff"}), *PLACE)


def test_go_imports_only_what_it_uses():
    code = as_go(MESSAGE, *PLACE)
    assert "encoding/base64" not in code
    assert 'message.WithKeys([]string{"K-1", "K-2"})' in code
    assert "message.WithDelayTimeLevel(3)" in code
    code = as_go(BYTES, *PLACE)
    assert "encoding/base64" in code
    assert 'BrokerName: "broker-a", QueueId: 2' in code
    assert "NewManualQueueSelector" in code
    assert "NewHashQueueSelector" in as_go(KEYED, *PLACE)
    assert 'message.WithProperty("__SHARDINGKEY", "order-7")' in as_go(KEYED, *PLACE)


def test_mqadmin_is_one_call_and_names_what_it_leaves_out():
    *notes, call = as_mqadmin(MESSAGE, *PLACE).rstrip("\n").split("\n", 1)
    assert notes == ["# mqadmin cannot set: region, DELAY"]
    words = shlex.split(call)
    assert words[:2] == ["mqadmin", "sendMessage"]
    pairs = dict(zip(words[2::2], words[3::2], strict=True))
    assert pairs == {"-n": "127.0.0.1:9876", "-t": "orders", "-k": "K-1 K-2", "-c": "paid", "-p": TEXT}
    assert "-b broker-a -i 2" in as_mqadmin(BYTES, *PLACE)
    assert "Base64" in as_mqadmin(BYTES, *PLACE)


@pytest.mark.parametrize(
    ("body", "keys", "note"),
    [
        (b'"quoted"', "k", "-p"),
        (b"x", " k", "-k"),
        (b"x\n", '"k"', "-p, -k"),
        (b"-t", "k", "-p"),
        (b'"a" or "b"', "k", "-p"),
        (b'say "a"', "k", "-p"),
        (b'{"a": "b"}', "k", ""),
    ],
)
def test_what_mqadmin_would_change_is_named(body, keys, note):
    first, *_rest = as_mqadmin(SendMessage("orders", -1, body, {"KEYS": keys}), *PLACE).splitlines()
    assert first.startswith(f"# mqadmin may not send as it is: {note} (" if note else "mqadmin sendMessage ")


def test_a_body_that_is_too_long_for_a_command_line_is_named():
    assert "this body is too long" in as_mqadmin(SendMessage("orders", -1, b"x" * 131_072, {}), *PLACE)
    assert "too long" not in as_mqadmin(SendMessage("orders", -1, b"x" * 131_071, {}), *PLACE)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_message_without_anything_is_sent_too(language: str):
    code = LANGUAGES[language](SendMessage("t", -1, b"", {}), *PLACE)
    assert "cannot" not in code
    assert '"t"' in code or "'t'" in code or "-t t" in code


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["DELAY", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"])
@pytest.mark.parametrize("value", ["1); run(", "010", "", "³"])
def test_what_a_message_holds_in_place_of_a_number_is_text(language: str, name: str, value: str):
    code = LANGUAGES[language](SendMessage("orders", -1, b"x", {name: value}), *PLACE)

    assert not any(f"{call}({value}" in code for call in ("Level", "TimeMs", "set_delay_time_level"))
    if language == "Python":
        assert {name, value} <= set(values(code))


def test_the_name_of_a_property_does_not_leave_its_comment():
    code = as_mqadmin(SendMessage("orders", -1, b"x", {"a\nrun": "1", "region": "eu"}), *PLACE)

    assert code.splitlines()[0] == '# mqadmin cannot set: "a\\nrun", region'
    assert code.splitlines()[1].startswith("mqadmin sendMessage ")
