"""Folders of topics on disks that ignore case or reserve characters."""

from __future__ import annotations

import pytest

from broker_core.engine.store.inspection.verify import Verification
from broker_core.engine.store.paths import StorePaths, queue_directories, topic_folders
from broker_core.engine.store.results import GetStatus, PutStatus
from broker_core.engine.store.topic_folders import TopicFolders
from broker_core.platform import file_names
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.record import decode_record
from tests.support.store_bench import message

TOPICS = ("Orders", "orders", "ORDERS", "a|b", "CON", "%RETRY%Group", "%RETRY%group")


@pytest.fixture
def like_windows(monkeypatch):
    monkeypatch.setattr(file_names, "is_reserved", file_names.plain_is_reserved)
    monkeypatch.setattr(file_names, "ignores_case", file_names.plain_ignores_case)


def folders_of(bench) -> dict[str, str]:
    return {topic: folder.name for topic, folder in topic_folders(StorePaths(bench.root).consume_queue).items()}


def test_a_topic_has_the_folder_of_its_name(tmp_path):
    folders = TopicFolders(tmp_path / "orbit.owner")
    assert [folders.of(topic) for topic in TOPICS] == list(TOPICS)


def test_topics_that_differ_by_case_have_folders_that_differ_by_more(tmp_path, like_windows):
    folders = TopicFolders(tmp_path / "orbit.owner")
    found = [folders.of(topic) for topic in TOPICS]
    assert found[:3] == ["Orders", "~6Frders", "~4FRDERS"]
    assert len({name.casefold() for name in found}) == len(TOPICS)
    assert [file_names.decoded(name) for name in found] == list(TOPICS)
    assert [folders.of(topic) for topic in TOPICS] == found


def test_folders_that_are_there_keep_their_names(tmp_path, like_windows):
    folders = TopicFolders(tmp_path / "orbit.owner", ["orders", "~4Frders"])
    assert folders.of("Orders") == "~4Frders"
    assert folders.of("orders") == "orders"


def test_case_is_tried_only_for_topics_that_differ_by_it(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(file_names, "ignores_case", lambda known: asked.append(known) or False)
    folders = TopicFolders(tmp_path / "orbit.owner")
    folders.of("Orders")
    assert asked == []
    assert folders.of("orders") == "orders"
    assert folders.of("ORDERS") == "ORDERS"
    assert asked == [tmp_path / "orbit.owner"]


def test_a_store_keeps_the_messages_of_all_of_them_apart(bench, like_windows):
    store = bench.open()
    for number, topic in enumerate(TOPICS):
        assert store.put(message(f"{number}".encode(), topic=topic)).status is PutStatus.PUT_OK
    store.close()
    assert len({name.casefold() for name in folders_of(bench).values()}) == len(TOPICS)
    assert set(folders_of(bench)) == set(TOPICS)
    check = Verification(bench.root, DelayLevels("1s"))
    assert [str(finding) for finding in check.findings()] == []
    store = bench.open()
    for number, topic in enumerate(TOPICS):
        found = store.get_messages(topic, 0, 0, 32)
        assert found.status is GetStatus.FOUND
        assert [decode_record(record, check_crc=True).body for record in found.records] == [f"{number}".encode()]


def test_a_store_of_such_a_disk_is_read_on_this_one(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(file_names, "is_reserved", file_names.plain_is_reserved)
        patch.setattr(file_names, "ignores_case", file_names.plain_ignores_case)
        store = bench.open()
        for topic in TOPICS:
            store.put(message(b"first", topic=topic))
        store.close()
    before = folders_of(bench)
    store = bench.open()
    for topic in TOPICS:
        assert store.put(message(b"second", topic=topic)).queue_offset == 1
    store.close()
    assert folders_of(bench) == before


def test_the_plain_name_counts_where_a_topic_has_two_folders(tmp_path):
    for name in ("orders/0", "~6Frders/0", "~6Frders/1"):
        (tmp_path / name).mkdir(parents=True)
    assert topic_folders(tmp_path) == {"orders": tmp_path / "orders"}
    assert queue_directories(tmp_path) == [("orders", 0, tmp_path / "orders" / "0")]
