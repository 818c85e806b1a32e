from __future__ import annotations

import base64
import hashlib
import json

import pytest

from broker_core.protocol.message.tags import tags_code
from broker_core.tools.commands.store import main
from tests.support.golden import GOLDEN_NAMES, contents, golden_store

REBUILT = ("crash", "torn")
"""Stores whose described index is the one that the broker rebuilt after the archive was made."""


@pytest.fixture(scope="module", params=GOLDEN_NAMES)
def store(request, tmp_path_factory):
    golden = golden_store(request.param)
    root = golden.unpack(tmp_path_factory.mktemp(request.param))
    before = contents(root)
    yield golden, root
    assert contents(root) == before


def dumped(capsys, root, *arguments) -> list[dict]:
    code = main(["dump", str(root), *arguments])
    output = capsys.readouterr()
    assert (code != 0) == bool(output.err)
    return [json.loads(line) for line in output.out.splitlines()]


def test_dumped_messages_are_those_described(store, capsys):
    golden, root = store
    rows = dumped(capsys, root)
    offsets = [row["physicalOffset"] for row in rows]
    assert offsets == sorted(set(offsets))
    by_offset = {row["physicalOffset"]: row for row in rows}
    described = [message for message in golden.messages() if not message.topic.startswith("%LMQ%")]
    assert described
    for message in described:
        row = by_offset[message.columns["physicalOffset"]]
        body = base64.b64decode(row["body"])
        assert message.body_matches(body)
        expected = {"topic": message.topic, "queueId": message.queue_id} | message.columns | {"body": row["body"]}
        assert row == expected
        assert row["bodySha256"] in (None, hashlib.sha256(body).hexdigest())
    assert by_offset.keys() == {message.columns["physicalOffset"] for message in described}


def test_dumped_units_are_those_described(store, capsys):
    golden, root = store
    units = {
        (row["topic"], row["queueId"], row["physicalOffset"]): (row["queueOffset"], row["size"], row["tagsCode"])
        for row in dumped(capsys, root, "--kind", "queues")
    }
    for message in golden.messages():
        columns = message.columns
        offset, size, code = units[message.topic, message.queue_id, columns["physicalOffset"]]
        assert (size, code) == (columns["storeSize"], columns["tagsCode"])
        assert offset == columns["queueOffset"] or message.topic.startswith("%LMQ%")


@pytest.mark.parametrize("store", [name for name in GOLDEN_NAMES if name not in REBUILT], indirect=True)
def test_dumped_index_items_lead_to_the_offsets_that_queries_answer(store, capsys):
    golden, root = store
    items = {row["physicalOffset"] for row in dumped(capsys, root, "--kind", "index")}
    names = golden.expected["queriesColumns"]
    answered = {
        offset for row in golden.expected["queries"] for offset in dict(zip(names, row, strict=True))["physicalOffsets"]
    }
    assert answered <= items


def test_dumped_configuration_has_the_described_topics(store, capsys):
    golden, root = store
    files = {row["file"]: row["content"] for row in dumped(capsys, root, "--kind", "config")}
    assert files["topics.json"]["topicConfigTable"].keys() <= {topic["topicName"] for topic in golden.expected["topics"]}


def test_a_topic_is_picked_out(capsys, tmp_path):
    golden = golden_store("normal")
    root = golden.unpack(tmp_path)
    topic = next(golden.messages()).topic
    count = sum(message.topic == topic for message in golden.messages())
    for kind in ("messages", "queues"):
        rows = dumped(capsys, root, "--kind", kind, "--topic", topic)
        assert [row["topic"] for row in rows] == [topic] * count
    offsets = {message.columns["physicalOffset"] for message in golden.messages() if message.topic == topic}
    assert {row["physicalOffset"] for row in dumped(capsys, root, "--kind", "index", "--topic", topic)} <= offsets
    assert [row["file"] for row in dumped(capsys, root, "--kind", "config", "--topic", topic)]


def test_only_the_torn_store_is_not_sound(store, capsys):
    golden, root = store
    code = main(["verify", str(root)])
    lines = capsys.readouterr().out.splitlines()
    faults = [line for line in lines[:-1] if not line.startswith("note: ")]
    if golden.name != "torn":
        assert (code, faults) == (0, [])
        assert lines[-1].endswith("sound")
        return
    end = golden.expected["log"]["maxOffset"]
    assert code == 1
    assert [line.partition("/")[0] for line in faults] == ["commitlog", "consumequeue", "index"]
    assert all(f"{end:,}" in line for line in faults[1:])
    assert lines[-1].endswith("3 inconsistencies")


def test_dumped_units_tell_what_the_extension_has(capsys, tmp_path):
    golden = golden_store("filter")
    root = golden.unpack(tmp_path)
    assert main(["dump", str(root), "--kind", "queues"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    described = {message.columns["physicalOffset"]: message.columns for message in golden.messages()}
    assert len(rows) == len(described)
    for row in rows:
        columns = described[row["physicalOffset"]]
        assert row["extStoreTimestamp"] == columns["storeTimestamp"]
        assert row["extTagsCode"] == tags_code(columns["properties"].get("TAGS"))
        assert len(row["extBitMap"]) == 28
