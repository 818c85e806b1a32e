from __future__ import annotations

import pytest

from broker_core.engine.store.paths import StorePaths, is_topic_name, offset_files, offset_name, queue_directories


def test_offsets_are_twenty_digits():
    assert offset_name(1 << 30) == "00000000001073741824"


@pytest.mark.parametrize("topic", ["Orders", "%RETRY%g_1", "%DLQ%g-2", "a|b", "t" * 255])
def test_topic_names_become_directories(topic):
    assert is_topic_name(topic)


@pytest.mark.parametrize("topic", ["", ".", "..", "a/b", "a\0b", "a b", "订单", "t" * 256, "a\n"])
def test_other_names_do_not(topic):
    assert not is_topic_name(topic)


def test_queue_directories_are_those_with_a_number(tmp_path):
    paths = StorePaths(tmp_path)
    for name in ("B/10", "B/9", "B/x", "A/0", "A/-1"):
        (paths.consume_queue / name).mkdir(parents=True)
    (paths.consume_queue / "CURRENT").touch()
    found = queue_directories(paths.consume_queue)
    assert [(topic, queue_id) for topic, queue_id, _ in found] == [("A", 0), ("B", 9), ("B", 10)]
    assert found[0][2] == paths.queue("A", 0)


def test_missing_directories_are_empty(tmp_path):
    assert offset_files(tmp_path / "nowhere") == []
    assert queue_directories(tmp_path / "nowhere") == []
