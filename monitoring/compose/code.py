"""A composed message as a program that sends it: Java, Go, Python, and a call of mqadmin.

The programs are complete and use the Apache clients (rocketmq-client, rocketmq-client-go/v2, rocketmq-client-python). A comment
names what a client cannot express. A stored message may hold anything, so its content appears only in literals, or in
comments without line breaks: running such a program runs no code from the message.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Callable, Mapping

from broker_core.api import java_string_hash
from broker_core.worker.questions.stored_messages import SendMessage
from monitoring.compose.delivery import DELAY, SHARDING_KEY, TIMER_DELAY_MS, TIMER_DELIVER_MS
from monitoring.compose.literals import GO_DECODED, go_body, is_text, java_body, on_one_line, quoted

KEYS, TAGS = "KEYS", "TAGS"
_NUMBERS = (DELAY, TIMER_DELAY_MS, TIMER_DELIVER_MS)
"""Properties written as numbers; one that holds something else is written like any other property."""
_DECIMAL = re.compile("0|[1-9][0-9]{0,18}")
_SYSTEM = (KEYS, TAGS, SHARDING_KEY)
_SYSTEM_NAME = re.compile("[A-Z0-9_]+|__.*", re.DOTALL)
_ARGUMENT_BYTES_MAX = 131_072
_JAVA_ENDS = {"commit": "COMMIT_MESSAGE", "rollback": "ROLLBACK_MESSAGE", "unknown": "UNKNOW"}
_JAVA_LISTENER = """\
        producer.setTransactionListener(new TransactionListener() {
            public LocalTransactionState executeLocalTransaction(Message half, Object argument) {
                return LocalTransactionState.END;
            }

            public LocalTransactionState checkLocalTransaction(MessageExt half) {
                return LocalTransactionState.END;
            }
        });
"""
_GO_ENDS = {"commit": "CommitMessageState", "rollback": "RollbackMessageState", "unknown": "UnknowState"}
_GO_LISTENER = """
type end struct{}

func (end) ExecuteLocalTransaction(*primitive.Message) primitive.LocalTransactionState {
\treturn primitive.END
}

func (end) CheckLocalTransaction(*primitive.MessageExt) primitive.LocalTransactionState {
\treturn primitive.END
}
"""


def as_java(message: SendMessage, name_server: str, broker_name: str) -> str:
    """A Java program; delivery times need a client from 5.0 on."""
    properties = message.properties
    texts = (quoted(text) for text in (message.topic, properties.get(TAGS, ""), properties.get(KEYS, "")))
    lines = [f"Message message = new Message({', '.join(texts)}, {java_body(message.body)});"]
    lines += [_java_property(name, value) for name, value in _own(properties)]
    if SHARDING_KEY in properties:
        lines.append(_java_property(SHARDING_KEY, properties[SHARDING_KEY]))
    setters = {DELAY: "setDelayTimeLevel({})", TIMER_DELAY_MS: "setDelayTimeMs({}L)", TIMER_DELIVER_MS: "setDeliverTimeMs({}L)"}
    lines += [f"message.{call.format(properties[name])};" for name, call in setters.items() if _is_number(properties, name)]
    if message.flag:
        lines.append(f"message.setFlag({message.flag});")
    if message.transaction:
        lines += [f"// this client chooses the queue of a transaction itself, not {message.queue_id}"] * (message.queue_id >= 0)
        send = "producer.sendMessageInTransaction(message, null)"
    elif message.queue_id >= 0:
        queue = f"new MessageQueue({quoted(message.topic)}, {quoted(broker_name)}, {message.queue_id})"
        send = f"producer.send(message, {queue})"
    elif SHARDING_KEY in properties:
        send = f"producer.send(message, new SelectMessageQueueByHash(), {quoted(properties[SHARDING_KEY])})"
    else:
        send = "producer.send(message)"
    kind, listener = "DefaultMQProducer", ""
    if message.transaction:
        kind, listener = "TransactionMQProducer", _JAVA_LISTENER.replace("END", _JAVA_ENDS[message.transaction])
    body = "\n".join(f"        {line}" for line in (*lines, f"System.out.println({send});"))
    return f"""import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.*;

public class Send {{
    public static void main(String[] arguments) throws Exception {{
        {kind} producer = new {kind}("orbit");
        producer.setNamesrvAddr({quoted(name_server)});
{listener}        producer.start();
{body}
        producer.shutdown();
    }}
}}
"""


def as_go(message: SendMessage, name_server: str, broker_name: str) -> str:
    properties = message.properties
    lines = [f"message := primitive.NewMessage({quoted(message.topic)}, {go_body(message.body)})"]
    if TAGS in properties:
        lines.append(f"message.WithTag({quoted(properties[TAGS])})")
    if KEYS in properties:
        keys = ", ".join(map(quoted, properties[KEYS].split(" ")))
        lines.append(f"message.WithKeys([]string{{{keys}}})")
    if _is_number(properties, DELAY):
        lines.append(f"message.WithDelayTimeLevel({properties[DELAY]})")
    timed = [(name, properties[name]) for name in (TIMER_DELAY_MS, TIMER_DELIVER_MS) if _is_number(properties, name)]
    timed += [(name, value) for name, value in properties.items() if name == SHARDING_KEY]
    lines += [f"message.WithProperty({quoted(name)}, {quoted(value)})" for name, value in (*timed, *_own(properties))]
    option = ""
    if message.queue_id >= 0:
        lines.append(
            f"message.Queue = &primitive.MessageQueue{{Topic: {quoted(message.topic)}, "
            f"BrokerName: {quoted(broker_name)}, QueueId: {message.queue_id}}}"
        )
        option = ", producer.WithQueueSelector(producer.NewManualQueueSelector())"
    elif SHARDING_KEY in properties:
        # This client has another name for the key that it chooses queues by.
        lines.append(f"message.WithShardingKey({quoted(properties[SHARDING_KEY])})")
        option = ", producer.WithQueueSelector(producer.NewHashQueueSelector())"
    if message.flag:
        lines.append(f"message.Flag = {message.flag}")
    made, send, listener = "NewProducer(", "SendSync", ""
    if message.transaction:
        made, send = "NewTransactionProducer(end{}, ", "SendMessageInTransaction"
        listener = _GO_LISTENER.replace("END", _GO_ENDS[message.transaction])
    body = "\n".join(f"\t{line}" for line in lines)
    base64_import = '\t"encoding/base64"\n' if not is_text(message.body) else ""
    decode = GO_DECODED if base64_import else ""
    return f"""package main

import (
\t"context"
{base64_import}\t"fmt"

\t"github.com/apache/rocketmq-client-go/v2"
\t"github.com/apache/rocketmq-client-go/v2/primitive"
\t"github.com/apache/rocketmq-client-go/v2/producer"
)

func main() {{
\tp, err := rocketmq.{made}producer.WithNameServer([]string{{{quoted(name_server)}}}){option})
\tif err != nil {{
\t\tpanic(err)
\t}}
\tif err = p.Start(); err != nil {{
\t\tpanic(err)
\t}}
\tdefer p.Shutdown()
{body}
\tresult, err := p.{send}(context.Background(), message)
\tfmt.Println(result, err)
}}
{decode}{listener}"""


def as_python(message: SendMessage, name_server: str, _broker_name: str) -> str:
    """A Python program, for rocketmq-client-python and its predecessor, the package rocketmq."""
    properties = message.properties
    lines = [f"message = Message({message.topic!r})"]
    if KEYS in properties:
        lines.append(f"message.set_keys({properties[KEYS]!r})")
    if TAGS in properties:
        lines.append(f"message.set_tags({properties[TAGS]!r})")
    if _is_number(properties, DELAY):
        lines.append(f"message.set_delay_time_level({properties[DELAY]})")
    names = (TIMER_DELAY_MS, TIMER_DELIVER_MS, SHARDING_KEY)
    known = [(name, properties[name]) for name in names if name == SHARDING_KEY or _is_number(properties, name)
             if name in properties]  # fmt: skip
    lines += [f"message.set_property({name!r}, {value!r})" for name, value in (*known, *_own(properties))]
    imports = ["from rocketmq.client import Message, Producer"]
    if b"\0" in message.body:
        imports.append("from rocketmq.ffi import dll")
        lines += [
            f"body = {message.body!r}",
            "dll.SetByteMessageBody(message, body, len(body))  # set_body ends at a zero byte",
        ]
    else:
        body = message.body.decode() if is_text(message.body) else message.body
        lines.append(f"message.set_body({body!r})")
    if message.flag:
        lines.append(f"# this client cannot set the flag {message.flag}")
    if message.transaction:
        lines.append(f"# sent as a plain message, not in a transaction that ends with: {message.transaction}")
    queue = _python_queue(message)
    send = (
        f"producer.send_orderly(message, 0, queue_selector=lambda count, *_: {queue})"
        if queue
        else "producer.send_sync(message)"
    )
    return "\n".join(
        (
            *imports,
            "",
            'producer = Producer("orbit")',
            'set_address = getattr(producer, "set_name_server_address", None) or producer.set_namesrv_addr',
            f"set_address({name_server!r})",
            "producer.start()",
            *lines,
            f"print({send})",
            "producer.shutdown()",
            "",
        )
    )


def _python_queue(message: SendMessage) -> str:
    """Expression of the queue number, of ``count`` queues; empty if the client may choose."""
    if message.queue_id >= 0:
        return str(message.queue_id)
    key = message.properties.get(SHARDING_KEY)
    return f"{abs(java_string_hash(key))} % count" if key else ""


def as_mqadmin(message: SendMessage, name_server: str, broker_name: str) -> str:
    properties = message.properties
    call = ["mqadmin", "sendMessage", "-n", name_server, "-t", message.topic]
    for option, value in (("-k", properties.get(KEYS)), ("-c", properties.get(TAGS))):
        call += [option, value] if value else []
    if message.queue_id >= 0:
        call += ["-b", broker_name, "-i", str(message.queue_id)]
    unsaid = [name for name in properties if name not in (KEYS, TAGS)]
    unsaid += [name for name, asked in (("flag", message.flag), ("a transaction", message.transaction)) if asked]
    notes = [f"# mqadmin cannot set: {', '.join(map(on_one_line, unsaid))}"] if unsaid else []
    if not is_text(message.body):
        notes.append("# the body is no text, which mqadmin cannot send; this is its Base64")
    text = message.body.decode() if is_text(message.body) else base64.b64encode(message.body).decode()
    if len(text.encode()) >= _ARGUMENT_BYTES_MAX:
        notes.append(f"# Linux hands no program a word of {_ARGUMENT_BYTES_MAX:,} bytes or more: this body is too long")
    unlike = [option for option, value in (("-p", text), ("-k", properties.get(KEYS, "")), ("-c", properties.get(TAGS, "")))
              if _mqadmin_changes(value)]  # fmt: skip
    if unlike:
        notes.append(f"# mqadmin may not send as it is: {', '.join(unlike)} (spaces or quotes at its ends, or a dash in front)")
    return "\n".join([*notes, shlex.join([*call, "-p", text]), ""])


def _mqadmin_changes(value: str) -> bool:
    """Whether mqadmin may send another text.

    mqadmin trims, removes a quote at either end (5.x only if both ends have one and there is none within), and reads a leading
    dash as an option.
    """
    return value != value.strip() or value.startswith(('"', "-")) or value.endswith('"')


LANGUAGES: Mapping[str, Callable[[SendMessage, str, str], str]] = {
    "Java": as_java,
    "Go": as_go,
    "Python": as_python,
    "mqadmin": as_mqadmin,
}


def _own(properties: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in properties.items() if name not in _SYSTEM and not _is_number(properties, name)]


def _is_number(properties: Mapping[str, str], name: str) -> bool:
    """Whether a property is one of `_NUMBERS` and holds a number that all languages read alike."""
    return name in _NUMBERS and _DECIMAL.fullmatch(properties.get(name, "")) is not None


def _java_property(name: str, value: str) -> str:
    # putUserProperty refuses names of the system, which look like this, and blank values.
    if _SYSTEM_NAME.fullmatch(name) or not value.strip():
        return f"MessageAccessor.putProperty(message, {quoted(name)}, {quoted(value)});"
    return f"message.putUserProperty({quoted(name)}, {quoted(value)});"
