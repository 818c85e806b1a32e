"""Whatever commands, broker, client and reports read of what came from outside: any text is read, or refused by the error that
the entry documents. ``tests/unit/gui/test_entries_from_outside.py`` has the entries of the window."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import broker_core
import main
import spark_reports
from broker_core.cluster.access import access_of_file
from broker_core.cluster.details import kept_as_of, security_of
from broker_core.config import BrokerConfig, setting_keys, with_settings
from broker_core.engine.acl.accounts import read_rules, rules_file
from broker_core.engine.acl.addresses import AddressPattern
from broker_core.engine.atomic.records import decode_state
from broker_core.engine.atomic.snapshot import decode_snapshot
from broker_core.engine.nameserver.processor import decode_queues
from broker_core.engine.nameserver.registration import Registration
from broker_core.engine.processors.pop.checkpoint import decode_ack, decode_checkpoint
from broker_core.engine.schedule.timer.recall_handle import decode_handle
from broker_core.engine.store.cleanup import parse_hours
from broker_core.engine.store.config_file import parse_content
from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.inspection.verify import Verification
from broker_core.engine.tables.heartbeat import parse_heartbeat
from broker_core.engine.transaction.messages import parse_op_body
from broker_core.errors import OrbitError
from broker_core.protocol.admin import brokers, connections, groups, offsets, routes, running, topics
from broker_core.protocol.atomic import Stamp
from broker_core.protocol.codes import version_ordinal
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.filter.parser import parse_filter as parse_sql92
from broker_core.protocol.frame import FrameDecoder
from broker_core.protocol.json_body import parse
from broker_core.protocol.message.batch import decode_batch
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.properties import decode_properties, number_of
from broker_core.protocol.message.receipt_handle import parse_handle
from broker_core.protocol.message.record import decode_records
from broker_core.protocol.names import SCHEDULE_TOPIC
from broker_core.protocol.properties_text import parse_properties
from broker_core.protocol.subscription import parse_subscription
from broker_core.tools.copying.order import CopyOrder
from broker_core.tools.copying.plan import CopyPart, CopyPlan
from broker_core.tools.copying.receipt import RECEIPT_VERSION, CopyReceipt
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.journal import INDEX_FILE, PLAN_FILE, RECEIPT_FILE, ReplayJournal, ReplayPlan, Spool
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.literals import parse_size, parse_time
from broker_core.transport.client import parse_address
from broker_core.worker.channel.codec import decode_window_message, decode_worker_message
from broker_core.worker.lifeline.traces import read_traces
from broker_core.worker.message_import import read_imports
from broker_core.worker.questions.stored_messages import SendMessage
from monitoring.disk import next_cleaning
from monitoring.resend_receipt import read_receipt
from spark_reports.catalog import reports
from spark_reports.datasource.cluster_options import offsets_of
from spark_reports.datasource.options import number_of as number_of_option
from spark_reports.datasource.options import roots_of, selection_of
from spark_reports.parameters import durations_ms, read_parameter_file, read_parameters, read_values
from spark_reports.parquet.folder import MANIFEST, open_folder
from tests.support.hostile_texts import DIGITS, NASTY, as_json
from tests.support.store_writer import StoreWriter

NOW_MS = 1_795_227_302_640
LEVELS = DelayLevels("1s 5s")
SENT = SendMessage("orders", -1, b"x", {})


def raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# ---- texts ----


def own_values(text: str) -> object:
    """The report's own parameters, each with this text."""
    for spec in reports():
        for one in spec.parameters:
            with suppress(OrbitError):
                read_values(spec, {one.name: text})
    return None


def all_settings(text: str) -> object:
    for key in setting_keys(BrokerConfig):
        with suppress(OrbitError):
            with_settings(BrokerConfig(), {key: text})
    return None


TEXTS: dict[str, Callable[[str], object]] = {
    "search filter": lambda text: parse_filter(text, now_ms=NOW_MS),
    "search size": parse_size,
    "search time": lambda text: parse_time(text, NOW_MS),
    "SQL92": parse_sql92,
    "tag expression": lambda text: parse_subscription("T", text),
    "address": parse_address,
    "host address": HostAddress.parse,
    "message id": parse_offset_message_id,
    "receipt handle": parse_handle,
    "recall handle": decode_handle,
    "property number": number_of,
    "stamp": Stamp.parse,
    "version": version_ordinal,
    "delay levels": DelayLevels,
    "delay level of a record": lambda text: unit_tags_code(SCHEDULE_TOPIC, raw(f"DELAY\x01{text}\x02"), 0, LEVELS),
    "hours": parse_hours,
    "next hour": lambda text: next_cleaning(text, datetime(2026, 1, 1, tzinfo=UTC)),
    "white address": AddressPattern,
    "setting": all_settings,
    "properties": parse_properties,
    "answer's offset": lambda text: offsets.read_offset({"offset": text}),
    "level table": brokers.read_level_table,
    "report time": lambda text: read_parameters(text, text, [], now_ms=NOW_MS),
    "report parameter": own_values,
    "durations": durations_ms,
    "source paths": lambda text: roots_of({"paths": text}),
    "source topics": lambda text: selection_of({"topics": text}),
    "source number": lambda text: number_of_option({"from_ms": text}, "from_ms"),
    "source offsets": offsets_of,
}
BYTES: dict[str, Callable[[bytes], object]] = {
    "connection": security_of,
    "history of a connection": kept_as_of,
    "body": parse,
    "frame": lambda data: list(FrameDecoder().feed(len(data).to_bytes(4, "big") + data)),
    "header": lambda data: list(FrameDecoder().feed((len(data) + 4).to_bytes(4, "big") + len(data).to_bytes(4, "big") + data)),
    "binary header": lambda data: list(
        FrameDecoder().feed((len(data) + 4).to_bytes(4, "big") + (1 << 24 | len(data)).to_bytes(4, "big") + data)
    ),
    "stored properties": decode_properties,
    "records": lambda data: list(decode_records(data)),
    "batch": decode_batch,
    "state record": decode_state,
    "snapshot": decode_snapshot,
    "op body": parse_op_body,
    "trace": lambda data: read_traces(data, 0),
    "question": decode_window_message,
    "answer": decode_worker_message,
    "spooled message": ReplayItem.unpack,
    "settings of a broker": brokers.read_broker_settings,
}
"""Those of the configuration files have errors of their own, which the reader of files catches."""


@pytest.mark.parametrize("entry", TEXTS)
def test_a_text_that_parsers_do_not_expect_is_read_or_refused(entry):
    for text in NASTY:
        with suppress(OrbitError):
            TEXTS[entry](text)


@pytest.mark.parametrize("entry", TEXTS)
@settings(max_examples=30)
@given(text=st.text(max_size=80) | st.text(alphabet='0123456789-+.:/[]{}",<>=() aeEkKmsT%*;|', max_size=80))
def test_any_text_is_read_or_refused(entry, text):
    with suppress(OrbitError):
        TEXTS[entry](text)


@pytest.mark.parametrize("entry", BYTES)
def test_bytes_that_parsers_do_not_expect_are_read_or_refused(entry):
    for text in chain.from_iterable(map(as_json, NASTY)):
        with suppress(OrbitError):
            BYTES[entry](raw(text))


@pytest.mark.parametrize("entry", BYTES)
@settings(max_examples=50)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(entry, data):
    with suppress(OrbitError):
        BYTES[entry](data)


# ---- documents, with one part after the other replaced ----

HOSTILE = (
    "1e400", "-1e400", "NaN", "1" + "0" * 30, "-1", "1.5", f'"{DIGITS}"', f"-{'9' * 4_000}", '"²"', '"\\ud800"', '""', "[]",
    "{}", "null", "true", "[[]]", '{"a": {}}', "[" * 900 + "]" * 900,
)  # fmt: skip
QUEUE_KEY = '{"brokerName":"b","queueId":1,"topic":"T"}'
SETTINGS_OF_TOPIC = {"topicName": "T", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicSysFlag": 0, "order": False}
SETTINGS_OF_GROUP = {"groupName": "g", "retryMaxTimes": 1, "retryQueueNums": 1, "brokerId": 0, "consumeEnable": True}
SUBSCRIPTION = {
    "topic": "T", "subString": "a || b", "tagsSet": ["a"], "codeSet": [97], "subVersion": 1, "expressionType": "TAG",
    "classFilterMode": False,
}  # fmt: skip
KEY_OF_POP = {"t": "T", "c": "g", "q": 1, "so": 1, "pt": 1, "it": 1, "bn": "b", "n": 1, "bm": 0, "d": [0, 1], "ro": 0}
PLACE = {"brokerName": "b", "queueId": 1, "offset": 1, "topic": "T"}
REPLAY_PLAN = {
    "version": 1, "source": "s", "nameServers": "h:1", "count": 1, "bodyBytes": 1, "connection": "",
    "target": {"topic": "T"}, "pace": {"rate": 1.0},
}  # fmt: skip
SENT_LINE = {
    "number": 0, "status": "sent", "reason": "", "topic": "T", "broker": "b", "queueId": 1, "queueOffset": 1, "sentAt": 1,
    "handed": 1, "held": [2],
}  # fmt: skip
DOCUMENTS: dict[str, tuple[object, Callable[[str], object]]] = {
    "connection": (
        {"nameServers": "h:1", "accessKey": "a", "secretKey": "s", "tls": False, "addresses": {"h:1": "i:2"}, "readOnly": True,
         "socks": "h:1"},
        lambda text: security_of(raw(text)),
    ),
    "brokers": (
        {"brokerAddrTable": {"b": {"brokerAddrs": {"0": "h:1"}, "cluster": "c", "brokerName": "b"}}},
        lambda text: brokers.read_brokers(raw(text)),
    ),
    "runtime": ({"table": {"msgPutTotalTodayNow": "1"}}, lambda text: brokers.read_runtime(raw(text))),
    "members": (
        {"connectionSet": [{"clientId": "c", "clientAddr": "h:1", "language": "JAVA", "version": 413}],
         "subscriptionTable": {"T": SUBSCRIPTION}, "consumeType": "CONSUME_PASSIVELY"},
        lambda text: (connections.read_members(raw(text)), connections.read_subscriptions(raw(text))),
    ),
    "member ids": ({"consumerIdList": ["c"]}, lambda text: connections.read_member_ids(raw(text))),
    "producers": (
        {"data": {"p": [{"clientId": "c", "remoteIP": "/h:1", "language": "JAVA", "version": 413, "lastUpdateTimestamp": 1}]}},
        lambda text: connections.read_producers(raw(text)),
    ),
    "group settings": (SETTINGS_OF_GROUP, lambda text: groups.read_group_settings(raw(text))),
    "all group settings": (
        {"subscriptionGroupTable": {"g": SETTINGS_OF_GROUP}},
        lambda text: (groups.read_all_group_settings(raw(text)), groups.read_group_configs(raw(text))),
    ),
    "groups of a topic": ({"groupList": ["g"]}, lambda text: groups.read_groups_of_topic(raw(text))),
    "topic settings": (SETTINGS_OF_TOPIC, lambda text: topics.read_topic_settings(raw(text))),
    "all topic settings": (
        {"topicConfigTable": {"T": SETTINGS_OF_TOPIC}},
        lambda text: (topics.read_all_topic_settings(raw(text)), topics.read_topic_configs(raw(text))),
    ),
    "topic names": ({"topicList": ["T"]}, lambda text: topics.read_topic_names(raw(text))),
    "queue offsets": (
        {"offsetTable": {QUEUE_KEY: {"minOffset": 0, "maxOffset": 1, "lastUpdateTimestamp": 1}}},
        lambda text: offsets.read_queue_offsets(raw(text)),
    ),
    "consume stats": (
        {"offsetTable": {QUEUE_KEY: {"brokerOffset": 0, "consumerOffset": 1, "lastTimestamp": 1}}, "consumeTps": 1.0},
        lambda text: offsets.read_consume_stats(raw(text)),
    ),
    "reset offsets": ({"offsetTable": {QUEUE_KEY: 1}}, lambda text: offsets.read_reset_offsets(raw(text))),
    "consumer offsets": ({"offsetTable": {"T@g": {"0": 1}}}, lambda text: offsets.read_consumer_offsets(raw(text))),
    "delay offsets": ({"offsetTable": {"1": 2}}, lambda text: offsets.read_delay_offsets(raw(text))),
    "timer counts": ({"timingCount": {"T": {"count": 1}}}, lambda text: offsets.read_timer_counts(raw(text))),
    "queue units": (
        {"queueData": [{"physicOffset": 0, "physicSize": 1, "tagsCode": 2}]},
        lambda text: offsets.read_queue_units(raw(text)),
    ),
    "route": (
        {"queueDatas": [{"brokerName": "b", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicSysFlag": 0}],
         "brokerDatas": [{"brokerName": "b", "brokerAddrs": {"0": "h:1"}, "cluster": "c"}], "orderTopicConf": "b:1"},
        lambda text: (routes.read_route("T", raw(text)), decode_queues(raw(text))),
    ),
    "running info": (
        {"properties": {"PROP_CONSUMER_START_TIMESTAMP": "1", "PROP_THREADPOOL_CORE_SIZE": "1"}, "jstack": "x",
         "subscriptionSet": [SUBSCRIPTION],
         "statusTable": {"T": {"consumeRT": 1.0, "consumeOKTPS": 1.0, "consumeFailedTPS": 1}},
         "mqTable": {QUEUE_KEY: {"commitOffset": 1, "cachedMsgCount": 1, "lastPullTimestamp": 1, "locked": True,
                                 "droped": False, "cachedMsgMinOffset": 1, "cachedMsgMaxOffset": 1,
                                 "lastConsumeTimestamp": 1}}},
        lambda text: running.read_running_info("c", raw(text)),
    ),
    "consume result": (
        {"consumeResult": "CR_SUCCESS", "spentTimeMills": 1, "order": True, "remark": ""},
        lambda text: running.read_consume_result(raw(text)),
    ),
    "heartbeat": (
        {"clientID": "c", "producerDataSet": [{"groupName": "p"}],
         "consumerDataSet": [{"groupName": "g", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
                              "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "subscriptionDataSet": [SUBSCRIPTION]}]},
        lambda text: parse_heartbeat(raw(text)),
    ),
    "registration": (
        {"topicConfigSerializeWrapper": {"dataVersion": {"counter": 1, "timestamp": 1, "stateVersion": 0},
                                         "topicConfigTable": {"T": SETTINGS_OF_TOPIC}}, "filterServerList": ["h:1"]},
        lambda text: Registration.from_bytes(raw(text)),
    ),
    "pop checkpoint": (KEY_OF_POP, lambda text: decode_checkpoint(raw(text), revive_queue=0, log_offset=0)),
    "pop ack": (KEY_OF_POP | {"ao": 1}, lambda text: decode_ack(raw(text), batch=False)),
    "pop batch ack": (KEY_OF_POP | {"ao": 0, "aol": [1, 2]}, lambda text: decode_ack(raw(text), batch=True)),
    "receipt of a resend": (SENT_LINE, lambda text: read_receipt([f"{text}\n"], ["A", "B", "C"])),
    "offsets of a source": ({"T": {"b:0": [0, 1]}}, offsets_of),
}  # fmt: skip


def twisted(document: object, hostile: object) -> Iterator[object]:
    """The document with one part after the other, and each name, replaced."""
    yield hostile
    if isinstance(document, dict):
        for key, value in document.items():
            for other in twisted(value, hostile):
                yield {**document, key: other}
            yield {name: part for name, part in document.items() if name != key}
            yield {**{name: part for name, part in document.items() if name != key}, str(hostile)[:50]: value}
    elif isinstance(document, list):
        for place, value in enumerate(document):
            for other in twisted(value, hostile):
                yield [*document[:place], other, *document[place + 1 :]]


MARK = "@@HOSTILE@@"


def attacks(document: object) -> Iterator[str]:
    """Texts of the document with one part replaced by something that has its form as JSON, but not its meaning."""
    for text in [json.dumps(other) for other in twisted(document, MARK)]:
        if f'"{MARK}"' in text:
            yield from (text.replace(f'"{MARK}"', hostile) for hostile in HOSTILE)
        else:
            yield text


@pytest.mark.parametrize("entry", DOCUMENTS)
def test_a_document_with_a_part_that_is_another_is_read_or_refused(entry):
    document, read = DOCUMENTS[entry]
    read(json.dumps(document))
    for text in attacks(document):
        with suppress(OrbitError):
            read(text)


@pytest.mark.parametrize("entry", DOCUMENTS)
def test_json_of_another_kind_is_read_or_refused(entry):
    for text in chain.from_iterable(map(as_json, NASTY)):
        with suppress(OrbitError):
            DOCUMENTS[entry][1](text)


# ---- files ----


def private(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(raw(text))
    path.chmod(0o600)
    return path


def of_replay(folder: Path, name: str, text: str) -> Path:
    """A replay of a message whose other files are sound."""
    spool = Spool(folder)
    spool.add(ReplayItem("T", 0, 0, "A", 1, 1, 0, 0, b"x", {}))
    spool.finish(ReplayPlan.from_json(REPLAY_PLAN))
    spool.close()
    private(folder, RECEIPT_FILE, "")
    return private(folder, name, text).parent


def journal(folder: Path) -> None:
    with ReplayJournal(folder):
        pass


def receipt(path: Path) -> None:
    with CopyReceipt(path):
        pass


COPY = CopyPlan(
    order=CopyOrder(source="h:1", target="i:1", topics=("T",), groups=("g",), offsets=True, rate=1.0),
    topics=(),
    parts=(
        CopyPart(
            number=0, topic="T", broker="b", queue_id=0, first=0, end=1, to_topic="T", to_broker="b", to_queue_id=0, to_offset=0
        ),
    ),
    bytes=1,
    warnings=("w",),
)
FILE_TEXTS = (*NASTY, *chain.from_iterable(as_json(text) for text in NASTY if len(text) < 1_000))
"""Deep texts come once, because PyYAML takes a second for each."""
FILES: dict[str, Callable[[Path, str], object]] = {
    "connection": lambda folder, text: access_of_file(private(folder, "c.json", text)),
    "accounts": lambda folder, text: read_rules(rules_file(private(folder, "plain_acl.yml", text))),
    "parameters": lambda folder, text: read_parameter_file(private(folder, "p.json", text)),
    "prepared messages": lambda folder, text: open_folder(private(folder, MANIFEST, text).parent),
    "replay plan": lambda folder, text: journal(of_replay(folder, PLAN_FILE, text)),
    "replay receipt": lambda folder, text: journal(of_replay(folder, RECEIPT_FILE, f"{text}\n")),
    "replay index": lambda folder, text: journal(of_replay(folder, INDEX_FILE, text)),
    "copy receipt": lambda folder, text: receipt(private(folder, "r.jsonl", f"{text}\n")),
    "export": lambda folder, text: read_imports([private(folder, "e.jsonl", f"{text}\n")], SENT),
    "table": lambda folder, text: read_imports([private(folder, "e.csv", f"body,properties,queueId\n{text}\n")], SENT),
    "names of a table": lambda folder, text: read_imports([private(folder, "e.csv", f"{text}\nx\n")], SENT),
    "parquet": lambda folder, text: read_imports([private(folder, "e.parquet", text)], SENT),
}
PART = {"file": "p", "store": "s", "bytes": 0, "rows": 1, "store_bytes": 1, "first_ms": 1, "last_ms": 1}
OF_FILES: dict[str, object] = {
    "connection": {"nameServers": "h:1", "keptAs": "x", "accessKey": "a", "secretKey": "b", "readOnly": True},
    "accounts": {"globalWhiteRemoteAddresses": ["10.*.*.*"], "accounts": [{"accessKey": "account1", "secretKey": "secret12",
                 "admin": True, "whiteRemoteAddress": "", "defaultTopicPerm": "DENY", "topicPerms": ["T=PUB"]}]},
    "parameters": {"from": "-7d", "topic": ["orders"], "top": 5},
    "prepared messages": {"format": 1, "stores": [{"store": "s", "begin": 0, "end": 1, "last": None, "damage": [],
                          "tail_bytes": 0}], "parts": [PART]},
    "replay plan": REPLAY_PLAN,
    "replay receipt": SENT_LINE,
    "copy receipt": {"orbitCopy": RECEIPT_VERSION, "plan": asdict(COPY)},
    "export": {"topic": "T", "body": "eA==", "queueId": 0, "queueOffset": 1, "storeTimestamp": 1, "bornTimestamp": 1, "flag": 0,
               "sysFlag": 0, "properties": {"a": "b"}, "bodyCrc": 1, "offsetMsgId": "A"},
}  # fmt: skip


@pytest.mark.parametrize("entry", FILES)
def test_a_file_that_readers_do_not_expect_is_read_or_refused(tmp_path, entry):
    for number, text in enumerate(FILE_TEXTS):
        with suppress(OrbitError):
            FILES[entry](tmp_path / str(number), text)


@pytest.mark.parametrize("entry", OF_FILES)
def test_a_file_with_a_part_that_is_another_is_read_or_refused(tmp_path, entry):
    if entry != "prepared messages":  # its parts are files of their own
        FILES[entry](tmp_path / "sound", json.dumps(OF_FILES[entry]))
    for number, text in enumerate(attacks(OF_FILES[entry])):
        if entry == "accounts" and len(text) > 1_500:
            continue  # PyYAML takes a second for brackets in brackets
        with suppress(OrbitError):
            FILES[entry](tmp_path / str(number), text)


CONFIGS: dict[str, object] = {
    "topics.json": {"topicConfigTable": {"T": SETTINGS_OF_TOPIC}, "dataVersion": {"counter": 1, "timestamp": 1}},
    "subscriptionGroup.json": {"subscriptionGroupTable": {"g": SETTINGS_OF_GROUP}, "dataVersion": {"counter": 1}},
    "consumerOffset.json": {"offsetTable": {"T@g": {"0": 1}}},
    "delayOffset.json": {"offsetTable": {"1": 2}},
    "consumerFilter.json": {"filterDataByTopic": {"T": {"topic": "T", "groupFilterData": {}}}},
    "timermetrics.json": {"timingCount": {"T": {"count": 1}}},
    "broker.properties": {"a": "b"},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_file_is_read_or_damaged(tmp_path, name):
    """Damage is ValueError or RecursionError, which the reader of files takes for it; a look at the store reports it."""
    texts = list(chain.from_iterable(map(as_json, NASTY))) + list(attacks(CONFIGS[name]))
    for text in texts:
        with suppress(ValueError, RecursionError, OrbitError):
            parse_content(name, raw(text))
    writer = StoreWriter(tmp_path)
    writer.append("T", b"x")
    writer.flush()
    (tmp_path / "config").mkdir(exist_ok=True)
    for text in texts[:: max(1, len(texts) // 60)]:
        (tmp_path / "config" / name).write_bytes(raw(text))
        list(Verification(tmp_path, LEVELS).findings())


# ---- command lines ----


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parser of each command."""
    yield "window", main._parser()
    for module in ("tools.commands.search", "tools.commands.store", "tools.commands.doctor", "worker.commands.cluster",
                   "worker.commands.watch"):  # fmt: skip
        yield module, importlib.import_module(f"broker_core.{module}")._parser()
    for module in ("broker_core.tools.commands.copy", "broker_core.tools.commands.replay_arguments"):
        yield module, importlib.import_module(module).parser()
    yield "report", importlib.import_module("spark_reports.__main__")._parser()


PARSERS = dict(parsers())


def options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from options(inner)
        elif action.type is not None:
            yield action


@pytest.mark.parametrize("name", [name for name in PARSERS if any(options(PARSERS[name]))])
def test_the_type_of_an_option_takes_any_text_or_refuses_it(name):
    """What argparse catches of a type: its own error, ValueError and TypeError; it then ends with 2 and the reason."""
    for action in options(PARSERS[name]):
        for text in NASTY:
            with suppress(argparse.ArgumentTypeError, ValueError, TypeError):
                action.type(text)


def run(*words: str) -> tuple[int, str]:
    """Exit code of a command, and what it told."""
    told = io.StringIO()
    with redirect_stdout(told), redirect_stderr(told):
        code = main._run(list(words))
    return code, told.getvalue()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("of-messages") / "store"
    writer = StoreWriter(root)
    writer.append("orders", b'{"n": 1}', {"KEYS": "k"})
    writer.flush()
    return str(root)


LINES: dict[str, Callable[[str, str], tuple[str, ...]]] = {
    "search filter": lambda store, text: ("search", "--store", store, "--", text),
    "search now": lambda store, text: ("search", "--store", store, f"--now={text}", "stored >= -1h"),
    "search limit": lambda store, text: ("search", "--store", store, f"--limit={text}", "size > 0"),
    "search store": lambda _store, text: ("search", f"--store={text}", "size > 0"),
    "search connection": lambda _store, text: ("search", f"--connection={text}", "size > 0"),
    "search servers": lambda _store, text: ("search", f"--ns={text}x", "size > 0"),
    "cluster servers": lambda _store, text: ("cluster", f"--ns={text}x"),
    "cluster servers, JSON": lambda _store, text: ("cluster", "--json", f"--ns={text}x"),
    "doctor servers": lambda _store, text: ("doctor", f"--ns={text}x"),
    "verify": lambda _store, text: ("store", "verify", f"./{text}"),
    "verify levels": lambda store, text: ("store", "verify", store, f"--delay-levels={text}"),
    "dump topic": lambda store, text: ("store", "dump", store, f"--topic={text}"),
    "clean hours": lambda _store, text: ("store", "clean", "/nonexistent", f"--reserved-hours={text}"),
    "replay file": lambda _store, text: ("replay", f"--from-file={text}", "--to", "t", "--to-ns", "127.0.0.1:1", "--dry-run"),
    "copy order": lambda _store, text: ("copy", "--from=x", "--to=y", f"--topic={text}", f"--since={text}", f"--rate={text}"),
    "broker setting": lambda _store, text: ("broker", "--set", text, "--set", "none=1"),
    "broker port": lambda _store, text: ("broker", f"--port={text}", "--set", "none=1"),
    "estimate": lambda store, text: (
        "report",
        "throughput",
        f"--store={store}",
        "--estimate",
        f"--from={text}",
        f"--to={text}",
    ),
    "report": lambda store, text: ("report", f"x{text}", f"--store={store}"),
}


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_with_any_word_ends_with_a_code_and_a_reason(line, store):
    for text in NASTY:
        if "\0" in text and line != "search filter":
            continue  # no word of a command line holds it
        try:
            code, told = run(*LINES[line](store, text))
        except SystemExit as end:
            code, told = end.code, "usage"
        assert code in range(9), (text[:80], code)
        assert told or code == 0, text[:80]


# ---- the rule ----

OWN_READERS = {
    "engine/processors/plain/send_lanes.py": "one text of a header, as the decoder of frames reads it",
    "engine/store/config_file.py": "names that are there twice are told; KeptFile takes RecursionError for damage",
    "native/library.py": "a note of Orbit itself; a change of this module has machine code made again",
    "outside.py": "the reader itself",
    "protocol/json_body.py": "falls back to the dialect of fastjson",
    "chinese_words.py": "texts of Orbit itself",
}


def test_json_of_others_is_read_by_one_function():
    found = {}
    for package in (broker_core, spark_reports):
        root = Path(package.__file__).parent
        for path in root.rglob("*.py"):
            if re.search(r"\bjson\.loads?\(", path.read_text("utf-8")):
                found[path.relative_to(root).as_posix()] = ""
    assert sorted(found) == sorted(OWN_READERS)


DIGITS_READ = re.compile(r"\.(?:isdigit|isdecimal|isnumeric)\(\).*\bint\(|\bint\(.*\.(?:isdigit|isdecimal|isnumeric)\(\)")


def test_digits_of_others_are_read_by_functions_that_bound_them():
    """`str.isdigit` takes “²”, which `int` refuses, and `int` refuses more than 4,300 digits."""
    assert DIGITS_READ.search("return int(text) if text.isdigit() else 0")
    found = [
        f"{path.name}: {line.strip()}"
        for package in ("broker_core", "monitoring", "spark_reports", "gui")
        for path in (Path(main.__file__).parent / package).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if DIGITS_READ.search(line) and "len(" not in line
    ]
    assert [line.partition(":")[0] for line in found] == ["json_document.py"], "its pattern bounds them before"
