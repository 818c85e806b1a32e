"""What is out survives a kill, whoever takes the store over."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import REVIVE_GROUP
from tests.support.pop_bench import pop_bench, restart

REVIVE_TOPIC = "rmq_sys_REVIVE_LOG_DefaultCluster"


@pytest.fixture
def bench(tmp_path):
    with pop_bench(tmp_path / "store") as made:
        yield made


def revive_records(bench, queue=0):
    found = bench.state.store.get_messages(REVIVE_TOPIC, queue, 0, 32).records
    return [decode_record(record) for record in found]


def test_records_have_the_form_of_5_3_3(bench):
    for number in range(3):
        bench.put("T", 0, b"%d" % number)
    messages = bench.pop()
    now = bench.clock()
    bench.ack(messages[1])
    checkpoint, ack = revive_records(bench)
    assert checkpoint.body == (
        b'{"bm":0,"bn":"broker-a","c":"CG","d":[0,1,2],"it":10000,"n":3,"pt":%d,"q":0,"reviveTime":%d,"ro":0,"so":0,"t":"T"}'
        % (now, now + 10_000)
    )
    assert checkpoint.properties["UNIQ_KEY"] == f"T@0@0@CG@{now}@broker-a@ck"
    assert (checkpoint.properties["TAGS"], checkpoint.properties["TIMER_DELIVER_MS"]) == ("ck", str(now))
    assert ack.body == b'{"ao":1,"bn":"broker-a","c":"CG","pt":%d,"q":0,"so":0,"t":"T"}' % now
    assert (ack.properties["TAGS"], ack.properties["UNIQ_KEY"]) == ("ack", f"T@0@1@CG@{now}@broker-a@ack")


def test_a_killed_broker_knows_again_what_was_out_and_what_was_acked(bench):
    for number in range(4):
        bench.put("T", 0, b"%d" % number)
    messages = bench.pop()
    bench.ack(messages[0])
    bench.ack(messages[2])
    bench.state.store.flush()
    again = restart(bench)
    assert again.bodies() == []
    again.ack(messages[3])
    again.pass_time(10_000)
    assert again.bodies() == [b"1"]


def test_what_came_again_does_not_come_once_more_after_a_kill(bench):
    bench.put("T", 0, b"one")
    bench.pop()
    bench.state.store.flush()
    bench.pass_time(10_000)
    bench.state.store.flush()
    again = restart(bench)
    again.pass_time(60_000)
    assert again.bodies() == [b"one"]
    assert again.bodies() == []


def test_a_written_offset_never_passes_a_checkpoint_that_is_not_on_the_disk(bench):
    bench.put("T", 0, b"zero")
    bench.state.store.flush()
    bench.pop()
    outstanding = bench.dispatcher.pop.outstanding
    assert bench.state.offsets.get("CG", "T", 0) == 1
    assert outstanding.offsets_to_write(bench.state.offsets)["offsetTable"]["T@CG"]["0"] == 0
    bench.state.store.flush()
    assert outstanding.offsets_to_write(bench.state.offsets)["offsetTable"]["T@CG"]["0"] == 1


def test_the_revive_group_follows_what_is_done_with_once_that_is_on_the_disk(bench):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    bench.ack(message)
    bench.pass_time(1_000)
    assert bench.state.offsets.get(REVIVE_GROUP, REVIVE_TOPIC, 0) == -1
    bench.state.store.flush()
    bench.pass_time(1_000)
    # Checkpoint and ack are 0 and 1. RocketMQ reads on from 2.
    assert bench.state.offsets.get(REVIVE_GROUP, REVIVE_TOPIC, 0) == 1


def one_queue(root):
    return pop_bench(root, revive_queue_count=1)


def finished(bench):
    bench.state.store.flush()
    bench.pass_time(1_000)
    return bench.state.offsets.get(REVIVE_GROUP, REVIVE_TOPIC, 0)


def test_the_offset_is_that_of_the_last_record_before_the_first_pending_checkpoint(tmp_path):
    with one_queue(tmp_path / "store") as bench:
        for number in range(3):
            bench.put("T", 0, b"%d" % number)
        (first,) = bench.pop(maxMsgNums=1)
        assert finished(bench) == -1, "RocketMQ reads from 0"
        bench.ack(first)
        bench.pop(maxMsgNums=1, invisibleTime=600_000)
        (third,) = bench.pop(maxMsgNums=1)
        bench.ack(third)
        assert [record.properties["TAGS"] for record in revive_records(bench)] == ["ck", "ack", "ck", "ck", "ack"]
        assert finished(bench) == 1


def test_the_last_checkpoint_that_rocketmq_finished_is_not_revived_again(tmp_path):
    with one_queue(tmp_path / "store") as bench:
        for number in range(2):
            bench.put("T", 0, b"%d" % number)
        for _message in range(2):
            bench.pop(maxMsgNums=1)
        bench.state.store.flush()
        # RocketMQ revived the first, and wrote no ack for it.
        kept = bench.state.offsets.to_json()
        kept["offsetTable"][f"{REVIVE_TOPIC}@{REVIVE_GROUP}"] = {"0": 0}
        again = restart(bench, kept)
        again.pass_time(60_000)
        assert again.bodies() == [b"1"]


def test_the_next_offset_that_an_older_orbit_wrote_loses_no_pending_checkpoint(tmp_path):
    with one_queue(tmp_path / "store") as bench:
        for number in range(2):
            bench.put("T", 0, b"%d" % number)
        (first,) = bench.pop(maxMsgNums=1)
        bench.ack(first)
        bench.pop(maxMsgNums=1)
        bench.state.store.flush()
        kept = {"offsetTable": {"T@CG": {"0": 2}, f"{REVIVE_TOPIC}@{REVIVE_GROUP}": {"0": 2}}}
        again = restart(bench, kept)
        assert finished(again) == 1
        again.pass_time(60_000)
        assert again.bodies() == [b"1"]


def test_a_checkpoint_that_stays_out_long_is_written_again_at_the_end(bench, monkeypatch):
    monkeypatch.setattr("broker_core.engine.processors.pop.revive_log.REWRITE_BEHIND", 4)
    bench.put("T", 0, b"long")
    (long,) = bench.pop(invisibleTime=600_000)
    for number in range(80):
        bench.put("T", 0, b"%d" % number)
        (message,) = bench.pop()
        bench.ack(message)
    bench.state.store.flush()
    bench.pass_time(1_000)
    bench.state.store.flush()
    bench.pass_time(1_000)
    first_needed = bench.state.offsets.get(REVIVE_GROUP, REVIVE_TOPIC, long.handle.revive_queue)
    assert first_needed > 10
    again = restart(bench)
    again.pass_time(600_000)
    assert again.bodies() == [b"long"]


@contextmanager
def with_offset(folder):
    """A bench whose pops are buffered, where the group has an offset: its first pop of a queue would be written at once."""
    with pop_bench(folder / "store", pop_buffer_merge=True) as bench:
        bench.state.offsets.commit("CG", "T", 0, 0)
        yield bench


def test_buffered_pops_that_are_acked_leave_nothing_in_the_log(tmp_path):
    with with_offset(tmp_path) as bench:
        for number in range(3):
            bench.put("T", 0, b"%d" % number)
        messages = bench.pop(invisibleTime=60_000)
        for message in messages[:2]:
            bench.ack(message)
        assert revive_records(bench) == []
        outstanding = bench.dispatcher.pop.outstanding
        bench.state.store.flush()
        assert outstanding.offsets_to_write(bench.state.offsets)["offsetTable"]["T@CG"]["0"] == 0
        bench.ack(messages[2])
        bench.pass_time(60_000)
        assert revive_records(bench) == []
        assert outstanding.offsets_to_write(bench.state.offsets)["offsetTable"]["T@CG"]["0"] == 3


def test_buffered_pops_are_written_in_time_with_the_acks_so_far(tmp_path):
    with with_offset(tmp_path) as bench:
        for number in range(3):
            bench.put("T", 0, b"%d" % number)
        messages = bench.pop(invisibleTime=60_000)
        bench.ack(messages[0])
        bench.pass_time(10_000)
        (checkpoint,) = revive_records(bench)
        assert json.loads(checkpoint.body)["bm"] == 1
        bench.state.store.flush()
        again = restart(bench)
        again.pass_time(50_000)
        assert again.bodies() == [b"1", b"2"]


def test_a_killed_broker_gives_buffered_pops_out_again(tmp_path):
    with with_offset(tmp_path) as bench:
        bench.put("T", 0, b"one")
        bench.pop(invisibleTime=60_000)
        bench.state.store.flush()
        assert restart(bench).bodies() == [b"one"]


@pytest.mark.parametrize("first", [0, 5])
def test_a_kill_before_the_first_offset_is_written_loses_no_buffered_pop(tmp_path, first):
    with pop_bench(tmp_path / "store", pop_buffer_merge=True) as bench:
        for number in range(first + 2):
            bench.put("T", 0, b"%d" % number)
        if first:
            bench.state.offsets.commit("CG", "T", 0, first)
        _, last = bench.pop(invisibleTime=4_000)
        bench.postpone(last, 0)
        bench.state.store.flush()
        again = restart(bench, {"offsetTable": {"T@CG": {"0": first}} if first else {}})
        again.pass_time(5_000)
        assert {b"%d" % first, b"%d" % (first + 1)} == {*again.bodies()}


def test_a_changed_time_is_written_where_the_pop_was(tmp_path):
    with pop_bench(tmp_path / "store", pop_buffer_merge=True) as bench:
        bench.put("T", 0, b"one")
        (message,) = bench.pop(invisibleTime=2_000)
        bench.state.store.flush()
        offsets = bench.dispatcher.pop.outstanding.offsets_to_write(bench.state.offsets)
        assert offsets["offsetTable"]["T@CG"]["0"] == 1
        bench.postpone(message, 60_000)
        again = restart(bench, offsets)
        again.pass_time(60_001)  # counted from the change, which is later than the pop by a millisecond at least
        assert again.bodies() == [b"one"]


def foreign(bench, tag, body, *, enqueued=True):
    """A record as RocketMQ's timer delivers it."""
    properties = {"TAGS": tag, "TIMER_DELIVER_MS": str(bench.clock())}
    if enqueued:
        properties["TIMER_ENQUEUE_MS"] = "1"
    host = HostAddress.parse("127.0.0.1:10911")
    text = json.dumps(body).encode() if isinstance(body, dict) else body
    bench.state.store.put(
        MessageToStore(REVIVE_TOPIC, 3, 0, 0, bench.clock(), host, host, 0, 0, text, encode_properties(properties))
    )


def test_records_that_the_timer_of_a_store_taken_over_delivers_are_understood(bench):
    bench.state.groups.find("CG")
    for number in range(3):
        bench.put("T", 0, b"%d" % number)
    bench.state.offsets.commit("CG", "T", 0, 3)
    popped_ms = bench.clock()
    names = {"t": "T", "c": "CG", "q": 0, "so": 0, "pt": popped_ms, "bn": "broker-a"}
    bench.pass_time(9_000)
    foreign(bench, "ck", names | {"it": 10_000, "bm": 0, "n": 3, "d": [0, 1, 2], "ro": 0})
    bench.pass_time(1_500)
    # The acks are delivered behind the time of the checkpoint, and still count.
    foreign(bench, "ack", names | {"ao": 1})
    foreign(bench, "bAck", names | {"aol": [2], "ao": 0})
    bench.pass_time(1_000)
    assert bench.bodies() == []
    bench.pass_time(3_000)
    assert bench.bodies() == [b"0"]


def ack_without_checkpoint(bench, invisible_ms):
    """Ack what a broker popped whose timer still holds the checkpoint; returns the fields of the checkpoint."""
    bench.state.groups.find("CG")
    bench.put("T", 0, b"one")
    bench.state.offsets.commit("CG", "T", 0, 1)
    popped_ms = bench.clock()
    fields = {
        "consumerGroup": "CG", "topic": "T", "queueId": 0, "offset": 0,
        "extraInfo": f"0 {popped_ms} {invisible_ms} 3 0 broker-a 0 0",
    }  # fmt: skip
    assert bench.answer(bench.peer, 200051, fields).code == 0
    return {"t": "T", "c": "CG", "q": 0, "so": 0, "pt": popped_ms, "it": invisible_ms, "bm": 0, "n": 1, "d": [0]}


def test_an_ack_may_come_before_its_checkpoint(bench):
    checkpoint = ack_without_checkpoint(bench, 10_000)
    foreign(bench, "ck", checkpoint)
    bench.pass_time(60_000)
    assert bench.bodies() == []


def test_an_ack_that_comes_before_its_checkpoint_waits_in_the_timer(bench):
    checkpoint = ack_without_checkpoint(bench, 10_000)
    due_ms = checkpoint["pt"] + 10_000
    assert revive_records(bench, 3) == []
    (record,) = map(decode_record, bench.state.store.get_messages("rmq_sys_wheel_timer", 0, 0, 32).records)
    assert record.properties == {
        "TAGS": "ack", "UNIQ_KEY": f"T@0@0@CG@{checkpoint['pt']}@broker-a@ack", "TIMER_DELIVER_MS": str(due_ms),
        "TIMER_OUT_MS": str((due_ms - 1) // 1_000 * 1_000), "REAL_TOPIC": REVIVE_TOPIC, "REAL_QID": "3",
    }  # fmt: skip
    again = restart(bench)
    again.pass_time(9_000)
    foreign(again, "ck", checkpoint)
    again.pass_time(1_000)
    foreign(again, "ack", json.loads(record.body))
    again.pass_time(60_000)
    assert again.bodies() == []


@pytest.mark.parametrize("invisible_ms", [0, 4 * 86_400_000, 1 << 62])
def test_an_ack_that_no_timer_may_hold_is_written_at_once(bench, invisible_ms):
    ack_without_checkpoint(bench, invisible_ms)
    (record,) = revive_records(bench, 3)
    assert record.properties["TAGS"] == "ack"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"t":1}', {"t": "T", "c": "CG", "q": 0, "so": 0, "pt": 1, "it": 1, "n": 0}]
)
@pytest.mark.parametrize("tag", ["ck", "ack", "bAck", "other"])
def test_a_record_that_cannot_be_read_is_left_out(bench, tag, body):
    foreign(bench, tag, body)
    bench.pass_time(10)
    assert len(bench.dispatcher.pop.outstanding.ledger) == 0


@pytest.mark.parametrize("settings", [{}, {"pop_buffer_merge": True}])
@pytest.mark.parametrize("is_killed", [False, True])
def test_what_was_popped_after_the_clock_was_set_back_comes_again(tmp_path, settings, is_killed):
    with pop_bench(tmp_path / "store", **settings) as bench:
        bench.put("T", 0, b"one")
        bench.clock.advance(-5_000)
        assert bench.bodies() == [b"one"]
        bench.state.store.flush()
        again = restart(bench) if is_killed else bench
        again.pass_time(10_000)
        again.pass_time(10_000)
        assert again.bodies() == [b"one"]


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_message_of_a_topic_that_was_made_again_is_not_taken_for_the_popped_one(bench, is_killed):
    bench.put("T", 0, b"one")
    bench.pop()
    bench.state.store.remove_topic("T")
    bench.clock.advance(1_000)
    bench.put("T", 0, b"other")
    bench.state.store.flush()
    again = restart(bench) if is_killed else bench
    again.pass_time(10_000)
    assert again.bodies() == []


NEVER_WRITTEN, AT_THE_BEGIN = {"offsetTable": {}}, {"offsetTable": {"T@CG": {"0": 0}}}
"""Files of offsets that a kill leaves behind."""


def in_order(bench, count=32):
    return bench.pop(order="true", queueId=0, maxMsgNums=count)


@pytest.mark.parametrize("offsets", [NEVER_WRITTEN, AT_THE_BEGIN])
@pytest.mark.parametrize("filtered", [False, True])
def test_what_was_acked_in_order_does_not_come_again_after_a_kill(bench, offsets, filtered):
    for number in range(6):
        tag = "B" if filtered and number in (2, 3) else "A"
        bench.put("T", 0, b"%d" % number, f"TAGS\x01{tag}\x02")
    expected = [b"4", b"5"]
    for _pop in range(3 if filtered else 2):
        for message in bench.pop(order="true", queueId=0, maxMsgNums=2, exp="A"):
            bench.ack(message)
    if filtered:
        expected = []
    bench.state.store.flush()
    again = restart(bench, offsets)
    assert [message.body for message in in_order(again)] == expected
    again.pass_time(10_000)
    assert [message.body for message in in_order(again)] == expected


@pytest.mark.parametrize("offsets", [NEVER_WRITTEN, AT_THE_BEGIN])
def test_what_was_acked_out_of_turn_hides_nothing_after_a_kill(bench, offsets):
    for number in range(3):
        bench.put("T", 0, b"%d" % number)
    bench.ack(in_order(bench)[1])
    bench.state.store.flush()
    assert [message.body for message in in_order(restart(bench, offsets))] == [b"0", b"1", b"2"]


def test_progress_in_order_over_more_messages_than_a_record_holds_survives_a_kill(bench):
    for number in range(42):
        bench.put("T", 0, b"%d" % number, f"TAGS\x01{'A' if number in (0, 41) else 'B'}\x02")
    first, last = bench.pop(order="true", queueId=0, exp="A")
    bench.ack(last)
    bench.ack(first)
    assert len(revive_records(bench)) == 1, "an ack is one record, however far the group was behind"
    bench.state.store.flush()
    restarted = restart(bench, AT_THE_BEGIN)
    assert restarted.state.offsets.get("CG", "T", 0) == 42
    restarted.pass_time(10_000)
    assert restarted.bodies() == []


@pytest.mark.parametrize("wild", [3, 1 << 40, (1 << 63) - 1])
def test_an_offset_behind_the_end_of_the_revive_queue_forgets_no_pop(tmp_path, wild):
    with one_queue(tmp_path / "store") as bench:
        for number in range(2):
            bench.put("T", 0, b"%d" % number)
        (first, _second) = bench.pop()
        bench.ack(first)
        bench.state.store.flush()
        kept = bench.state.offsets.to_json()
        kept["offsetTable"][f"{REVIVE_TOPIC}@{REVIVE_GROUP}"] = {"0": wild}
        again = restart(bench, kept)
        finished(again)
        once_more = restart(again)
        once_more.pass_time(10_000)
        assert once_more.bodies() == [b"1"]


def test_the_first_pop_of_a_revive_queue_of_which_an_offset_was_kept_survives_a_kill(tmp_path):
    with one_queue(tmp_path / "store") as bench:
        bench.put("T", 0, b"one")
        popping = restart(bench, {"dataVersion": {}, "offsetTable": {f"{REVIVE_TOPIC}@{REVIVE_GROUP}": {"0": 0}}})
        popping.pop()
        finished(popping)
        again = restart(popping)
        again.pass_time(10_000)
        assert again.bodies() == [b"one"]


@pytest.mark.parametrize(("written_after_ms", "comes"), [(-1 << 50, True), (-100, True), (60_000, False)])
def test_pops_of_a_group_that_a_kill_kept_from_its_file_come_again_and_those_of_a_deleted_one_do_not(
    bench, written_after_ms, comes
):
    bench.put("T", 0, b"one")
    bench.pop()
    bench.state.store.flush()
    bench.state.groups.remove("CG")
    again = restart(bench, groups_ms=bench.clock() + written_after_ms)
    again.pass_time(10_000)
    assert (again.state.groups.get("CG") is not None) == comes
    assert again.bodies() == ([b"one"] if comes else [])


def test_pops_come_again_though_there_are_fewer_revive_queues_now(tmp_path):
    with pop_bench(tmp_path / "store", revive_queue_count=3) as bench:
        for number in range(3):
            bench.put("T", 0, b"%d" % number)
        messages = [message for _ in range(3) for message in bench.pop(maxMsgNums=1)]
        assert [message.handle.revive_queue for message in messages] == [0, 1, 2]
        bench.ack(messages[0])
        bench.state.store.flush()
        bench.state.config = replace(bench.state.config, revive_queue_count=1)
        again = restart(bench)
        again.ack(messages[2])
        again.pass_time(10_000)
        assert again.bodies() == [b"1"]


def test_an_ack_waits_for_a_checkpoint_that_a_timer_brings_to_a_former_revive_queue(tmp_path):
    with pop_bench(tmp_path / "store", revive_queue_count=2) as bench:
        bench.put("T", 0, b"x")
        (message,) = bench.pop()
        unknown = replace(message.handle, pop_time_ms=bench.clock() + 1, revive_queue=1)
        bench.state.config = replace(bench.state.config, revive_queue_count=1)
        again = restart(bench)
        again.ack(replace(message, handle=unknown))
        assert again.state.store.max_offset("rmq_sys_wheel_timer", 0) == 1


def test_messages_of_a_deleted_topic_are_forgotten(bench):
    bench.put("T", 0, b"one")
    bench.pop()
    bench.state.topics.remove("T")
    bench.pass_time(10_000)
    assert len(bench.dispatcher.pop.outstanding.ledger) == 0


def test_while_the_store_takes_nothing_pops_give_nothing_and_what_is_due_waits(bench, monkeypatch):
    for number in range(2):
        bench.put("T", number, b"%d" % number)
    (first,) = bench.pop(queueId=0)
    monkeypatch.setattr(bench.state.store, "put", lambda _message: PutResult(PutStatus.SERVICE_NOT_AVAILABLE))
    assert bench.bodies(queueId=1) == []
    bench.pass_time(10_000)
    response = bench.ack(first)
    assert (response.code, "come again" in response.remark) == (1, True)
    monkeypatch.undo()
    bench.pass_time(1_000)
    assert sorted(bench.bodies()) == [b"0", b"1"]
