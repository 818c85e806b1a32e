import pytest

from broker_core.engine.tables.consumer_offsets import ConsumerOffsets
from broker_core.errors import CodecError


@pytest.fixture
def offsets():
    made = ConsumerOffsets()
    for group, topic, queue_id, offset in (("G", "T", 0, 5), ("G", "T", 10, 7), ("G", "U", 2, 1), ("H", "T", 0, 9)):
        made.commit(group, topic, queue_id, offset)
    return made


def test_offsets_by_group_and_topic(offsets):
    assert (offsets.get("G", "T", 10), offsets.get("G", "T", 3), offsets.get("X", "T", 0)) == (7, -1, -1)
    assert (offsets.topics_of("G"), offsets.groups_of("T"), offsets.groups()) == (["T", "U"], ["G", "H"], {"G", "H"})
    assert offsets.items() == [("T", "G", {0: 5, 10: 7}), ("U", "G", {2: 1}), ("T", "H", {0: 9})]


def test_a_commit_of_the_same_offset_is_no_change(offsets):
    before = offsets.changes
    offsets.commit("G", "T", 0, 5)
    assert offsets.changes == before
    offsets.commit("G", "T", 0, 4)
    assert (offsets.changes, offsets.get("G", "T", 0)) == (before + 1, 4)


def test_what_is_saved_loads_again(offsets):
    loaded = ConsumerOffsets()
    loaded.load(offsets.to_json())
    assert sorted(loaded.items()) == sorted(offsets.items())


def test_groups_and_topics_are_forgotten(offsets):
    offsets.remove_group("G")
    assert offsets.items() == [("T", "H", {0: 9})]
    offsets.remove_topic("T")
    assert offsets.items() == []


def test_a_broken_file_is_named():
    with pytest.raises(CodecError, match="T@G"):
        ConsumerOffsets().load({"offsetTable": {"T@G": {"0": "x"}}})
