from hypothesis import given
from hypothesis import strategies as st

from broker_core.client.process_queue import ProcessQueue
from broker_core.config import ClientConfig
from broker_core.protocol.json_body import MessageQueue
from tests.unit.client.test_message import received


def message(offset, size=1):
    item = received(b"x" * size)
    object.__setattr__(item.stored, "queue_offset", offset)
    return item


def filled(*offsets, next_offset):
    queue = ProcessQueue(MessageQueue("T", "b", 0), 0)
    items = [message(offset) for offset in offsets]
    queue.add(items, next_offset)
    return queue, items


def test_the_lowest_message_left_holds_the_offset():
    queue, items = filled(3, 4, 6, next_offset=9)
    assert queue.committable_offset == 3
    queue.remove(items[1:2])
    assert queue.committable_offset == 3
    queue.remove(items[:1])
    assert queue.committable_offset == 6
    queue.remove(items)
    assert (queue.committable_offset, len(queue)) == (9, 0)


def test_filtered_messages_move_the_offset_of_an_empty_queue():
    queue, _ = filled(next_offset=50)
    assert queue.committable_offset == 50


def test_each_bound_stops_fetching():
    queue, items = filled(0, 1, 2, next_offset=3)
    size = items[0].stored.store_size
    assert queue.has_room(ClientConfig(queue_messages_max=4, queue_bytes_max=3 * size + 1, queue_span_max=4))
    assert not queue.has_room(ClientConfig(queue_messages_max=3))
    assert not queue.has_room(ClientConfig(queue_bytes_max=3 * size))
    assert not queue.has_room(ClientConfig(queue_span_max=3))
    queue.remove(items[:1])
    assert queue.has_room(ClientConfig(queue_messages_max=3, queue_bytes_max=3 * size, queue_span_max=3))


@given(st.permutations(range(20)))
def test_whatever_the_order_of_consumption_no_unconsumed_message_is_passed(order):
    queue, items = filled(*range(20), next_offset=20)
    left = set(range(20))
    for number in order:
        queue.remove([items[number]])
        left.discard(number)
        assert queue.committable_offset == min(left, default=20)
    assert queue.has_room(ClientConfig(queue_bytes_max=1))
