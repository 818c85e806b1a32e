from __future__ import annotations

import errno
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.store.config_file import (
    EntryTable,
    EntryTexts,
    backup_path,
    format_config,
    load_config,
    parse_config,
    save_config,
)
from broker_core.errors import CorruptStoreError, StoreFullError
from tests.support.golden import golden_store
from tests.support.store_bench import FaultyDisk

OFFSETS = '{\n\t"offsetTable":{\n\t\t"%RETRY%g1@g1":{0:7\n\t\t},\n\t\t"T{1:2,3:4}@g":{0:250,1:251, -2 :252\n\t\t}\n\t}\n}'


def test_bare_integer_keys_are_read_and_text_is_left_alone():
    assert parse_config(OFFSETS) == {"offsetTable": {"%RETRY%g1@g1": {"0": 7}, "T{1:2,3:4}@g": {"0": 250, "1": 251, "-2": 252}}}


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=8), _values, max_size=4))
def test_what_is_written_is_read_again(content):
    assert parse_config(format_config(content)) == content


def test_files_have_rocketmqs_look():
    content = {"dataVersion": {"timestamp": 2, "counter": 1}, "a": "值"}
    assert format_config(content) == '{\n\t"a":"值",\n\t"dataVersion":{\n\t\t"counter":1,\n\t\t"timestamp":2\n\t}\n}'


def test_the_former_content_becomes_the_backup(tmp_path):
    path = tmp_path / "config" / "topics.json"
    for number in range(3):
        save_config(path, {"version": number})
    assert load_config(path) == {"version": 2}
    assert parse_config(backup_path(path).read_text()) == {"version": 1}
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["topics.json", "topics.json.bak"]


@pytest.mark.parametrize("damage", ["missing", "empty", "cut off"])
def test_the_backup_stands_in_for_a_broken_file(tmp_path, damage):
    path = tmp_path / "topics.json"
    save_config(path, {"version": 1})
    save_config(path, {"version": 2})
    if damage == "missing":
        path.unlink()
    else:
        path.write_text("" if damage == "empty" else '{"version":')
    assert load_config(path) == {"version": 1}


def test_nothing_there_is_empty(tmp_path):
    assert load_config(tmp_path / "topics.json") == {}


def test_an_empty_file_without_backup_is_empty(tmp_path):
    (tmp_path / "topics.json").touch()
    assert load_config(tmp_path / "topics.json") == {}


def test_a_broken_backup_is_an_error_that_names_both(tmp_path):
    path = tmp_path / "topics.json"
    path.write_text("{")
    backup_path(path).write_text("[1]")
    with pytest.raises(CorruptStoreError, match=r"topics\.json: .*topics\.json\.bak: a configuration file holds an object"):
        load_config(path)


def test_a_full_disk_keeps_the_former_file(tmp_path):
    path = tmp_path / "topics.json"
    save_config(path, {"version": 1})
    disk = FaultyDisk()
    disk.write_error = errno.ENOSPC
    with pytest.raises(StoreFullError, match="its former content is kept"):
        save_config(path, {"version": 2}, disk)
    assert load_config(path) == {"version": 1}
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


@pytest.mark.parametrize("name", ["normal", "consume", "consume-5", "delay", "delay-5", "filter"])
def test_files_of_real_brokers_are_read(name, tmp_path):
    root = golden_store(name).unpack(tmp_path)
    for path in (root / "config").glob("*.json"):
        if path.stat().st_size:
            assert load_config(path)
    topics = load_config(root / "config" / "topics.json")["topicConfigTable"]
    assert "SELF_TEST_TOPIC" in topics


class Named:
    """An entry that counts how often it is brought to JSON."""

    def __init__(self, content):
        self.content, self.asked = content, 0

    def to_json(self):
        self.asked += 1
        return self.content


def test_a_table_of_entries_has_the_same_text_and_makes_that_of_new_ones_only():
    texts = EntryTexts()
    entries = {name: Named({"名": [1, {"b": "a\nb\t"}], "a": {}}) for name in ("z", "a", 'q"')}

    def text():
        return format_config({"version": {"counter": 1}, "table": EntryTable(entries, texts), "a": [2]})

    def expected():
        content = {"version": {"counter": 1}, "table": {name: entry.content for name, entry in entries.items()}, "a": [2]}
        return json.dumps(content, indent="\t", separators=(",", ":"), ensure_ascii=False, sort_keys=True)

    assert text() == expected()
    entries["z"] = Named({"n": 2})
    del entries["a"]
    entries["b"] = Named({})
    assert text() == expected()
    assert [entry.asked for entry in entries.values()] == [1, 1, 1]
    entries.clear()
    assert text() == expected()


def test_a_table_is_that_of_its_moment():
    entries = {"a": Named({"x": 1})}
    table = EntryTable(entries, EntryTexts())
    entries["b"] = Named({})
    assert parse_config(format_config({"table": table})) == {"table": {"a": {"x": 1}}}
