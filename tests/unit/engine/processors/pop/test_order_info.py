import pytest

from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.order_info import OrderInfo, OrderRecord
from broker_core.errors import CodecError

QUEUE = QueueOf("popT1", "popG1o", 0)
# consumerOrderInfo.json as 5.3.3 wrote it.
REAL = {
    "table": {
        "popT1@popG1o": {
            "0": {"a": "a3", "cm": 0, "i": 4000, "l": 1795275996967, "o": [2, 1, 2], "oc": {"2": 1}, "popTime": 1795275996966}
        }
    }
}


def test_the_file_of_5_3_3_is_read_and_written():
    orders = OrderInfo()
    orders.load(REAL)
    record = orders.get(QUEUE, 2)
    assert (record.offsets, record.counts, record.attempt_id) == ([2, 3, 4], {2: 1}, "a3")
    assert record.blocked_until() == 1795275996966 + 4000
    assert orders.to_json() == REAL


@pytest.mark.parametrize(
    ("numbers", "offsets"),
    [
        pytest.param([7], [7], id="one"),
        pytest.param([7, 2], [7, 9], id="two"),
        pytest.param([7, 1, 2, 5], [7, 8, 9, 12], id="differences from the first"),
        pytest.param([7, 1, 1, 1], [7, 8, 9, 10], id="differences from the one before, of an older Orbit"),
    ],
)
def test_offsets_are_differences_from_the_first(numbers, offsets):
    entry = {"popTime": 1, "i": 2, "o": numbers}
    orders = OrderInfo()
    orders.load({"table": {"popT1@popG1o": {"0": entry}}})
    assert orders.get(QUEUE, numbers[0]).offsets == offsets
    written = orders.to_json()["table"]["popT1@popG1o"]["0"]["o"]
    assert written == [offsets[0], *(offset - offsets[0] for offset in offsets[1:])]


def test_changed_times_are_kept():
    orders = OrderInfo()
    orders.load(REAL)
    orders.postpone(orders.get(QUEUE, 2), 3, 99)
    again = OrderInfo()
    again.load(orders.to_json())
    assert again.get(QUEUE, 2).visible_at(3) == 99


def test_the_offset_moves_to_the_first_message_that_is_not_acked():
    orders = OrderInfo()
    record = OrderRecord(100, 10, [5, 6, 9], "a", 100)
    orders.popped(QUEUE, record, 5)
    for offset, following in ((6, 5), (5, 9), (9, 10)):
        assert record.next_after(offset) == following
        orders.ack(QUEUE, record, offset)
        assert record.next_offset == following
    assert orders.get(QUEUE, 10) is None


def test_an_offset_that_someone_else_moved_ends_the_record():
    orders = OrderInfo()
    orders.popped(QUEUE, OrderRecord(100, 10, [5, 6], "a", 100), 5)
    assert orders.get(QUEUE, 5) is not None
    assert orders.get(QUEUE, 0) is None


@pytest.mark.parametrize(("committed", "is_there"), [(0, True), (2, True), (3, False), (5, False)])
def test_a_pop_that_is_over_according_to_the_offset_blocks_nothing_after_a_kill(committed, is_there):
    orders = OrderInfo()
    orders.load(REAL)
    assert (orders.get(QUEUE, committed) is not None) == is_there


def test_queues_of_what_is_gone_are_forgotten():
    orders = OrderInfo()
    orders.load(REAL)
    orders.clean({("popT1", "popG1o")})
    assert orders.pairs() == {("popT1", "popG1o")}
    orders.clean(set())
    assert orders.to_json() == {"table": {}}


def test_more_acked_messages_than_bits_of_a_long_are_kept_and_rocketmq_can_read_the_entry():
    orders, queue = OrderInfo(), QueueOf("T", "g", 0)
    record = OrderRecord(1, 2, [5], None, 1, done=frozenset(range(6, 206)))
    orders.popped(queue, record, 5)
    record.done = frozenset(range(6, 206))
    entry = orders.to_json()["table"]["T@g"]["0"]
    assert len(entry["o"]) == 63
    assert 0 <= entry["cm"] < 1 << 63
    again = OrderInfo()
    again.load({"table": {"T@g": {"0": entry}}})
    ((_queue, found),) = again.records()
    assert (found.pending, found.next_after(5)) == ([5], 206)
    assert all(found.is_acked(offset) for offset in range(6, 206))
    assert again.to_json() == orders.to_json()


ENTRY = {"popTime": 1, "i": 2, "o": [5, 1], "cm": 1}


def test_bits_beyond_the_offsets_are_none():
    orders = OrderInfo()
    orders.load({"table": {"T@g": {"0": ENTRY | {"cm": -3}}}})  # RocketMQ's bits are a long
    assert orders.to_json()["table"]["T@g"]["0"]["cm"] == 1


@pytest.mark.parametrize(
    "entry",
    [
        {}, {"popTime": 1, "i": 2, "o": []}, {"popTime": 1, "i": 2, "o": ["x"]}, {"popTime": "x"}, 7,
        *(ENTRY | {"cm": bits} for bits in (True, 1.5, "", " 3", "٣", [1], 1 << 64)),
        ENTRY | {"popTime": True}, ENTRY | {"o": [0, 1.5]}, ENTRY | {"oc": {" 1": 1}}, ENTRY | {"ot": [1]}, ENTRY | {"l": None},
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_read_is_told(entry):
    with pytest.raises(CodecError):
        OrderInfo().load({"table": {"T@g": {"0": entry}}})
