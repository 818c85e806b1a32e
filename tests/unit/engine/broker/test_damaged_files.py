"""Every configuration file of a store in every damaged shape: its backup is used, it is rebuilt, or the start is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.nameserver.kv_config import KV_FILE, KV_RULE, KvConfig
from broker_core.engine.nameserver.settings import NAME_SERVER_FILE, NAME_SERVER_RULE, NameServerSettings
from broker_core.engine.processors.live_settings import SETTINGS_FILE, SETTINGS_RULE
from broker_core.engine.processors.pop.assignment import MODES_FILE, MODES_RULE, RequestModes
from broker_core.engine.processors.pop.order_info import OrderInfo
from broker_core.engine.processors.pop.pop_family import ORDER_FILE, ORDER_RULE
from broker_core.engine.schedule.delay_service import PROGRESS_FILE, PROGRESS_RULE, DelayProgress
from broker_core.engine.schedule.overrides import OVERRIDES_FILE, OVERRIDES_RULE, Overrides
from broker_core.engine.schedule.timer.precision import PRECISION_FILE, PRECISION_RULE, changes_of
from broker_core.engine.store.config_file import ConfigRule, Take
from broker_core.engine.store.log_places import holds_records
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.tables.consumer_filters import FILTERS_FILE, FILTERS_RULE, ConsumerFilters
from broker_core.engine.tables.consumer_offsets import OFFSETS_FILE, OFFSETS_RULE, ConsumerOffsets
from broker_core.engine.tables.group_table import GROUPS_FILE, GROUPS_RULE, GroupTable
from broker_core.engine.tables.topic_table import TOPICS_FILE, TOPICS_RULE, TopicTable
from broker_core.errors import CorruptStoreError, StoreError
from broker_core.protocol.filter.bloom import BITS, bloom_positions
from tests.support.store_bench import StoreBench, message


def no_time() -> int:
    return 0


FILTER = {
    "bloomFilterData": {"bitNum": BITS, "bitPos": bloom_positions("g", "T")},
    "bornTime": 5,
    "clientVersion": 1,
    "consumerGroup": "g",
    "deadTime": 0,
    "expression": "a > 1",
    "expressionType": "SQL92",
    "topic": "T",
}
MODE = {"consumerGroup": "g", "mode": "POP", "popShareQueueNum": 0, "topic": "T"}

FILES: dict[str, tuple[ConfigRule, Callable[[], Take], Mapping[str, Any]]] = {
    TOPICS_FILE: (
        TOPICS_RULE,
        lambda: TopicTable(BrokerConfig(), clock=no_time).load,
        {"topicConfigTable": {"T": {"readQueueNums": 2, "writeQueueNums": 2, "perm": 4}}},
    ),
    GROUPS_FILE: (
        GROUPS_RULE,
        lambda: GroupTable(auto_create=True, clock=no_time).load,
        {"subscriptionGroupTable": {"g": {"retryMaxTimes": 3}}, "forbiddenTable": {"g": {"T": 4}}},
    ),
    OFFSETS_FILE: (OFFSETS_RULE, lambda: ConsumerOffsets().load, {"offsetTable": {"T@g": {"0": 7}}}),
    PROGRESS_FILE: (PROGRESS_RULE, lambda: DelayProgress().load, {"offsetTable": {"3": 12}}),
    OVERRIDES_FILE: (
        OVERRIDES_RULE,
        lambda: lambda content: Overrides().load(content, lambda _physical, _entry: True),
        {"messages": {"100": {"level": 3, "queueOffset": 4, "dueMs": -1}}},
    ),
    FILTERS_FILE: (
        FILTERS_RULE,
        lambda: ConsumerFilters(no_time).load,
        {"filterDataByTopic": {"T": {"groupFilterData": {"g": FILTER}}}},
    ),
    ORDER_FILE: (
        ORDER_RULE,
        lambda: OrderInfo().load,
        {"table": {"T@g": {"0": {"popTime": 1, "i": 2, "o": [3, 1], "l": 4, "cm": 1}}}},
    ),
    MODES_FILE: (MODES_RULE, lambda: RequestModes().load, {"messageRequestModeMap": {"T": {"g": MODE}}}),
    PRECISION_FILE: (PRECISION_RULE, lambda: changes_of, {"changes": [{"fromOffset": 0, "precisionMs": 1_000}]}),
    KV_FILE: (KV_RULE, lambda: KvConfig().load, {"configTable": {"N": {"key": "value"}}}),
    NAME_SERVER_FILE: (NAME_SERVER_RULE, lambda: NameServerSettings().load, {"enableTopicList": "false"}),
    SETTINGS_FILE: (SETTINGS_RULE, lambda: lambda _content: None, {"brokerPermission": "4"}),
}
"""Rule, reader of the table, and a good content."""

REBUILT = {TOPICS_FILE, FILTERS_FILE, ORDER_FILE}

SHAPES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _good: b"",
    "blanks": lambda _good: b" \n\t",
    "NULs": lambda good: bytes(len(good)),
    "a page of NULs": lambda _good: bytes(4096),
    "NULs at the end": lambda good: good + bytes(100),
    "NULs at the start": lambda good: bytes(3) + good,
    "half": lambda good: good[: len(good) // 2],
    "half and NULs": lambda good: good[: len(good) // 2] + bytes(4096),
    "another encoding": lambda good: good.decode().encode("utf-16"),
    "without a mark": lambda good: good.decode().encode("utf-16-be"),
    "no text": lambda good: b"\xff\xfe\xfd" + good,
    "a list": lambda _good: b"[]",
    "null": lambda _good: b"null",
    "a string": lambda _good: b'"x"',
    "a number": lambda _good: b"1",
    "nested": lambda _good: b"[" * 100_000,
    "an endless number": lambda _good: b'{"offsetTable":' + b"9" * 5_000 + b"}",
}
JSON_SHAPES: dict[str, Callable[[bytes], bytes]] = {
    "an old tail": lambda good: good + b"\n" + good[-8:],
    "an empty object": lambda _good: b"{}",
    "another object": lambda _good: b'{"version":1}',
    "members twice": lambda good: good[:-1] + b"," + good[1:],
    "members of members twice": lambda good: good.replace(b"{", b'{"x":0,"x":0,'),
    "null inside": lambda good: json.dumps(dict.fromkeys(json.loads(good))).encode(),
    "a list inside": lambda good: json.dumps({key: ["x"] for key in json.loads(good)}).encode(),
    "text inside": lambda good: json.dumps(dict.fromkeys(json.loads(good), "x")).encode(),
    "text of the entries": lambda good: json.dumps({key: {"T@g": "x"} for key in json.loads(good)}).encode(),
}
CASES = [
    *((name, shape, made) for name in FILES for shape, made in SHAPES.items()),
    *((name, shape, made) for name in FILES if name.endswith(".json") for shape, made in JSON_SHAPES.items()),
]


class Config:
    """One file of a store, its table and its good content."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.rule, self.table, self.content = FILES[name]
        self.path = folder / name
        self.backup = folder / f"{name}.bak"
        self.files(lambda: True).serve(name, lambda: self.content)

    def files(self, holds_messages: Callable[[], bool] = lambda: True, *, read_only: bool = False) -> ConfigFiles:
        return ConfigFiles(self.folder, holds_messages=holds_messages, read_only=read_only)

    def load(self, files: ConfigFiles) -> Mapping[str, Any]:
        return files.load(self.path.name, self.table(), self.rule)

    def good(self) -> bytes:
        if self.path.name.endswith(".properties"):
            return "".join(f"{key}={value}\n" for key, value in self.content.items()).encode()
        return json.dumps(self.content).encode()

    def aside(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.folder.glob("*.damaged-*"))]

    def state(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}


def test_the_rules_are_those_of_the_manual():
    assert {name for name, (rule, _table, _content) in FILES.items() if rule.is_rebuilt} == REBUILT


@pytest.mark.parametrize("name", FILES)
def test_a_good_file_is_read_without_a_word_and_with_a_byte_order_mark_too(tmp_path, name):
    config = Config(tmp_path, name)
    for mark in (b"", b"\xef\xbb\xbf"):
        config.path.write_bytes(mark + config.good())
        files = config.files()
        assert (config.load(files), files.reports) == (config.content, [])


@pytest.mark.parametrize(("name", "shape", "made"), CASES)
def test_a_good_backup_is_used_and_stays_and_the_damaged_file_is_set_aside(tmp_path, name, shape, made):
    config = Config(tmp_path, name)
    damaged = made(config.good())
    config.path.write_bytes(damaged)
    config.backup.write_bytes(config.good())
    files = config.files()
    assert config.load(files) == config.content
    (report,) = files.reports
    assert report.startswith(f"config/{name} cannot be used ("), shape
    assert "its backup is used" in report
    assert config.aside() == [damaged]
    assert config.path.read_bytes() == config.backup.read_bytes() == config.good()
    again = config.files()
    assert (config.load(again), again.reports) == (config.content, [])


@pytest.mark.parametrize("backup", ["none", "empty", "damaged"])
@pytest.mark.parametrize(("name", "shape", "made"), CASES)
def test_without_a_good_backup_it_is_rebuilt_and_reported_or_refused_and_left_alone(tmp_path, name, shape, made, backup):
    config = Config(tmp_path, name)
    damaged = made(config.good())
    config.path.write_bytes(damaged)
    if backup != "none":
        config.backup.write_bytes(b"" if backup == "empty" else b"[1]")
    before = config.state()
    files = config.files()
    if name in REBUILT:
        assert config.load(files) == {}, shape
        (report,) = files.reports
        assert config.rule.effect in report
        assert damaged in config.aside()
        assert not config.path.exists()
    else:
        with pytest.raises(CorruptStoreError, match="Restore the file from a copy") as caught:
            config.load(files)
        assert str(config.path) in caught.value.message
        assert config.rule.effect in caught.value.message
        assert config.rule.by_hand in caught.value.message
        assert config.state() == before


@pytest.mark.parametrize("name", FILES)
def test_cut_at_any_byte_it_is_damaged(tmp_path, name):
    config = Config(tmp_path, name)
    good = config.good()
    config.backup.write_bytes(good)
    for end in range(len(good)):
        config.path.write_bytes(good[:end])
        files = config.files()
        assert (config.load(files), len(files.reports)) == (config.content, 1), good[:end]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["a directory", "a link to nothing", "a pipe"])
def test_something_else_in_its_place_is_set_aside(tmp_path, name, kind):
    config = Config(tmp_path, name)
    if kind == "a directory":
        config.path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(config.path)
    else:
        config.path.symlink_to("nowhere")
    config.backup.write_bytes(config.good())
    assert config.load(config.files()) == config.content
    assert config.path.read_bytes() == config.good()
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


@pytest.mark.parametrize("name", FILES)
def test_a_lost_file_with_a_good_backup_is_reported_and_with_none_it_is_a_new_store(tmp_path, name):
    config = Config(tmp_path, name)
    files = config.files()
    assert (config.load(files), files.reports) == ({}, [])
    config.backup.write_bytes(config.good())
    assert config.load(files) == config.content
    assert files.reports == [f"config/{name} is missing: its backup is used, without the changes after it"]
    assert config.path.read_bytes() == config.good()


@pytest.mark.parametrize("name", FILES)
def test_an_empty_file_of_a_store_without_messages_has_lost_nothing(tmp_path, name):
    config = Config(tmp_path, name)
    for path in (config.path, config.backup):
        path.touch()
    files = config.files(lambda: False)
    assert (config.load(files), len(files.reports)) == ({}, 1)


@pytest.mark.parametrize("name", FILES)
def test_who_only_looks_changes_nothing_and_is_refused_nothing(tmp_path, name):
    config = Config(tmp_path, name)
    config.path.write_bytes(b"{")
    files = config.files(read_only=True)
    assert (config.load(files), len(files.reports), config.state()) == ({}, 1, {name: b"{"})
    config.backup.write_bytes(config.good())
    assert config.load(files) == config.content
    assert config.path.read_bytes() == b"{"


@pytest.mark.parametrize("name", sorted(FILES.keys() - REBUILT))
def test_a_file_that_was_refused_is_not_written(tmp_path, name):
    config = Config(tmp_path, name)
    config.path.write_bytes(b"[")
    files = config.files()
    files.serve(name, dict)
    with pytest.raises(StoreError):
        config.load(files)
    files.mark(name)
    assert not files.when_written([name], lambda _fault: None)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (TOPICS_FILE, {"topicConfigTable": {"T": {"readQueueNums": -1}}}),
        (TOPICS_FILE, {"topicConfigTable": {"T": {"readQueueNums": 1 << 31}}}),
        (TOPICS_FILE, {"topicConfigTable": {"T": {"perm": "x"}}}),
        (TOPICS_FILE, {"topicConfigTable": {"T": {"perm": float("inf")}}}),
        (GROUPS_FILE, {"subscriptionGroupTable": {"g": {"retryMaxTimes": []}}}),
        (GROUPS_FILE, {"subscriptionGroupTable": {"g": {"retryMaxTimes": 1 << 70}}}),
        (GROUPS_FILE, {"subscriptionGroupTable": {"g": {"retryQueueNums": 1 << 31}}}),
        (GROUPS_FILE, {"subscriptionGroupTable": {}, "forbiddenTable": {"g": {"T": "x"}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": {"0": "x"}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": {"0": 1.5}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": {"0": float("inf")}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": {"0": True}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": {"0": 1 << 63}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": {"-1": 1}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": {str(1 << 31): 1}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": [1, 2]}}),
        (OFFSETS_FILE, {"offsetTable": {"offsetTable": {"T@g": {"0": 1}}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": {"0": 1}, "0": {"T@g": 1}}}),
        (OFFSETS_FILE, {"offsetTable": {"T@g": {"0": 1}, "T": {"0": 1}}}),
        (PROGRESS_FILE, {"offsetTable": {"x": 1}}),
        (PROGRESS_FILE, {"offsetTable": {"1": None}}),
        (ORDER_FILE, {"table": {"T@g": {"0": {"popTime": float("nan"), "i": 1, "o": [1]}}}}),
        (ORDER_FILE, {"table": {"T@g": {"²": {}}}}),
        (FILTERS_FILE, {"filterDataByTopic": {"T": {"groupFilterData": {"g": FILTER | {"bornTime": float("inf")}}}}}),
        (MODES_FILE, {"messageRequestModeMap": {"T": {"g": {"mode": "POP"}}}}),
        (PRECISION_FILE, {"changes": [{"fromOffset": "x", "precisionMs": 1}]}),
        (KV_FILE, {"configTable": {"N": {"key": 1}}}),
        (NAME_SERVER_FILE, {"enableTopicList": "perhaps"}),
    ],
)
def test_a_member_that_cannot_be_is_damage_and_nothing_before_it_is_taken_over(tmp_path, name, content):
    config = Config(tmp_path, name)
    config.backup.write_bytes(config.good())
    if name.endswith(".json"):
        config.path.write_text(json.dumps(content))
    else:
        config.path.write_text("".join(f"{key}={value}\n" for key, value in content.items()))
    files = config.files()
    assert (config.load(files), len(files.reports)) == (config.content, 1)


def test_what_rocketmq_reads_is_no_damage(tmp_path):
    offsets, progress = ConsumerOffsets(), DelayProgress()
    (tmp_path / OFFSETS_FILE).write_text('{"offsetTable":{"T@g":{0:"7",1:-1}},"groupTopicMap":{}}')
    (tmp_path / PROGRESS_FILE).write_text('{"offsetTable":{3:"12"}}')
    files = ConfigFiles(tmp_path)
    files.load(OFFSETS_FILE, offsets.load, OFFSETS_RULE)
    files.load(PROGRESS_FILE, progress.load, PROGRESS_RULE)
    assert (offsets.get("g", "T", 0), offsets.get("g", "T", 1), progress.offsets, files.reports) == (7, -1, {3: 12}, [])


def test_a_log_holds_messages_as_soon_as_it_has_a_record(tmp_path):
    config = StoreConfig(root=tmp_path)
    assert not holds_records(config, tmp_path / "commitlog")
    bench = StoreBench(tmp_path)
    store = bench.open()
    assert not holds_records(bench.config(), tmp_path / "commitlog")
    store.put(message())
    assert holds_records(bench.config(), tmp_path / "commitlog")
    store.close()
