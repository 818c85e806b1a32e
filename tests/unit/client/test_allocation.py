"""The worked examples of the specification, and that no queue is lost or taken twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.client.allocation import allocate_average, allocate_by_circle
from broker_core.remoting.json_body import MessageQueue


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


@given(st.sampled_from([allocate_average, allocate_by_circle]), st.integers(0, 40), st.integers(1, 12))
def test_every_queue_has_one_owner(strategy, queue_count, client_count):
    owned = [queue for share in shares(strategy, queue_count, client_count) for queue in share]
    assert sorted(owned) == list(range(queue_count))


@pytest.mark.parametrize("strategy", [allocate_average, allocate_by_circle])
def test_a_client_that_is_no_member_gets_nothing(strategy):
    assert strategy("stranger", queues(4), ["c0"]) == []
