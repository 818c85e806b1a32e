from __future__ import annotations

import errno
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.store.config_file import ConfigFile, EntryTable, EntryTexts, format_config, parse_config, whole_number
from broker_core.errors import CodecError, StoreFullError
from broker_core.kept_file import backup_path
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


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ('"-7"', -7), ("7.0", 7), ("-3e2", -300), ("9007199254740992.0", 2**53)]
)
def test_whole_numbers_are_read_as_rocketmq_reads_them(text, number):
    assert whole_number(json.loads(text), "it") == number


@pytest.mark.parametrize("text", ["7.5", '"7.0"', "1e300", "true", "null", "9223372036854775808", "18014398509481984.0"])
def test_what_is_no_whole_number_of_64_bits_is_refused(text):
    with pytest.raises(CodecError, match="it should be a whole number"):
        whole_number(json.loads(text), "it")


@pytest.mark.parametrize("text", ['{"offsetTable":{},"offsetTable":{}}', '{"offsetTable":{"T@g":{0:1,"0":2}}}'])
def test_a_member_that_is_there_twice_is_refused_with_what_to_do(text):
    """Real brokers take one of the two, not all the same one, and lose what the other says."""
    with pytest.raises(ValueError, match=r"is there twice, and versions of RocketMQ .*: remove the one that is wrong"):
        parse_config(text)


@pytest.mark.parametrize("end", ["", "\\", "\\\n"])
def test_a_text_without_an_end_is_looked_for_once(end):
    """At each of its quotes it would take hours."""
    with pytest.raises(ValueError, match="line 1"):
        parse_config('{1:"' + '\\"' * 500_000 + end)


def test_a_lone_surrogate_is_written_as_it_was_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(r'{"\ud800@g":"a\udfffb","值":"😀"}', encoding="utf-8")
    content = ConfigFile(path).look().value
    assert content == {"\ud800@g": "a\udfffb", "值": "😀"}
    ConfigFile(path).save(content)
    assert ConfigFile(path).look().value == content


def test_files_have_rocketmqs_look():
    content = {"dataVersion": {"timestamp": 2, "counter": 1}, "a": "值"}
    assert format_config(content) == '{\n\t"a":"值",\n\t"dataVersion":{\n\t\t"counter":1,\n\t\t"timestamp":2\n\t}\n}'


def test_the_former_content_becomes_the_backup(tmp_path):
    file = ConfigFile(tmp_path / "config" / "topics.json")
    for number in range(3):
        file.save({"version": number})
    assert file.look().value == {"version": 2}
    assert parse_config(backup_path(file.path).read_text()) == {"version": 1}
    assert sorted(entry.name for entry in file.path.parent.iterdir()) == ["topics.json", "topics.json.bak"]


def test_a_full_disk_keeps_the_former_file(tmp_path):
    disk = FaultyDisk()
    file = ConfigFile(tmp_path / "topics.json", disk)
    file.save({"version": 1})
    disk.write_error = errno.ENOSPC
    with pytest.raises(StoreFullError, match="its former content is kept"):
        file.save({"version": 2})
    assert file.look().value == {"version": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["topics.json"]


@pytest.mark.parametrize("name", ["normal", "consume", "consume-5", "delay", "delay-5", "filter"])
def test_files_of_real_brokers_are_read(name, tmp_path):
    root = golden_store(name).unpack(tmp_path)
    for path in (root / "config").glob("*.json"):
        assert ConfigFile(path).look().faults == {}
    content = ConfigFile(root / "config" / "topics.json").look().value
    assert content is not None
    assert "SELF_TEST_TOPIC" in content["topicConfigTable"]


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
