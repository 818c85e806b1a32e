"""Which queue goes where, and what a topic must look like for it."""

from __future__ import annotations

import pytest

from broker_core.protocol.json_body import MessageQueue
from broker_core.tools.copying.mapping import TargetQueues, differences, matched, wanted_queues


def queues(topic="t", **counts):
    return [MessageQueue(topic, name, queue) for name in sorted(counts) for queue in range(counts[name])]


def settings(read, write=None, **more):
    return {"readQueueNums": read, "writeQueueNums": read if write is None else write, "perm": 6, **more}


@pytest.mark.parametrize(
    ("source", "target", "pairs"),
    [
        ({"a": 3}, {"x": 3}, [("x", 0), ("x", 1), ("x", 2)]),
        ({"a": 2}, {"x": 8}, [("x", 0), ("x", 1)]),
        ({"a": 2, "b": 2}, {"x": 4, "y": 4}, [("x", 0), ("x", 1), ("y", 0), ("y", 1)]),
        ({"a": 2, "b": 2}, {"x": 4}, [("x", 0), ("x", 1), ("x", 2), ("x", 3)]),
        ({"a": 3}, {"x": 2, "y": 2}, [("x", 0), ("x", 1), ("y", 0)]),
        ({"a": 3}, {"x": 2}, [("x", 0), ("x", 1), ("x", 0)]),
    ],
)
def test_queues_keep_their_number_where_there_is_one(source, target, pairs):
    found = matched(queues(**source), queues(**target))
    assert list(found) == queues(**source)
    assert [(queue.broker_name, queue.queue_id) for queue in found.values()] == pairs


@pytest.mark.parametrize(
    ("source", "brokers", "each"), [({"a": 4}, 1, 4), ({"a": 4, "b": 4}, 1, 8), ({"a": 5}, 2, 3), ({"a": 4, "b": 2}, 2, 4)]
)
def test_a_new_topic_has_a_queue_for_each_of_the_source(source, brokers, each):
    wanted = wanted_queues(settings(4), queues(**source), brokers=brokers, plain=False)
    assert (wanted["readQueueNums"], wanted["writeQueueNums"]) == (each, each)
    made = TargetQueues("t", {}, [f"x{number}" for number in range(brokers)]).created(wanted)
    assert len(set(matched(queues(**source), made).values())) == len(queues(**source))


def test_a_new_topic_can_be_written_and_a_plain_one_has_no_settings_of_the_brokers_own():
    config = settings(4, perm=4, order=True, attributes={"message.type": "FIFO"})
    wanted = wanted_queues(config, queues(a=4), brokers=1, plain=False)
    assert (wanted["perm"], wanted["order"], wanted["attributes"]) == (6, True, {"message.type": "FIFO"})
    plain = wanted_queues(config, queues(a=4), brokers=1, plain=True)
    assert (plain["perm"], plain["order"], plain["attributes"]) == (6, False, {})


def test_what_is_other_is_named_once_and_queues_are_never_taken_away():
    found = TargetQueues("t", {"x": settings(8), "y": settings(8)}, ["x", "y", "z"])
    wanted = wanted_queues(settings(4), queues(a=4), brokers=1, plain=False)
    assert differences(wanted, found) == ("queues to read: 8, not 4", "queues to write: 8, not 4", "not on z")
    assert found.enlarged(wanted)["readQueueNums"] == 8
    assert found.after_change(wanted) == queues(x=8, y=8)
    assert TargetQueues("t", {"x": settings(2, perm=4), "y": settings(2)}, ["x", "y"]).queues == queues(y=2)
    assert differences(wanted, TargetQueues("t", {"x": settings(4)}, ["x"])) == ()
