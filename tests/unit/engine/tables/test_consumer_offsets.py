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


def revive_offsets(value):
    loaded = ConsumerOffsets()
    loaded.load(value)
    return {queue_id: loaded.get("CID_RMQ_SYS_REVIVE_GROUP", "revive", queue_id) for queue_id in range(3)}


def test_a_file_of_an_older_orbit_has_the_next_offset_of_the_revive_group():
    table = {"revive@CID_RMQ_SYS_REVIVE_GROUP": {"0": 7, "1": 1, "2": 0}, "T@G": {"0": 5}}
    assert revive_offsets({"offsetTable": table}) == {0: 6, 1: 0, 2: -1}
    loaded = ConsumerOffsets()
    loaded.load({"offsetTable": table})
    assert loaded.get("G", "T", 0) == 5
    assert revive_offsets(loaded.to_json()) == {0: 6, 1: 0, 2: -1}, "one is taken off once"


def test_a_file_with_a_version_has_the_last_finished_offset_of_the_revive_group():
    # As 5.3.3 wrote it.
    value = {
        "dataVersion": {"counter": 3, "stateVersion": 2, "timestamp": 1795259747909},
        "groupTopicMap": {"CID_RMQ_SYS_REVIVE_GROUP": ["revive"]},
        "offsetTable": {"revive@CID_RMQ_SYS_REVIVE_GROUP": {0: 21, 1: 0}},
    }
    assert revive_offsets(value) == {0: 21, 1: 0, 2: -1}


def test_the_version_grows_with_every_change():
    loaded = ConsumerOffsets()
    loaded.load({"dataVersion": {"counter": 3, "stateVersion": 2, "timestamp": 10}, "offsetTable": {"T@G": {"0": 5}}})
    loaded.commit("G", "T", 0, 6)
    assert loaded.to_json() == {
        "dataVersion": {"counter": 4, "stateVersion": 2, "timestamp": 10},
        "offsetTable": {"T@G": {"0": 6}},
    }


def test_groups_and_topics_are_forgotten(offsets):
    offsets.remove_group("G")
    assert offsets.items() == [("T", "H", {0: 9})]
    offsets.remove_topic("T")
    assert offsets.items() == []


def test_a_broken_file_is_named():
    with pytest.raises(CodecError, match="T@G"):
        ConsumerOffsets().load({"offsetTable": {"T@G": {"0": "x"}}})
