"""Decisions, checks, giving up and resuming, over a real store."""

from dataclasses import replace

import pytest

from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.engine.transaction.engine import Decision, EndRequest
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import OP_TOPIC
from tests.support.broker_bench import RecordingPeer, send_fields
from tests.support.transaction_bench import COMMIT, INTERVAL_MS, ROLLBACK, UNKNOWN, Half, asked, transaction_bench


def test_a_half_message_is_readable_after_commit_only(bench):
    half = bench.send(more="TAGS\x01a\x02KEYS\x01k")
    assert bench.bodies() == []
    assert bench.code(half, COMMIT) == R.SUCCESS
    (real,) = bench.messages("T", 1)
    assert (real.body, real.sys_flag & 0xC, real.prepared_transaction_offset) == (b"hello", COMMIT, half.physical_offset)
    assert real.properties == {
        "TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "hello", "TAGS": "a", "KEYS": "k", "CLUSTER": "DefaultCluster",
        "REAL_TOPIC": "T", "REAL_QID": "1",
    }  # fmt: skip
    assert bench.ops() == [b"0"]
    assert bench.state.counters.topics["T"].put_messages == 1


def test_a_half_message_lies_in_the_half_topic_as_the_reference_writes_it(bench):
    bench.send(more="DELAY\x013")
    (half,) = bench.halves()
    assert (half.sys_flag & 0xC, half.queue_id, half.properties["REAL_TOPIC"], half.properties["REAL_QID"]) == (0, 0, "T", "1")
    assert half.properties["DELAY"] == "3"


def test_the_producer_is_told_the_queue_it_asked_for_and_the_place_of_the_half(bench):
    fields = send_fields("T", 2, properties="TRAN_MSG\x01true\x02PGROUP\x01PG")
    answer = bench.bench.answer(RecordingPeer(), Q.SEND_MESSAGE_V2, fields, b"x")
    assert (answer.ext_fields["queueId"], answer.ext_fields["queueOffset"]) == ("2", "0")


def test_a_rolled_back_message_is_never_readable(bench):
    half = bench.send()
    bench.join()
    assert bench.code(half, ROLLBACK) == R.SUCCESS
    bench.rounds(20)
    assert (bench.bodies(), bench.ops(), bench.discarded(), len(bench.halves())) == ([], [b"0"], [], 1)


def test_unknown_is_not_answered_and_a_check_comes_with_new_offsets(bench):
    half, peer = bench.send(), bench.join()
    assert bench.end(half, UNKNOWN) is None
    bench.clock.advance(5_999)
    bench.round()
    assert peer.pushed == []
    bench.clock.advance(1)
    bench.round()
    (question,) = peer.pushed
    again = asked(question)
    assert again.half_offset == 1
    record = decode_record(question.body)
    assert (record.topic, record.queue_id, record.body, record.queue_offset) == ("T", 1, b"hello", 1)
    assert (record.properties["TRANSACTION_CHECK_TIMES"], record.properties["PGROUP"]) == ("1", "PG")
    assert question.ext_fields["msgId"] == question.ext_fields["transactionId"] == "hello"
    assert question.ext_fields["offsetMsgId"] == offset_message_id(bench.state.store_host, again.physical_offset)
    assert bench.code(again, COMMIT, from_check=True) == R.SUCCESS
    (real,) = bench.messages("T", 1)
    assert (real.prepared_transaction_offset, bench.ops()) == (again.physical_offset, [b"1"])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda half: (half, {"group": "Other"}),
        lambda half: (replace(half, half_offset=half.half_offset + 1), {}),
        lambda half: (replace(half, physical_offset=half.physical_offset + 1), {}),
        lambda half: (replace(half, physical_offset=1 << 40), {}),
        lambda half: (half, {"message_id": "jello"}),
    ],
)
def test_an_end_for_something_else_changes_nothing(bench, wrong):
    bench.send(b"other")
    half, more = wrong(bench.send())
    for decision in (COMMIT, ROLLBACK):
        assert bench.code(half, decision, **more) == R.SYSTEM_ERROR
    assert (bench.bodies(), bench.ops(), len(bench.engine.ledger)) == ([], [], 2)


@pytest.mark.parametrize("message_id", ["hello", "", "another kind of id"])
def test_ids_of_other_kinds_are_let_pass(bench, message_id):
    assert bench.code(bench.send(), COMMIT, message_id=message_id) == R.SUCCESS


def test_an_end_for_an_ordinary_message_is_refused(bench):
    answer = bench.bench.put(properties="PGROUP\x01PG")
    offset = int(answer.ext_fields["msgId"][16:], 16)
    assert bench.code(Half(0, offset), COMMIT) == R.SYSTEM_ERROR
    assert len(bench.messages("T", 0)) == 1


def test_a_number_that_is_no_decision_is_not_answered(bench):
    assert bench.end(bench.send(), 4) is None
    assert bench.ops() == []


def test_a_slave_ends_nothing(tmp_path):
    with transaction_bench(tmp_path / "store", broker_id=1) as bench:
        assert bench.code(bench.send(), COMMIT) == R.SLAVE_NOT_AVAILABLE


def test_a_decision_that_comes_twice_is_carried_out_once(bench):
    half = bench.send()
    assert [bench.code(half, COMMIT) for _ in range(3)] == [R.SUCCESS] * 3
    assert bench.code(half, ROLLBACK) == R.SYSTEM_ERROR
    assert (len(bench.bodies()), len(bench.ops())) == (1, 1)


def test_an_end_for_the_original_after_a_check_decides_the_copy(bench):
    half, peer = bench.send(), bench.join()
    bench.rounds(2)
    assert bench.code(half, COMMIT) == R.SUCCESS
    assert bench.ops() == [b"2"]
    for question in peer.pushed:
        assert bench.code(asked(question), COMMIT, from_check=True) == R.SUCCESS
    assert len(bench.bodies()) == 1
    bench.rounds(2)
    assert len(peer.pushed) == 2


def test_fifteen_unanswered_checks_end_in_the_discard_topic_and_resume_brings_it_back(bench):
    bench.send()
    peer = bench.join()
    bench.rounds(15)
    assert (len(peer.pushed), bench.discarded()) == (15, [])
    bench.rounds(1)
    assert (len(peer.pushed), bench.discarded(), len(bench.engine.ledger)) == (15, [b"hello"], 0)
    assert bench.state.topics.get("TRANS_CHECK_MAX_TIME_TOPIC").read_queues == 1
    (given_up,) = bench.messages("TRANS_CHECK_MAX_TIME_TOPIC")
    message_id = offset_message_id(given_up.store_host, given_up.physical_offset)
    assert bench.bench.answer(RecordingPeer(), Q.RESUME_CHECK_HALF_MESSAGE, {"msgId": message_id}).code == R.SUCCESS
    bench.rounds(1)
    assert len(peer.pushed) == 16
    assert bench.code(asked(peer.pushed[-1]), COMMIT, from_check=True) == R.SUCCESS
    assert bench.bodies() == [b"hello"]


def test_a_late_commit_of_a_given_up_message_counts(bench):
    half, _peer = bench.send(), bench.join()
    bench.rounds(16)
    assert bench.discarded() == [b"hello"]
    assert [bench.code(half, COMMIT) for _ in range(2)] == [R.SUCCESS] * 2
    assert bench.bodies() == [b"hello"]


@pytest.mark.parametrize("make", ["commit", "rollback", "ordinary", "nothing"])
def test_what_is_no_undecided_transaction_is_not_resumed(bench, make):
    half = bench.send()
    if make in ("commit", "rollback"):
        bench.code(half, COMMIT if make == "commit" else ROLLBACK)
    offset = half.physical_offset
    if make == "ordinary":
        offset = int(bench.bench.put().ext_fields["msgId"][16:], 16)
    if make == "nothing":
        offset = 7
    message_id = offset_message_id(bench.state.store_host, offset)
    assert bench.bench.answer(RecordingPeer(), Q.RESUME_CHECK_HALF_MESSAGE, {"msgId": message_id}).code == R.SYSTEM_ERROR
    assert len(bench.halves()) == 1


def test_resume_of_a_waiting_message_begins_its_checks_anew(bench):
    bench.send()
    bench.join()
    bench.rounds(3)
    last = bench.halves()[-1]
    bench.bench.answer(
        RecordingPeer(), Q.RESUME_CHECK_HALF_MESSAGE, {"msgId": offset_message_id(last.store_host, last.physical_offset)}
    )
    (half,) = bench.engine.ledger
    assert (half.check_times, half.origin) == (0, 0)


def test_progress_of_the_example(bench):
    """Halves 0 to 3, op 0 → half 0, op 1 → half 3, op 2 → half 1; half 2 is undecided and young (docs/spec/broker.md §4.6)."""
    halves = [bench.send(b"%d" % number) for number in range(4)]
    for number in (0, 3, 1):
        bench.code(halves[number], ROLLBACK)
    peer = bench.join()
    bench.round()
    assert (bench.engine.ledger.half_progress, bench.engine.ledger.op_progress) == (2, 1)
    assert peer.pushed == []
    bench.rounds(1)
    assert [asked(command).half_offset for command in peer.pushed] == [4]
    assert (bench.engine.ledger.half_progress, bench.engine.ledger.op_progress) == (4, 3)


def test_nothing_is_checked_twice_in_one_round(bench):
    for number in range(100):
        bench.send(b"%d" % number)
    peer = bench.join()
    bench.rounds(1)
    assert len(peer.pushed) == len({asked(command).half_offset for command in peer.pushed}) == 100


def test_the_members_of_a_group_are_asked_in_turn(bench):
    for number in range(9):
        bench.send(b"%d" % number)
    peers = [bench.join(name=f"client-{number}") for number in range(3)]
    bench.join("Other")
    bench.rounds(1)
    assert [len(peer.pushed) for peer in peers] == [3, 3, 3]


def test_a_dead_connection_is_passed_over(bench):
    bench.send()
    dead, living = bench.join(), bench.join()
    dead.send_oneway = lambda _command: False
    bench.rounds(4)
    assert len(living.pushed) == 4


def test_without_a_producer_it_waits_and_no_check_is_used_up(bench):
    bench.send()
    bench.rounds(30)
    (half,) = bench.engine.ledger
    assert (half.check_times, len(bench.halves()), bench.discarded()) == (0, 1, [])
    peer = bench.join()
    bench.rounds(1)
    assert len(peer.pushed) == 1


def test_what_is_older_than_the_retention_is_given_up(bench):
    bench.send()
    bench.clock.advance(72 * 3_600_000 + 1)
    bench.round()
    assert bench.discarded() == [b"hello"]


def test_immunity_holds_checks_back_and_a_commit_in_between_counts(bench):
    first, second = (bench.send(body, more="CHECK_IMMUNITY_TIME_IN_SECONDS\x0160") for body in (b"1", b"2"))
    peer = bench.join()
    bench.clock.advance(59_999)
    bench.round()
    assert peer.pushed == []
    assert bench.code(first, COMMIT) == R.SUCCESS
    bench.clock.advance(2)
    assert bench.code(second, COMMIT) == R.ILLEGAL_OPERATION
    bench.round()
    (question,) = peer.pushed
    assert bench.code(asked(question), COMMIT, from_check=True) == R.SUCCESS
    assert bench.bodies() == [b"1", b"2"]


@pytest.mark.parametrize("text", ["-1", "soon"])
def test_an_immunity_that_is_no_time_is_the_usual_one(bench, text):
    bench.send(more=f"CHECK_IMMUNITY_TIME_IN_SECONDS\x01{text}")
    peer = bench.join()
    for passed, checks in ((5_999, 0), (1, 1)):
        bench.clock.advance(passed)
        bench.round()
        assert len(peer.pushed) == checks


def test_long_immunity_is_not_given_up_unchecked(bench):
    bench.send(more="CHECK_IMMUNITY_TIME_IN_SECONDS\x013600")
    peer = bench.join()
    bench.rounds(59)
    assert peer.pushed == bench.discarded() == []
    bench.rounds(1)
    assert len(peer.pushed) == 1


def test_a_message_from_the_future_is_checked_at_once(bench):
    bench.send(born_ms=bench.clock() + 10_000)
    peer = bench.join()
    bench.round()
    assert len(peer.pushed) == 1


def test_a_waiting_message_does_not_hold_back_progress_for_ever(bench):
    bench.engine.settings = replace(bench.engine.settings, span_max=10)
    bench.send(b"waits", more="CHECK_IMMUNITY_TIME_IN_SECONDS\x013600")
    for number in range(11):
        bench.code(bench.send(b"%d" % number), ROLLBACK)
    assert bench.engine.ledger.half_progress == 0
    bench.rounds(1)
    (half,) = bench.engine.ledger
    assert (half.half_offset, half.check_times, half.origin) == (12, 0, 0)
    assert (bench.engine.ledger.half_progress, bench.engine.ledger.op_progress) == (12, 11)
    assert bench.code(Half(0, bench.halves()[0].physical_offset), COMMIT) == R.SUCCESS
    assert bench.bodies() == [b"waits"]


def test_too_many_undecided_ones_are_refused(tmp_path):
    with transaction_bench(tmp_path / "store", transaction_pending_max=2) as bench:
        bench.send(b"1")
        half = bench.send(b"2")
        fields = send_fields(properties="TRAN_MSG\x01true\x02PGROUP\x01PG")
        assert bench.bench.answer(RecordingPeer(), Q.SEND_MESSAGE_V2, fields, b"x").code == R.SYSTEM_BUSY
        bench.code(half, ROLLBACK)
        bench.send(b"3")


@pytest.mark.parametrize(
    ("properties", "sys_flag", "settings", "code"),
    [
        ("TRAN_MSG\x01true", 0, {}, R.MESSAGE_ILLEGAL),
        ("PGROUP\x01PG", 4, {}, R.MESSAGE_ILLEGAL),
        ("TRAN_MSG\x01true\x02PGROUP\x01PG", 4, {"reject_transactions": True}, R.NO_PERMISSION),
    ],
)
def test_a_half_message_that_nobody_could_decide_is_refused(tmp_path, properties, sys_flag, settings, code):
    with transaction_bench(tmp_path / "store", **settings) as bench:
        fields = send_fields(properties=properties, sys_flag=sys_flag)
        assert bench.bench.answer(RecordingPeer(), Q.SEND_MESSAGE_V2, fields, b"x").code == code
        assert bench.halves() == []


class Failing:
    """Lets puts to some topics fail, as a full disk would."""

    def __init__(self, bench, monkeypatch, *topics):
        self.topics, real = set(topics), bench.state.store.put

        def put(message):
            return PutResult(PutStatus.SERVICE_NOT_AVAILABLE) if message.topic in self.topics else real(message)

        monkeypatch.setattr(bench.state.store, "put", put)


def test_a_commit_that_cannot_be_stored_is_told_and_comes_again(bench, monkeypatch):
    half = bench.send()
    failing = Failing(bench, monkeypatch, "T")
    assert bench.code(half, COMMIT) == R.SERVICE_NOT_AVAILABLE
    assert (bench.ops(), len(bench.engine.ledger)) == ([], 1)
    failing.topics.clear()
    assert bench.code(half, COMMIT) == R.SUCCESS
    assert bench.bodies() == [b"hello"]


def test_an_op_record_that_cannot_be_stored_is_written_later_and_the_message_comes_once(bench, monkeypatch):
    half, peer = bench.send(), bench.join()
    failing = Failing(bench, monkeypatch, OP_TOPIC)
    assert bench.code(half, COMMIT) == R.SUCCESS
    assert bench.code(half, ROLLBACK) == R.SYSTEM_ERROR
    bench.rounds(1)
    assert (bench.bodies(), bench.ops(), len(bench.engine.ledger)) == ([b"hello"], [], 1)
    failing.topics.clear()
    bench.rounds(1)
    assert (bench.bodies(), bench.ops(), len(bench.engine.ledger), peer.pushed) == ([b"hello"], [b"0"], 0, [])


def test_a_rollback_that_cannot_be_stored_is_told(bench, monkeypatch):
    half = bench.send()
    Failing(bench, monkeypatch, OP_TOPIC)
    assert bench.code(half, ROLLBACK) == R.SERVICE_NOT_AVAILABLE
    assert len(bench.engine.ledger) == 1


@pytest.mark.parametrize("topic", ["RMQ_SYS_TRANS_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"])
def test_what_a_round_cannot_store_is_left_as_it_is(bench, monkeypatch, topic):
    bench.send()
    peer = bench.join()
    if topic.endswith("TIME_TOPIC"):
        bench.rounds(15)
    before = len(peer.pushed)
    failing = Failing(bench, monkeypatch, topic)
    bench.rounds(3)
    assert (len(peer.pushed), len(bench.engine.ledger), bench.discarded()) == (before, 1, [])
    failing.topics.clear()
    bench.rounds(1)
    assert len(peer.pushed) + len(bench.discarded()) == before + 1


def test_decisions_are_collected_into_lists_of_the_given_size(tmp_path):
    settings = {"transaction_op_batch_interval_ms": 3_000, "transaction_op_batch_bytes": 8}
    with transaction_bench(tmp_path / "store", **settings) as bench:
        halves = [bench.send(b"%d" % number) for number in range(6)]
        for half in halves:
            assert bench.code(half, ROLLBACK) == R.SUCCESS
        assert (bench.ops(), bench.engine.owed_ops) == ([b"0,1,2,3,"], 2)
        bench.engine.write_owed_ops()
        assert (bench.ops(), bench.engine.owed_ops) == ([b"0,1,2,3,", b"4,5,"], 0)
        assert (bench.engine.ledger.half_progress, bench.engine.ledger.op_progress) == (6, 2)


@pytest.mark.parametrize("written", ["at once", "collected", "refused"])
def test_a_commit_is_answered_when_the_real_message_is_on_disk_whenever_its_op_record_comes(tmp_path, monkeypatch, written):
    settings = {"transaction_op_batch_interval_ms": 3_000 if written == "collected" else 0}
    with transaction_bench(tmp_path / "store", **settings) as bench:
        half = bench.send()
        if written == "refused":
            Failing(bench, monkeypatch, OP_TOPIC)
        request = EndRequest(
            group="PG",
            half_offset=half.half_offset,
            physical_offset=half.physical_offset,
            decision=Decision.COMMIT,
            from_check=False,
        )
        result = bench.engine.end(request)
        (real,) = bench.messages("T", 1)
        real_end = real.physical_offset + real.store_size
        assert result.code == R.SUCCESS
        assert (result.durable_end > real_end) if written == "at once" else (result.durable_end == real_end)


def test_a_restart_finds_the_same_as_before(tmp_path):
    def look(bench):
        ledger = bench.engine.ledger
        return sorted((half.origin, half.half_offset, half.check_times, half.group) for half in ledger), ledger.half_progress

    with transaction_bench(tmp_path / "store") as bench:
        peer = bench.join()
        halves = [bench.send(b"%d" % number) for number in range(20)]
        bench.rounds(2)
        for number, half in enumerate(halves):
            if number % 3 == 0:
                bench.code(half, COMMIT if number % 2 else ROLLBACK)
        bench.rounds(1)
        before, count = look(bench), len(bench.messages("T", 1))
    with transaction_bench(tmp_path / "store") as bench:
        assert look(bench) == before
        for question in peer.pushed[:20]:
            # Ends that were under way when the broker stopped.
            bench.code(asked(question), COMMIT, from_check=True)
        again = len(bench.messages("T", 1))
        assert again == count + len(before[0])
        assert len({message.properties["UNIQ_KEY"] for message in bench.messages("T", 1)}) == again
    assert INTERVAL_MS == 60_000


@pytest.mark.parametrize("progress", [(50, 70), (50, 0), (0, 70), (2, 1 << 62)])
def test_progress_beyond_a_queue_misses_no_undecided_message_and_forgets_no_decision(bench, caplog, progress):
    peer = bench.join()
    rolled_back, half = bench.send(b"rolled back"), bench.send(b"undecided")
    bench.code(rolled_back, ROLLBACK)
    bench.engine.load(*progress)
    assert (bench.engine.ledger.half_progress, bench.engine.ledger.op_progress) == (half.half_offset, 1)
    assert "beyond its end" in caplog.text
    bench.rounds(1)
    assert [command.body for command in peer.pushed]
    assert bench.code(rolled_back, COMMIT) == R.SYSTEM_ERROR
    assert bench.code(half, COMMIT) == R.SUCCESS
    assert bench.bodies() == [b"undecided"]
