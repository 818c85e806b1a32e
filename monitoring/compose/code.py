"""A composed message as a program that sends it: Java, Go, Python, and a call of mqadmin.

The programs are whole and use the Apache clients (rocketmq-client, rocketmq-client-go/v2, rocketmq-client-python). What a
client has no way to say is named in a comment instead of being left out silently. A stored message may hold anything, so all
of it stands in literals, or in comments without line breaks: whoever runs such a program runs nothing that a message says.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Callable, Mapping

from broker_core.api import SendMessage
from monitoring.compose.delivery import DELAY, SHARDING_KEY, TIMER_DELAY_MS, TIMER_DELIVER_MS

KEYS, TAGS = "KEYS", "TAGS"
_NUMBERS = (DELAY, TIMER_DELAY_MS, TIMER_DELIVER_MS)
"""Properties that are written as numbers; where they hold something else they are properties like any other."""
_DECIMAL = re.compile("0|[1-9][0-9]{0,18}")
_SYSTEM = (KEYS, TAGS, SHARDING_KEY)


def as_java(message: SendMessage, name_server: str, broker_name: str) -> str:
    """A Java program; times of delivery need a client from 5.0 on."""
    properties = message.properties
    texts = (_quoted(text) for text in (message.topic, properties.get(TAGS, ""), properties.get(KEYS, "")))
    lines = [f"Message message = new Message({', '.join(texts)}, {_java_body(message.body)});"]
    lines += [f"message.putUserProperty({_quoted(name)}, {_quoted(value)});" for name, value in _own(properties)]
    setters = {DELAY: "setDelayTimeLevel({})", TIMER_DELAY_MS: "setDelayTimeMs({}L)", TIMER_DELIVER_MS: "setDeliverTimeMs({}L)"}
    lines += [f"message.{call.format(properties[name])};" for name, call in setters.items() if _is_number(properties, name)]
    if message.flag:
        lines.append(f"message.setFlag({message.flag});")
    if message.queue_id >= 0:
        queue = f"new MessageQueue({_quoted(message.topic)}, {_quoted(broker_name)}, {message.queue_id})"
        send = f"producer.send(message, {queue})"
    elif SHARDING_KEY in properties:
        send = f"producer.send(message, new SelectMessageQueueByHash(), {_quoted(properties[SHARDING_KEY])})"
    else:
        send = "producer.send(message)"
    body = "\n".join(f"        {line}" for line in (*lines, f"System.out.println({send});"))
    return f"""import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

public class Send {{
    public static void main(String[] arguments) throws Exception {{
        DefaultMQProducer producer = new DefaultMQProducer("orbit");
        producer.setNamesrvAddr({_quoted(name_server)});
        producer.start();
{body}
        producer.shutdown();
    }}
}}
"""


def as_go(message: SendMessage, name_server: str, broker_name: str) -> str:
    """A Go program."""
    properties = message.properties
    lines = [f"message := primitive.NewMessage({_quoted(message.topic)}, {_go_body(message.body)})"]
    if TAGS in properties:
        lines.append(f"message.WithTag({_quoted(properties[TAGS])})")
    if KEYS in properties:
        keys = ", ".join(map(_quoted, properties[KEYS].split()))
        lines.append(f"message.WithKeys([]string{{{keys}}})")
    if _is_number(properties, DELAY):
        lines.append(f"message.WithDelayTimeLevel({properties[DELAY]})")
    if SHARDING_KEY in properties:
        lines.append(f"message.WithShardingKey({_quoted(properties[SHARDING_KEY])})")
    timed = [(name, properties[name]) for name in (TIMER_DELAY_MS, TIMER_DELIVER_MS) if _is_number(properties, name)]
    lines += [f"message.WithProperty({_quoted(name)}, {_quoted(value)})" for name, value in (*timed, *_own(properties))]
    option = ""
    if message.queue_id >= 0:
        lines.append(
            f"message.Queue = &primitive.MessageQueue{{Topic: {_quoted(message.topic)}, "
            f"BrokerName: {_quoted(broker_name)}, QueueId: {message.queue_id}}}"
        )
        option = ", producer.WithQueueSelector(producer.NewManualQueueSelector())"
    elif SHARDING_KEY in properties:
        option = ", producer.WithQueueSelector(producer.NewHashQueueSelector())"
    if message.flag:
        lines.append(f"message.Flag = {message.flag}")
    body = "\n".join(f"\t{line}" for line in lines)
    base64_import = '\t"encoding/base64"\n' if not _is_text(message.body) else ""
    decode = (
        "\nfunc decoded(text string) []byte {\n\tbody, err := base64.StdEncoding.DecodeString(text)\n"
        "\tif err != nil {\n\t\tpanic(err)\n\t}\n\treturn body\n}\n"
        if base64_import
        else ""
    )
    return f"""package main

import (
\t"context"
{base64_import}\t"fmt"

\t"github.com/apache/rocketmq-client-go/v2"
\t"github.com/apache/rocketmq-client-go/v2/primitive"
\t"github.com/apache/rocketmq-client-go/v2/producer"
)

func main() {{
\tp, err := rocketmq.NewProducer(producer.WithNameServer([]string{{{_quoted(name_server)}}}){option})
\tif err != nil {{
\t\tpanic(err)
\t}}
\tif err = p.Start(); err != nil {{
\t\tpanic(err)
\t}}
\tdefer p.Shutdown()
{body}
\tresult, err := p.SendSync(context.Background(), message)
\tfmt.Println(result, err)
}}
{decode}"""


def as_python(message: SendMessage, name_server: str, _broker_name: str) -> str:
    """A Python program."""
    properties = message.properties
    lines = [f"message = Message({message.topic!r})"]
    if KEYS in properties:
        lines.append(f"message.set_keys({properties[KEYS]!r})")
    if TAGS in properties:
        lines.append(f"message.set_tags({properties[TAGS]!r})")
    if _is_number(properties, DELAY):
        lines.append(f"message.set_delay_time_level({properties[DELAY]})")
    timed = [(name, properties[name]) for name in (TIMER_DELAY_MS, TIMER_DELIVER_MS) if _is_number(properties, name)]
    lines += [f"message.set_property({name!r}, {value!r})" for name, value in (*timed, *_own(properties))]
    body = message.body.decode() if _is_text(message.body) else message.body
    lines.append(f"message.set_body({body!r})")
    if message.queue_id >= 0:
        lines.append(f"# this client cannot choose queue {message.queue_id}")
    if message.flag:
        lines.append(f"# this client cannot set the flag {message.flag}")
    key = properties.get(SHARDING_KEY)
    lines.append(
        f"print(producer.send_orderly_with_sharding_key(message, {key!r}))" if key else "print(producer.send_sync(message))"
    )
    return "\n".join(
        (
            "from rocketmq.client import Message, Producer",
            "",
            'producer = Producer("orbit")',
            f"producer.set_name_server_address({name_server!r})",
            "producer.start()",
            *lines,
            "producer.shutdown()",
            "",
        )
    )


def as_mqadmin(message: SendMessage, name_server: str, broker_name: str) -> str:
    """A call of mqadmin for a POSIX shell."""
    properties = message.properties
    call = ["mqadmin", "sendMessage", "-n", name_server, "-t", message.topic]
    for option, value in (("-k", properties.get(KEYS)), ("-c", properties.get(TAGS))):
        call += [option, value] if value else []
    if message.queue_id >= 0:
        call += ["-b", broker_name, "-i", str(message.queue_id)]
    unsaid = [name for name in properties if name not in (KEYS, TAGS)] + (["flag"] if message.flag else [])
    notes = [f"# mqadmin cannot set: {', '.join(map(_on_one_line, unsaid))}"] if unsaid else []
    if not _is_text(message.body):
        notes.append("# the body is no text, which mqadmin cannot send; this is its Base64")
    text = message.body.decode() if _is_text(message.body) else base64.b64encode(message.body).decode()
    return "\n".join([*notes, shlex.join([*call, "-p", text]), ""])


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


def _on_one_line(name: str) -> str:
    return name if name.isprintable() else json.dumps(name)


def _is_text(body: bytes) -> bool:
    try:
        return "\0" not in body.decode()
    except UnicodeDecodeError:
        return False


def _quoted(text: str) -> str:
    """A literal that Java and Go read alike: JSON's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f").replace("\u2028", "\\u2028")


def _java_body(body: bytes) -> str:
    if _is_text(body):
        return f"{_quoted(body.decode())}.getBytes(StandardCharsets.UTF_8)"
    return f'Base64.getDecoder().decode("{base64.b64encode(body).decode()}")'


def _go_body(body: bytes) -> str:
    if _is_text(body):
        return f"[]byte({_quoted(body.decode())})"
    return f'decoded("{base64.b64encode(body).decode()}")'
