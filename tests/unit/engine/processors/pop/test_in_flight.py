from broker_core.engine.processors.pop.checkpoint import CheckpointKey, PopCheckpoint
from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.in_flight import SLICE, counting
from broker_core.engine.processors.pop.ledger import PopLedger
from broker_core.engine.processors.pop.order_info import OrderInfo, OrderRecord

QUEUE, OTHER = QueueOf("T", "CG", 0), QueueOf("T", "other", 1)


def popped(ledger, queue, start, *, pop_ms=100, invisible_ms=900, count=2):
    key = CheckpointKey(*queue, start, pop_ms)
    offsets = tuple(range(start, start + count))
    made = PopCheckpoint(key, invisible_ms, offsets, 0, due_ms=pop_ms + invisible_ms)
    ledger.add(made, 0)
    return made


def counted(ledger, orders=None, *, group="", now_ms=500):
    found = {}
    for _step in counting(found, ledger, orders or OrderInfo(), group=group, now_ms=now_ms):
        pass
    return {queue: (held.messages, held.next_due_ms, held.oldest_ms, held.in_order) for queue, held in found.items()}


def test_messages_of_several_pops_are_counted_with_the_first_due_time():
    ledger = PopLedger()
    popped(ledger, QUEUE, 0, pop_ms=100, invisible_ms=900)
    popped(ledger, QUEUE, 2, pop_ms=200, invisible_ms=300, count=3)
    assert counted(ledger) == {QUEUE: (5, 500, 100, False)}


def test_what_is_acknowledged_is_not_in_flight():
    ledger = PopLedger()
    one = popped(ledger, QUEUE, 0)
    one.mark(1)
    assert counted(ledger)[QUEUE][0] == 1
    one.mark(0)
    assert counted(ledger) == {}


def test_another_invisible_time_moves_the_due_time():
    ledger = PopLedger()
    ledger.schedule(popped(ledger, QUEUE, 0), 7_000)
    assert counted(ledger)[QUEUE][1] == 7_000


def test_one_group_is_counted_alone():
    ledger = PopLedger()
    popped(ledger, QUEUE, 0)
    popped(ledger, OTHER, 0)
    assert set(counted(ledger)) == {QUEUE, OTHER}
    assert set(counted(ledger, group="other")) == {OTHER}


def test_a_queue_in_order_counts_until_its_messages_are_visible_again():
    orders = OrderInfo()
    record = OrderRecord(pop_time_ms=100, invisible_ms=900, offsets=[5, 6, 7], attempt_id=None, last_consume_ms=100)
    orders.popped(QUEUE, record, 5)
    orders.ack(QUEUE, record, 5)
    orders.postpone(record, 7, 2_000)
    assert counted(PopLedger(), orders) == {QUEUE: (2, 1_000, 100, True)}
    assert counted(PopLedger(), orders, now_ms=1_000) == {QUEUE: (1, 2_000, 100, True)}
    assert counted(PopLedger(), orders, now_ms=2_000) == {}


def test_many_pops_are_counted_in_steps():
    ledger = PopLedger()
    for start in range(2 * SLICE + 1):
        popped(ledger, QUEUE, start * 10, count=1)
    found = {}
    after_each = [found[QUEUE].messages for _step in counting(found, ledger, OrderInfo(), group="CG", now_ms=0)]
    assert after_each == [SLICE, 2 * SLICE, 2 * SLICE + 1]
