"""The worked examples of docs/spec/broker.md §7.3, and that no queue is lost or taken twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import UsageError
from broker_core.protocol.allocation import (
    allocate_average,
    allocate_by_circle,
    allocate_by_consistent_hash,
    allocate_by_machine_room,
    allocate_fixed,
    allocate_near,
    ring_hash,
)
from broker_core.protocol.json_body import MessageQueue


def queues(count):
    return [MessageQueue("T", "broker-a", number) for number in range(count)]


def shares(strategy, queue_count, client_count):
    clients = [f"c{number:02}" for number in range(client_count)]
    return [[queue.queue_id for queue in strategy(client, queues(queue_count), clients)] for client in clients]


@pytest.mark.parametrize(
    ("queue_count", "client_count", "average", "circle"),
    [
        (8, 3, [[0, 1, 2], [3, 4, 5], [6, 7]], [[0, 3, 6], [1, 4, 7], [2, 5]]),
        (5, 2, [[0, 1, 2], [3, 4]], [[0, 2, 4], [1, 3]]),
        (4, 6, [[0], [1], [2], [3], [], []], [[0], [1], [2], [3], [], []]),
        (
            16,
            5,
            [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]],
            [[0, 5, 10, 15], [1, 6, 11], [2, 7, 12], [3, 8, 13], [4, 9, 14]],
        ),
    ],
)
def test_queues_are_shared_as_other_clients_share_them(queue_count, client_count, average, circle):
    assert shares(allocate_average, queue_count, client_count) == average
    assert shares(allocate_by_circle, queue_count, client_count) == circle


def room_queues(count, room="r1"):
    return [MessageQueue("T", f"{room}@broker-a", number) for number in range(count)]


@pytest.mark.parametrize(
    ("queue_count", "client_count", "expected"),
    [
        (8, 3, [[0, 1, 6], [2, 3, 7], [4, 5]]),
        (5, 2, [[0, 1, 4], [2, 3]]),
        (16, 5, [[0, 1, 2, 15], [3, 4, 5], [6, 7, 8], [9, 10, 11], [12, 13, 14]]),
        (4, 6, [[0], [1], [2], [3], [], []]),
    ],
)
def test_machine_room_examples(queue_count, client_count, expected):
    strategy = allocate_by_machine_room(["r1"])
    others = [MessageQueue("T", "r2@broker-b", 0), MessageQueue("T", "broker-c", 0), MessageQueue("T", "a@r1@b", 0)]
    clients = [f"c{number:02}" for number in range(client_count)]
    queues = sorted(room_queues(queue_count) + others)
    assert [[queue.queue_id for queue in strategy(client, queues, clients)] for client in clients] == expected


def test_fixed_queues_are_those_given_that_exist():
    mine = [queues(4)[2], MessageQueue("T", "elsewhere", 0)]
    assert allocate_fixed(mine)("c", queues(4), ["c", "d"]) == [queues(4)[2]]
    assert allocate_fixed(mine)("x", queues(4), ["c", "d"]) == []


def near(client, client_ids, all_queues):
    strategy = allocate_near(
        allocate_average, room_of_queue=lambda queue: queue.broker_name.split("@")[0], room_of_client=lambda item: item[:2]
    )
    return [(queue.broker_name[:2], queue.queue_id) for queue in strategy(client, all_queues, client_ids)]


def test_queues_stay_in_their_room_and_those_of_empty_rooms_go_to_all():
    clients = ["r1-a", "r1-b", "r2-a"]
    all_queues = sorted(room_queues(4, "r1") + room_queues(2, "r2") + room_queues(3, "r3"))
    assert near("r1-a", clients, all_queues) == [("r1", 0), ("r1", 1), ("r3", 0)]
    assert near("r1-b", clients, all_queues) == [("r1", 2), ("r1", 3), ("r3", 1)]
    assert near("r2-a", clients, all_queues) == [("r2", 0), ("r2", 1), ("r3", 2)]
    assert near("r9-x", clients, all_queues) == []


def test_a_queue_or_client_without_a_room_is_an_error():
    strategy = allocate_near(allocate_average, room_of_queue=lambda _: None, room_of_client=lambda _: "r")
    with pytest.raises(UsageError, match="is in no machine room"):
        strategy("c", queues(1), ["c"])


RING_CLIENTS = ["10.0.0.1@1", "10.0.0.2@2", "10.0.0.3@3"]


def test_the_hash_vector():
    assert ring_hash("10.0.0.1@1-0") == 2998294157
    hashes = [1987926524, 4291349817, 853506239, 3652785994, 3819253357, 3264541832, 2650622136, 4171190878]
    texts = [f"MessageQueue [topic=TopicTest, brokerName=broker-a, queueId={number}]" for number in range(8)]
    assert [ring_hash(text) for text in texts] == hashes
    strategy = allocate_by_consistent_hash()
    all_queues = [MessageQueue("TopicTest", "broker-a", number) for number in range(8)]
    owned = [[queue.queue_id for queue in strategy(client, all_queues, RING_CLIENTS)] for client in RING_CLIENTS]
    assert owned == [[1, 2, 4, 5, 7], [], [0, 3, 6]]


def test_a_ring_needs_places():
    with pytest.raises(UsageError, match="at least 1 place"):
        allocate_by_consistent_hash(0)


STRATEGIES = [
    allocate_average,
    allocate_by_circle,
    allocate_by_machine_room(["r1"]),
    allocate_by_consistent_hash(),
    allocate_near(allocate_average, room_of_queue=lambda _: "r1", room_of_client=lambda _: "r1"),
]


@given(st.sampled_from(STRATEGIES), st.integers(0, 40), st.integers(1, 12))
def test_every_queue_has_one_owner(strategy, queue_count, client_count):
    clients = [f"c{number:02}" for number in range(client_count)]
    owned = [queue for client in clients for queue in strategy(client, room_queues(queue_count), clients)]
    assert sorted(owned) == room_queues(queue_count)
    assert strategy("stranger", room_queues(queue_count), clients) == []
