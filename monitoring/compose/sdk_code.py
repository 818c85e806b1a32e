"""A composed message as a program that sends it with an SDK of RocketMQ 5 over gRPC: Java, Go, Python, Node, Rust, C#.

The programs are complete; their first lines name the package. A comment names what the SDKs cannot express: they choose the
queue themselves, have times in place of delay levels, and set no flag and no property that the broker uses itself.

Source: docs/spec/grpc.md §6.2, §7.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from broker_core.api import RESERVED_PROPERTIES
from broker_core.worker.questions.stored_messages import SendMessage
from monitoring.compose.delivery import DELAY, SHARDING_KEY, TIMER_DELAY_MS, TIMER_DELIVER_MS
from monitoring.compose.literals import (
    GO_DECODED,
    csharp_body,
    go_body,
    is_text,
    java_body,
    node_body,
    on_one_line,
    quoted,
    rust_body,
    rust_text,
)

KEYS, TAGS = "KEYS", "TAGS"
GROUP_BYTES_MAX = 63
_DECIMAL = re.compile("0|[1-9][0-9]{0,14}")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SAID = frozenset({KEYS, TAGS, SHARDING_KEY, TIMER_DELAY_MS, TIMER_DELIVER_MS})


@dataclass(frozen=True, slots=True)
class SdkMessage:
    """What SDKs can express of a message.

    Attributes:
        tag: Empty for none.
        group: Message group, whose messages stay in order; empty for none.
        at_ms: When it is delivered, ms since the epoch; -1: not delayed, or by ``after_ms``.
        after_ms: How long after the send it is delivered; -1: not delayed, or by ``at_ms``.
        end: How its transaction ends; empty for none.
        notes: What is left out, a line each.
    """

    topic: str
    body: bytes
    tag: str
    keys: tuple[str, ...]
    properties: tuple[tuple[str, str], ...]
    group: str
    at_ms: int
    after_ms: int
    end: str
    notes: tuple[str, ...]

    @property
    def is_delayed(self) -> bool:
        return self.at_ms >= 0 or self.after_ms >= 0


def sdk_message(message: SendMessage) -> SdkMessage:
    """The message as SDKs can express it."""
    properties, unsaid = message.properties, list[str]()
    tag, group = properties.get(TAGS, ""), properties.get(SHARDING_KEY, "")
    if tag and (not tag.strip() or "|" in tag or _CONTROL.search(tag)):
        unsaid, tag = [*unsaid, "this tag"], ""
    if group and (not group.strip() or len(group.encode()) > GROUP_BYTES_MAX or _CONTROL.search(group)):
        unsaid, group = [*unsaid, f"a message group of more than {GROUP_BYTES_MAX} bytes or of blanks"], ""
    at_ms, after_ms = (_number(properties, name) for name in (TIMER_DELIVER_MS, TIMER_DELAY_MS))
    at_ms = -1 if after_ms >= 0 else at_ms
    if message.transaction and (group or at_ms >= 0 or after_ms >= 0):
        unsaid, group, at_ms, after_ms = [*unsaid, "a message group or a delay in a transaction"], "", -1, -1
    if group and (at_ms >= 0 or after_ms >= 0):
        unsaid, group = [*unsaid, "a message group with a delay"], ""
    own = {name: value for name, value in properties.items() if name not in _SAID}
    able = {name: value for name, value in own.items() if _is_settable(name, value)}
    unsaid += [f"the delay level {on_one_line(own[DELAY])}"] if DELAY in own else []
    unsaid += [f"the property {on_one_line(name)}" for name in own if name not in able and name != DELAY]
    unsaid += [f"the flag {message.flag}"] if message.flag else []
    unsaid += [f"the queue {message.queue_id}"] if message.queue_id >= 0 else []
    notes = [f"the SDK cannot set: {', '.join(unsaid)}"] if unsaid else []
    notes += [] if message.body else ["the broker takes no empty body over gRPC"]
    keys = tuple(filter(None, properties.get(KEYS, "").split(" ")))
    return SdkMessage(
        message.topic, message.body, tag, keys, tuple(able.items()), group, at_ms, after_ms, message.transaction, tuple(notes)
    )


def _number(properties: Mapping[str, str], name: str) -> int:
    text = properties.get(name, "")
    return int(text) if _DECIMAL.fullmatch(text) else -1


def _is_settable(name: str, value: str) -> bool:
    return name not in RESERVED_PROPERTIES and bool(name.strip() and value.strip()) and not _CONTROL.search(name + value)


# ---- programs ----------------------------------------------------------------------------------------------------------


def _builder_calls(wanted: SdkMessage, body: str, when: str) -> list[str]:
    """Calls of a builder of messages, as Java spells them; ``when`` is the time of a delayed one."""
    calls = [f"setTopic({quoted(wanted.topic)})", f"setBody({body})"]
    calls += [f"setTag({quoted(wanted.tag)})"] if wanted.tag else []
    calls += [f"setKeys({', '.join(map(quoted, wanted.keys))})"] if wanted.keys else []
    calls += [f"addProperty({quoted(name)}, {quoted(value)})" for name, value in wanted.properties]
    calls += [f"setMessageGroup({quoted(wanted.group)})"] if wanted.group else []
    return [*calls, f"setDeliveryTimestamp({when})"] if wanted.is_delayed else calls


def as_sdk_java(message: SendMessage, endpoints: str) -> str:
    wanted = sdk_message(message)
    when = f"{wanted.at_ms}L" if wanted.at_ms >= 0 else f"System.currentTimeMillis() + {wanted.after_ms}L"
    built = "\n".join(f"                .{call}" for call in _builder_calls(wanted, java_body(wanted.body), when))
    checker = f".setTransactionChecker(view -> TransactionResolution.{wanted.end.upper()})" if wanted.end else ""
    if wanted.end:
        ended = "" if wanted.end == "unknown" else f"\n            transaction.{wanted.end}();"
        send = f"""Transaction transaction = producer.beginTransaction();
            System.out.println(producer.send(message, transaction).getMessageId());{ended}"""
    else:
        send = "System.out.println(producer.send(message).getMessageId());"
    return f"""// org.apache.rocketmq:rocketmq-client-java 5.x
{_comments("//", wanted)}import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.rocketmq.client.apis.*;
import org.apache.rocketmq.client.apis.message.*;
import org.apache.rocketmq.client.apis.producer.*;

public class Send {{
    public static void main(String[] arguments) throws Exception {{
        ClientServiceProvider provider = ClientServiceProvider.loadService();
        ClientConfiguration configuration = ClientConfiguration.newBuilder()
                .setEndpoints({quoted(endpoints)}).build();
        try (Producer producer = provider.newProducerBuilder()
                .setClientConfiguration(configuration)
                .setTopics({quoted(wanted.topic)}){checker}.build()) {{
            Message message = provider.newMessageBuilder()
{built}
                .build();
            {send}
        }}
    }}
}}
"""


def as_sdk_go(message: SendMessage, endpoints: str) -> str:
    wanted = sdk_message(message)
    lines = [f"message := &rmq.Message{{Topic: {quoted(wanted.topic)}, Body: {go_body(wanted.body)}}}"]
    lines += [f"message.SetTag({quoted(wanted.tag)})"] if wanted.tag else []
    lines += [f"message.SetKeys({', '.join(map(quoted, wanted.keys))})"] if wanted.keys else []
    lines += [f"message.AddProperty({quoted(name)}, {quoted(value)})" for name, value in wanted.properties]
    lines += [f"message.SetMessageGroup({quoted(wanted.group)})"] if wanted.group else []
    if wanted.is_delayed:
        after = f"time.Now().Add({wanted.after_ms} * time.Millisecond)"
        lines.append(f"message.SetDelayTimestamp({f'time.UnixMilli({wanted.at_ms})' if wanted.at_ms >= 0 else after})")
    options = f"rmq.WithTopics({quoted(wanted.topic)})"
    if wanted.end:
        resolution = f"return rmq.{wanted.end.upper()}"
        check = f"func(*rmq.MessageView) rmq.TransactionResolution {{ {resolution} }}"
        options += f", rmq.WithTransactionChecker(&rmq.TransactionChecker{{Check: {check}}})"
        lines += ["transaction := producer.BeginTransaction()"]
        lines += ["receipts, err := producer.SendWithTransaction(context.Background(), message, transaction)", "must(err)"]
        ends = {"commit": "must(transaction.Commit())", "rollback": "must(transaction.RollBack())"}
        lines += [ends[wanted.end]] if wanted.end in ends else []
    else:
        lines += ["receipts, err := producer.Send(context.Background(), message)", "must(err)"]
    lines += ["fmt.Println(receipts[0].MessageID)"]
    is_bytes = not is_text(wanted.body)
    imports = ['"context"', *(['"encoding/base64"'] if is_bytes else []), '"fmt"', *(['"time"'] if wanted.is_delayed else [])]
    imported, body = ("\n".join(f"\t{line}" for line in some) for some in (imports, lines))
    return f"""// go get github.com/apache/rocketmq-clients/golang/v5
{_comments("//", wanted)}package main

import (
{imported}

\trmq "github.com/apache/rocketmq-clients/golang/v5"
\t"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

func main() {{
\tconfig := &rmq.Config{{
\t\tEndpoint:    {quoted(endpoints)},
\t\tCredentials: &credentials.SessionCredentials{{}},
\t}}
\tproducer, err := rmq.NewProducer(config, {options})
\tmust(err)
\tmust(producer.Start())
\tdefer producer.GracefulStop()
{body}
}}

func must(err error) {{
\tif err != nil {{
\t\tpanic(err)
\t}}
}}
{GO_DECODED if is_bytes else ""}"""


def as_sdk_python(message: SendMessage, endpoints: str) -> str:
    wanted = sdk_message(message)
    body = f"{wanted.body.decode()!r}.encode()" if is_text(wanted.body) else repr(wanted.body)
    lines = ["message = Message()", f"message.topic = {wanted.topic!r}", f"message.body = {body}"]
    lines += [f"message.tag = {wanted.tag!r}"] if wanted.tag else []
    lines += [f"message.keys = {key!r}  # each assignment adds a key" for key in wanted.keys]
    lines += [f"message.add_property({name!r}, {value!r})" for name, value in wanted.properties]
    lines += [f"message.message_group = {wanted.group!r}"] if wanted.group else []
    if wanted.is_delayed:
        when = f"{wanted.at_ms} / 1000" if wanted.at_ms >= 0 else f"time.time() + {wanted.after_ms} / 1000"
        lines.append(f"message.delivery_timestamp = math.ceil({when})  # whole seconds")
    names = ["ClientConfiguration", "Credentials", "Message", "Producer"]
    imports, checker, before = ["import math", "import time", ""] if wanted.is_delayed else [], "", []
    if wanted.end:
        names += ["TransactionChecker", "TransactionResolution"]
        before = [
            "", "class Checker(TransactionChecker):", "    def check(self, view):",
            f"        return TransactionResolution.{wanted.end.upper()}", "",
        ]  # fmt: skip
        checker = ", checker=Checker()"
        lines += ["transaction = producer.begin_transaction()", "receipt = producer.send(message, transaction)"]
        lines += [f"transaction.{wanted.end}()"] if wanted.end != "unknown" else []
    else:
        lines += ["receipt = producer.send(message)"]
    return "\n".join((
        "# pip install rocketmq-python-client",
        *(f"# {note}" for note in wanted.notes),
        *imports,
        f"from rocketmq import {', '.join(names)}",
        "",
        *before,
        f"configuration = ClientConfiguration({endpoints!r}, Credentials())",
        f"producer = Producer(configuration, ({wanted.topic!r},){checker})",
        "producer.startup()",
        *lines,
        "print(receipt.message_id)",
        "producer.shutdown()",
        "",
    ))  # fmt: skip


def as_sdk_node(message: SendMessage, endpoints: str) -> str:
    wanted = sdk_message(message)
    fields = [f"topic: {quoted(wanted.topic)}", f"body: {node_body(wanted.body)}"]
    fields += [f"tag: {quoted(wanted.tag)}"] if wanted.tag else []
    fields += [f"keys: [{', '.join(map(quoted, wanted.keys))}]"] if wanted.keys else []
    pairs = ", ".join(f"[{quoted(name)}, {quoted(value)}]" for name, value in wanted.properties)
    fields += [f"properties: new Map([{pairs}])"] if pairs else []
    fields += [f"messageGroup: {quoted(wanted.group)}"] if wanted.group else []
    if wanted.is_delayed:
        when = str(wanted.at_ms) if wanted.at_ms >= 0 else f"Date.now() + {wanted.after_ms}"
        fields.append(f"deliveryTimestamp: new Date({when})")
    checker, send = "", "  const receipt = await producer.send(message);\n"
    if wanted.end:
        resolution = {"commit": 1, "rollback": 2}.get(wanted.end, 0)
        checker = f",\n    checker: {{ check: async () => {resolution} }}, // 1 commit, 2 roll back"
        send = "  const transaction = producer.beginTransaction();\n"
        send += "  const receipt = await producer.send(message, transaction);\n"
        send += "" if wanted.end == "unknown" else f"  await transaction.{wanted.end}();\n"
    listed = "".join(f"    {field},\n" for field in fields)
    return f"""// npm install rocketmq-client-nodejs
{_comments("//", wanted)}const {{ Producer }} = require('rocketmq-client-nodejs');

async function main() {{
  const producer = new Producer({{
    endpoints: {quoted(endpoints)}, namespace: '', topics: [{quoted(wanted.topic)}]{checker}
  }});
  await producer.startup();
  const message = {{
{listed}  }};
{send}  console.log(receipt.messageId);
  await producer.shutdown();
}}

main().then(() => process.exit(0), error => {{
  console.error(error);
  process.exit(1);
}});
"""


def as_sdk_rust(message: SendMessage, endpoints: str) -> str:
    """A Rust program. The SDK speaks plain text, and knows delivery times in whole seconds."""
    wanted = sdk_message(message)
    topic, body = rust_text(wanted.topic), rust_body(wanted.body)
    kinds = {
        f"fifo_message_builder({topic}, {body}, {rust_text(wanted.group)})": bool(wanted.group),
        f"transaction_message_builder({topic}, {body})": bool(wanted.end),
        f"delay_message_builder({topic}, {body}, deliver_at)": wanted.is_delayed,
    }
    made = next((call for call, is_asked in kinds.items() if is_asked), f"builder().set_topic({topic}).set_body({body})")
    calls = [f".set_tag({rust_text(wanted.tag)})"] if wanted.tag else []
    calls += [f".set_keys(vec![{', '.join(map(rust_text, wanted.keys))}])"] if wanted.keys else []
    pairs = ", ".join(f"({rust_text(name)}, {rust_text(value)})" for name, value in wanted.properties)
    calls += [f".set_properties(std::collections::HashMap::from([{pairs}]))"] if pairs else []
    before = ""
    if wanted.is_delayed:
        now = "std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis() as i64"
        when = f"{wanted.at_ms}i64" if wanted.at_ms >= 0 else f"{now} + {wanted.after_ms}"
        before = f"    let deliver_at = ({when} + 999) / 1000; // whole seconds\n"
    producer, send = "new(options, client)", '    println!("{}", producer.send(message).await?.message_id());\n'
    if wanted.end:
        producer = f"new_transaction_producer(options, client, Box::new(|_, _| TransactionResolution::{wanted.end.upper()}))"
        end = "" if wanted.end == "unknown" else f"    transaction.{wanted.end}().await?;\n"
        name = "_transaction" if wanted.end == "unknown" else "transaction"
        send = f"    let {'mut ' if end else ''}{name} = producer.send_transaction_message(message).await?;\n"
        send += f'    println!("{{}}", {name}.message_id());\n{end}'
    resolution = "use rocketmq::model::transaction::{Transaction, TransactionResolution};\n" if wanted.end else ""
    chained = "".join(f"\n        {call}" for call in calls)
    return f"""// Cargo.toml: rocketmq = "5", tokio = {{ version = "1", features = ["full"] }},
//             time = {{ version = "0.3", features = ["local-offset"] }}
//             (rocketmq 5.0.0 does not build without this time)
{_comments("//", wanted)}use rocketmq::conf::{{ClientOption, ProducerOption}};
use rocketmq::model::message::MessageBuilder;
{resolution}use rocketmq::Producer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {{
    let mut options = ProducerOption::default();
    options.set_topics(vec![{topic}]);
    let mut client = ClientOption::default();
    client.set_access_url({rust_text(endpoints)});
    let mut producer = Producer::{producer}?;
    producer.start().await?;
{before}    let message = MessageBuilder::{made}{chained}
        .build()?;
{send}    producer.shutdown().await?;
    Ok(())
}}
"""


def as_sdk_csharp(message: SendMessage, endpoints: str) -> str:
    wanted = sdk_message(message)
    at = f"DateTimeOffset.FromUnixTimeMilliseconds({wanted.at_ms}).LocalDateTime"
    when = at if wanted.at_ms >= 0 else f"DateTime.Now.AddMilliseconds({wanted.after_ms})"
    calls = _builder_calls(wanted, csharp_body(wanted.body), when)
    chained = "\n".join(f"    .{call[0].upper()}{call[1:]}" for call in calls)
    checker = "\n    .SetTransactionChecker(new Checker())" if wanted.end else ""
    if wanted.end:
        send = "var transaction = producer.BeginTransaction();\nvar receipt = await producer.Send(message, transaction);\n"
        send += "" if wanted.end == "unknown" else f"await transaction.{wanted.end.capitalize()}();\n"
    else:
        send = "var receipt = await producer.Send(message);\n"
    resolution = f"TransactionResolution.{wanted.end.capitalize()}"
    listener = f"""
class Checker : ITransactionChecker
{{
    public TransactionResolution Check(MessageView view) => {resolution};
}}
"""
    return f"""// dotnet add package RocketMQ.Client
{_comments("//", wanted)}using System;
using System.Text;
using Org.Apache.Rocketmq;

var config = new ClientConfig.Builder().SetEndpoints({quoted(endpoints)}).Build();
var producer = await new Producer.Builder()
    .SetTopics({quoted(wanted.topic)}){checker}
    .SetClientConfig(config)
    .Build();
var message = new Message.Builder()
{chained}
    .Build();
{send}Console.WriteLine(receipt.MessageId);
await producer.DisposeAsync();
{listener if wanted.end else ""}"""


def _comments(mark: str, wanted: SdkMessage) -> str:
    return "".join(f"{mark} {note}\n" for note in wanted.notes)


SDK_LANGUAGES: Mapping[str, Callable[[SendMessage, str], str]] = {
    "Java": as_sdk_java,
    "Go": as_sdk_go,
    "Python": as_sdk_python,
    "Node": as_sdk_node,
    "Rust": as_sdk_rust,
    "C#": as_sdk_csharp,
}
"""Language → program for a message and the endpoints of a proxy, ``host:port``."""
