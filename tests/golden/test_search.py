"""Search results against the descriptions of stores that real brokers wrote."""

from __future__ import annotations

import pytest

from broker_core.engine.store.inspection.log_reader import LogReader
from broker_core.protocol.message.record import decode_record
from broker_core.tools.commands.search import main
from broker_core.tools.commands.store import main as dump
from broker_core.tools.search.facts import MessageFacts, matches
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.scan import StoreSearch
from tests.support.golden import GOLDEN_NAMES, contents, golden_store

DAMAGED = ("torn",)


@pytest.fixture(scope="module", params=GOLDEN_NAMES)
def store(request, tmp_path_factory):
    golden = golden_store(request.param)
    root = golden.unpack(tmp_path_factory.mktemp(request.param))
    before = contents(root)
    yield golden, root
    assert contents(root) == before


def found_by(root, text):
    search = StoreSearch(root, parse_filter(text, now_ms=0))
    hits = [hit.message for step in search.steps() for hit in step.hits]
    assert search.outcome is not None
    assert search.outcome.found == len(hits)
    return hits, search


def described(golden):
    return [message for message in golden.messages() if not message.topic.startswith("%LMQ%")]


def check(golden, root, text, expected):
    hits, search = found_by(root, text)
    offsets = [hit.physical_offset for hit in hits]
    assert offsets == sorted(set(offsets)), text
    assert set(offsets) == {message.columns["physicalOffset"] for message in expected}, (text, str(search.plan))
    # Lookups and queues of a crashed store are not relied upon, so that its damage is always met.
    assert search.outcome.is_complete or golden.name in DAMAGED, str(search.outcome)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_everything_is_found(store):
    golden, root = store
    check(golden, root, "size > 0", described(golden))


def test_each_topic_is_found(store):
    golden, root = store
    messages = described(golden)
    for topic in {message.topic for message in messages}:
        check(golden, root, f"topic = {quoted(topic)}", [message for message in messages if message.topic == topic])
        check(
            golden,
            root,
            f"topic = {quoted(topic)} and queue = 0 and offset >= 3",
            [m for m in messages if m.topic == topic and m.queue_id == 0 and m.columns["queueOffset"] >= 3],
        )


def test_light_topics_are_found(store):
    golden, root = store
    messages = list(golden.messages())
    light = sorted({message.topic for message in messages if message.topic.startswith("%LMQ%")})
    assert bool(light) == (golden.name == "lmq")
    for topic in light:
        expected = [message for message in messages if message.topic == topic]
        check(golden, root, f"topic = {quoted(topic)}", expected)
        places = {message.columns["physicalOffset"] for message in expected}
        others = [message for message in described(golden) if message.columns["physicalOffset"] not in places]
        check(golden, root, f"topic != {quoted(topic)}", others)


def test_keys_and_ids_are_found(store):
    golden, root = store
    messages = described(golden)
    by_key: dict[str, list] = {}
    by_id: dict[str, list] = {}
    for message in messages:
        properties = message.columns["properties"]
        for key in {key for key in properties.get("KEYS", "").split(" ") if key}:
            by_key.setdefault(key, []).append(message)
        if "UNIQ_KEY" in properties:
            by_id.setdefault(properties["UNIQ_KEY"], []).append(message)
        by_id.setdefault(message.columns["offsetMsgId"], []).append(message)
    for key in list(by_key)[:: max(1, len(by_key) // 25)]:
        check(golden, root, f"key = {quoted(key)}", by_key[key])
    for key in list(by_id)[:: max(1, len(by_id) // 25)]:
        check(golden, root, f"id = {quoted(key)}", by_id[key])


def test_times_are_found(store):
    golden, root = store
    messages = described(golden)
    times = sorted(message.columns["storeTimestamp"] for message in messages)
    topic = quoted(messages[0].topic)
    for low, high in ((times[0], times[0]), (times[len(times) // 3], times[len(times) // 2]), (times[-1], times[-1] + 5)):
        expected = [message for message in messages if low <= message.columns["storeTimestamp"] <= high]
        check(golden, root, f"stored >= {low} and stored <= {high}", expected)
        check(
            golden,
            root,
            f"topic = {topic} and stored >= {low} and stored <= {high}",
            [message for message in expected if message.topic == messages[0].topic],
        )


def test_heads_tags_and_properties_are_found(store):
    golden, root = store
    messages = described(golden)
    for tag in sorted({message.columns["properties"].get("TAGS", "") for message in messages} - {""})[:8]:
        check(golden, root, f"tag = {quoted(tag)}", [m for m in messages if m.columns["properties"].get("TAGS") == tag])
        check(golden, root, f"not tag = {quoted(tag)}", [m for m in messages if m.columns["properties"].get("TAGS") != tag])
    check(golden, root, "body_bytes > 100", [m for m in messages if m.columns["bodyLength"] > 100])
    check(golden, root, "size <= 300", [m for m in messages if m.columns["storeSize"] <= 300])
    check(golden, root, "reconsume > 0", [m for m in messages if m.columns["reconsumeTimes"] > 0])
    check(golden, root, 'state != "normal"', [m for m in messages if topic_is_internal(m.topic)])


def topic_is_internal(topic):
    return topic.startswith(("%RETRY%", "%DLQ%")) or topic in (
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "RMQ_SYS_TRACE_TOPIC",
        "rmq_sys_wheel_timer",
    )


@pytest.mark.parametrize(
    "text",
    [
        'body contains "a" and not tag ~ "^T"',
        'body ~ "[0-9]{3}"',
        'body.id > 3 or prop.region = "eu"',
        'host contains "127" and (born >= 0 or delay_level > 2)',
        'group != "x" and key contains "1"',
    ],
)
def test_any_filter_finds_what_plain_evaluation_finds(store, text):
    _golden, root = store
    expression = parse_filter(text, now_ms=0)
    log = LogReader(root)
    expected = []
    for window in log.windows():
        for position in window.heads.position.tolist():
            message = decode_record(window.buffer, position)
            if matches(expression, MessageFacts(message)):
                expected.append(message)
    log.close()
    assert found_by(root, text)[0] == expected


def test_the_command_prints_what_a_dump_prints(store, capsys):
    golden, root = store
    code = main(["--store", str(root), "size > 0"])
    found = capsys.readouterr()
    dump(["dump", str(root)])
    assert found.out == capsys.readouterr().out
    assert code == (1 if golden.name in DAMAGED else 0)
    word = "partial" if golden.name in DAMAGED else "complete"
    assert found.err.splitlines()[-1].startswith(f"{word}: ")
