from __future__ import annotations

import pytest

from broker_core.engine.store.results import PutStatus
from broker_core.protocol.message.record import decode_record
from tests.support.store_bench import NO_SPACE, message
from tests.support.store_check import log_records


def dispatched(names: str, more: str = "") -> bytes:
    return f"TAGS\x01TagA\x02INNER_MULTI_DISPATCH\x01{names}{more}".encode()


def bodies(store, topic, queue_id=0):
    found = []
    for offset in range(store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)):
        found += [decode_record(record).body for record in store.get_messages(topic, queue_id, offset, 1).records]
    return found


@pytest.fixture
def store(bench):
    return bench.open(multi_dispatch=True, lmq=True)


def put(store, names, body=b"x", more="", **changes):
    return store.put(message(body, properties=dispatched(names, more), **changes))


@pytest.mark.parametrize("crashed", [False, True])
def test_a_message_enters_every_queue_it_names(bench, store, crashed):
    for number in range(60):
        names = ["%LMQ%a", "%LMQ%a,%LMQ%b", "Other"][number % 3]
        assert put(store, names, b"%d" % number, queue_id=number % 2).status is PutStatus.PUT_OK
    if crashed:
        bench.crash(store)
    else:
        store.close()
    with bench.open(multi_dispatch=True) as again:
        assert bodies(again, "%LMQ%a") == [b"%d" % number for number in range(60) if number % 3 < 2]
        assert bodies(again, "%LMQ%b") == [b"%d" % number for number in range(60) if number % 3 == 1]
        assert bodies(again, "Other", 0) == [b"%d" % number for number in range(60) if number % 6 == 2]
        assert bodies(again, "Other", 1) == [b"%d" % number for number in range(60) if number % 6 == 5]
        assert len(bodies(again, "Orders", 0)) == len(bodies(again, "Orders", 1)) == 30


def test_the_record_tells_its_offsets_in_the_further_queues_and_waits_for_nothing(bench, store):
    put(store, "%LMQ%a")
    result = put(store, "%LMQ%a,%LMQ%b", more="\x02WAIT\x01true\x02INNER_MULTI_QUEUE_OFFSET\x0177\x02K\x01v")
    stored = decode_record(store.record_at(result.physical_offset))
    assert stored.properties_bytes == dispatched("%LMQ%a,%LMQ%b", "\x02K\x01v\x02INNER_MULTI_QUEUE_OFFSET\x011,0")


def test_a_queue_that_is_named_twice_or_is_its_own_gets_the_message_once(store):
    put(store, "%LMQ%a,%LMQ%a,Orders")
    assert [store.max_offset(topic, 0) for topic in ("%LMQ%a", "Orders")] == [1, 1]


def test_arrivals_in_all_queues_are_told(store):
    told = []
    store.add_arrival_listener(lambda arrival: told.append((arrival.topic, arrival.queue_id, arrival.queue_offset)))
    put(store, "%LMQ%a,Other", queue_id=3)
    assert told == [("Orders", 3, 0), ("%LMQ%a", 0, 0), ("Other", 3, 0)]


@pytest.mark.parametrize("names", ["../x", "%LMQ%a,", "a/b", "a" * 300])
def test_a_name_that_cannot_be_a_queue_is_refused(bench, store, names):
    assert put(store, names).status is PutStatus.MESSAGE_ILLEGAL
    assert list(log_records(bench.root)) == []


def test_no_more_light_queues_than_allowed(bench):
    store = bench.open(multi_dispatch=True, lmq_queues_max=2)
    assert put(store, "%LMQ%a,%LMQ%b").status is PutStatus.PUT_OK
    assert put(store, "%LMQ%b,%LMQ%c").status is PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED
    assert put(store, "%LMQ%a").status is PutStatus.PUT_OK
    assert ("%LMQ%c", 0) not in store.queues()


@pytest.mark.parametrize("topic", ["%RETRY%group", "SCHEDULE_TOPIC_XXXX"])
def test_copies_on_their_way_are_not_dispatched(store, topic):
    put(store, "%LMQ%a", topic=topic)
    assert store.queues() == [(topic, 0)]


def test_properties_that_become_too_long_are_refused(bench):
    store = bench.open(multi_dispatch=True, commit_log_file_bytes=1 << 20)
    filling = "\x02K\x01" + "v" * (32_767 - len(dispatched("%LMQ%a")) - 3)
    assert put(store, "%LMQ%a", more=filling).status is PutStatus.PROPERTIES_SIZE_EXCEEDED


def test_half_messages_enter_no_queue(store):
    assert put(store, "%LMQ%a", sys_flag=0x4).status is PutStatus.PUT_OK
    assert store.queues() == []


def test_a_full_disk_refuses_and_changes_nothing(bench, store):
    bench.disk.allocate_error = NO_SPACE
    assert put(store, "%LMQ%a").status is PutStatus.SERVICE_NOT_AVAILABLE
    bench.disk.allocate_error = 0
    assert put(store, "%LMQ%a").status is PutStatus.PUT_OK
    assert store.write_refusal == ""
    assert bodies(store, "%LMQ%a") == [b"x"]


def test_a_store_opened_read_only_refuses(bench, store):
    put(store, "%LMQ%a")
    store.close()
    with bench.open(read_only=True, multi_dispatch=True) as reader:
        assert put(reader, "%LMQ%a").status is PutStatus.SERVICE_NOT_AVAILABLE
        assert bodies(reader, "%LMQ%a") == [b"x"]
