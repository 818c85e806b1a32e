"""The first decision about a transaction holds after a restart, and when the ledger has forgotten it."""

import itertools
from dataclasses import replace

import pytest

from broker_core.engine.transaction import fate, ledger
from broker_core.engine.transaction.history import LifeState, read_history
from broker_core.engine.transaction.messages import to_copy, to_real
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import DISCARD_TOPIC
from tests.support.transaction_bench import COMMIT, INTERVAL_MS, ROLLBACK, Half, asked, transaction_bench


def without_index(bench, monkeypatch):
    monkeypatch.setattr(bench.state.store, "query", lambda *_args, **_more: [])


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("found_by", ["index", "scan", "scan without a key"])
@pytest.mark.parametrize("decisions", list(itertools.product((COMMIT, ROLLBACK), repeat=2)))
def test_the_first_decision_holds_after_a_restart(bench, monkeypatch, decisions, found_by, kill):
    first, again = decisions
    if found_by != "index":
        without_index(bench, monkeypatch)
    other, half = bench.send(b"other"), bench.send(b"hello", keyed=found_by != "scan without a key")
    bench.code(half, first)
    wanted = [b"hello"] if first == COMMIT else []
    for _ in range(3):
        bench.restart(kill=kill)
        assert bench.code(half, again) == (R.SUCCESS if again == first else R.SYSTEM_ERROR)
        assert bench.bodies() == wanted
    assert bench.ops() == [b"1"]
    lives = {life.origin: life.state for life in read_history(bench.state.store).lives}
    assert lives == {0: LifeState.PREPARED, 1: LifeState.COMMITTED if first == COMMIT else LifeState.ROLLED_BACK}
    assert bench.code(other, COMMIT) == R.SUCCESS


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_it_holds_for_every_copy_that_checks_made(bench, first, keyed):
    half, peer = bench.send(keyed=keyed), bench.join()
    bench.rounds(3)
    places = [half, *map(asked, peer.pushed)]
    bench.code(places[-1], first, from_check=True)
    for place in places:
        bench.restart()
        assert bench.code(place, COMMIT) == (R.SUCCESS if first == COMMIT else R.SYSTEM_ERROR)
    assert len(bench.bodies()) == (first == COMMIT)


def put_as_the_reference_does(bench, half, times=1):
    """A copy for a check, which does not name its original."""
    message = decode_record(bench.state.store.record_at(half.physical_offset))
    result = bench.state.store.put(to_copy(message, check_times=times, origin=-1))
    return Half(result.queue_offset, result.physical_offset)


@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_a_copy_of_a_real_broker_is_one_transaction_with_its_original(bench, first):
    half = bench.send()
    copy = put_as_the_reference_does(bench, half)
    bench.engine.load(copy.half_offset, -1)  # a real broker's progress has passed the original
    assert bench.code(half, first) == R.SUCCESS
    assert len(bench.engine.ledger) == 0
    bench.restart()
    for place in (copy, half):
        assert bench.code(place, COMMIT, from_check=True) == (R.SUCCESS if first == COMMIT else R.SYSTEM_ERROR)
    assert len(bench.bodies()) == (first == COMMIT)


def test_two_halves_of_a_message_that_was_sent_twice_are_two_transactions(bench):
    first, second = bench.send(), bench.send()
    assert bench.code(first, ROLLBACK) == R.SUCCESS
    bench.restart()
    assert bench.code(first, COMMIT) == R.SYSTEM_ERROR
    assert bench.code(second, COMMIT) == R.SUCCESS
    bench.restart()
    assert bench.code(second, COMMIT) == R.SUCCESS
    assert bench.bodies() == [b"hello"]


@pytest.mark.parametrize("late", [COMMIT, ROLLBACK])
def test_the_first_decision_on_what_was_given_up_counts_once(bench, late):
    half, _peer = bench.send(), bench.join()
    bench.rounds(16)
    assert bench.discarded() == [b"hello"]
    bench.restart()
    assert bench.code(half, late) == R.SUCCESS
    for _ in range(2):
        bench.restart()
        assert bench.code(half, COMMIT) == (R.SUCCESS if late == COMMIT else R.SYSTEM_ERROR)
    assert len(bench.bodies()) == (late == COMMIT)
    (life,) = read_history(bench.state.store).lives
    assert life.state is (LifeState.COMMITTED if late == COMMIT else LifeState.ROLLED_BACK)


def test_what_was_given_up_and_resumed_is_decided_by_an_end_for_its_first_half(bench):
    half, _peer = bench.send(), bench.join()
    bench.rounds(16)
    (given_up,) = bench.messages("TRANS_CHECK_MAX_TIME_TOPIC")
    assert bench.resume(given_up.physical_offset) == R.SUCCESS
    bench.restart()
    assert bench.code(half, COMMIT) == R.SUCCESS
    assert len(bench.engine.ledger) == 0
    bench.restart()
    last = bench.halves()[-1]
    assert bench.code(Half(last.queue_offset, last.physical_offset), COMMIT) == R.SUCCESS
    assert bench.bodies() == [b"hello"]


def given_up_and_resumed(bench, *, checks=1, rounds=0):
    """A half message that was given up and resumed; returns the places of all its halves."""
    half, _peer = bench.send(), bench.join()
    bench.engine.settings = replace(bench.engine.settings, check_times_max=checks)
    bench.rounds(checks + 1)
    (given_up,) = bench.messages(DISCARD_TOPIC)
    assert bench.resume(given_up.physical_offset) == R.SUCCESS
    bench.rounds(rounds)
    places = [Half(found.queue_offset, found.physical_offset) for found in bench.halves()]
    assert places[0] == half
    return places


@pytest.mark.parametrize("found_by", ["index", "scan"])
@pytest.mark.parametrize("rounds", [0, 1, 2])
@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_a_decision_on_what_was_resumed_holds_for_all_its_halves(bench, monkeypatch, first, rounds, found_by):
    if found_by == "scan":
        without_index(bench, monkeypatch)
    places = given_up_and_resumed(bench, rounds=rounds)
    assert bench.code(places[0], first) == R.SUCCESS
    for kill in (False, True):
        bench.restart(kill=kill)
        for place in places:
            assert bench.code(place, COMMIT) == (R.SUCCESS if first == COMMIT else R.SYSTEM_ERROR)
        for given_up in bench.messages(DISCARD_TOPIC):
            assert bench.resume(given_up.physical_offset) == R.SYSTEM_ERROR
    assert len(bench.bodies()) == (first == COMMIT)


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("decided", [0, -1])
@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_a_decision_holds_for_what_was_resumed_again_and_again(bench, first, decided, keyed):
    half, _peer = bench.send(keyed=keyed), bench.join()
    other = bench.send(b"hello", keyed=False)  # equal in all that is no link
    bench.code(other, ROLLBACK)
    bench.engine.settings = replace(bench.engine.settings, check_times_max=1)
    for _time in range(3):
        bench.rounds(2)
        assert bench.resume(bench.messages(DISCARD_TOPIC)[-1].physical_offset) == R.SUCCESS
        bench.restart()
        bench.engine.settings = replace(bench.engine.settings, check_times_max=1)
    assert [len(life.half_offsets) for life in read_history(bench.state.store).lives] == [1, 7]
    places = [place for found in bench.halves() if (place := Half(found.queue_offset, found.physical_offset)) != other]
    assert len(places) == 7
    assert places[0] == half
    assert bench.code(places[decided], first) == R.SUCCESS
    bench.restart()
    for place in places:
        assert bench.code(place, COMMIT) == (R.SUCCESS if first == COMMIT else R.SYSTEM_ERROR)
    for given_up in bench.messages(DISCARD_TOPIC):
        assert bench.resume(given_up.physical_offset) == R.SYSTEM_ERROR
    assert [message.properties.get("ORBIT_RESUMED_OFFSET") for message in bench.messages("T", 1)] == [None] * (first == COMMIT)
    assert len(bench.engine.ledger) == 0


@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_a_copy_finds_the_decision_on_its_original_without_index_and_key(bench, monkeypatch, first):
    without_index(bench, monkeypatch)
    half, peer = bench.send(keyed=False), bench.join()
    bench.rounds(1)
    (copy,) = map(asked, peer.pushed)
    bench.engine.settings = replace(bench.engine.settings, check_times_max=1)
    bench.rounds(1)
    assert bench.code(half, first) == R.SUCCESS
    bench.restart()
    for again in (COMMIT, ROLLBACK):
        assert bench.code(copy, again, from_check=True) == (R.SUCCESS if again == first else R.SYSTEM_ERROR)
    assert len(bench.bodies()) == (first == COMMIT)


@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_a_decision_whose_op_record_is_owed_is_known_by_every_half(tmp_path, first):
    with transaction_bench(tmp_path / "store", transaction_op_batch_interval_ms=1_000) as bench:
        places = given_up_and_resumed(bench)
        assert bench.code(places[1], first) == R.SUCCESS
        assert bench.engine.owed_ops
        for place in places:
            assert bench.code(place, COMMIT) == (R.SUCCESS if first == COMMIT else R.SYSTEM_ERROR)
        (given_up,) = bench.messages(DISCARD_TOPIC)
        assert bench.resume(given_up.physical_offset) == R.SYSTEM_ERROR
        assert len(bench.bodies()) == (first == COMMIT)


@pytest.mark.parametrize("found_by", ["index", "scan", "scan without a key"])
@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_what_was_given_up_without_a_check_and_decided_late_is_not_resumed(bench, monkeypatch, first, found_by):
    if found_by != "index":
        without_index(bench, monkeypatch)
    half, _peer = bench.send(keyed=found_by != "scan without a key"), bench.join()
    bench.engine.settings = replace(bench.engine.settings, check_times_max=0)
    bench.rounds(1)
    (given_up,) = bench.messages(DISCARD_TOPIC)
    assert bench.code(half, first) == R.SUCCESS
    bench.restart()
    assert bench.resume(given_up.physical_offset) == R.SYSTEM_ERROR


@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_what_was_decided_before_a_restart_is_not_resumed(bench, first):
    half, late = bench.send(), bench.send(b"late")
    bench.join()
    bench.code(half, first)
    bench.rounds(16)
    (given_up,) = bench.messages("TRANS_CHECK_MAX_TIME_TOPIC")
    bench.code(late, first)
    count = len(bench.halves())
    bench.restart()
    assert bench.resume(half.physical_offset) == R.SYSTEM_ERROR
    assert bench.resume(given_up.physical_offset) == R.SYSTEM_ERROR
    assert len(bench.halves()) == count


def test_a_decision_beyond_the_records_that_are_read_holds(bench, monkeypatch):
    monkeypatch.setattr(fate, "RECORDS_MAX", 3)
    half = bench.send()
    for number in range(5):
        bench.code(bench.send(b"%d" % number), ROLLBACK)
    bench.code(half, ROLLBACK)
    bench.code(bench.send(b"after"), ROLLBACK)
    bench.restart()
    assert bench.code(half, COMMIT) == R.SYSTEM_ERROR
    assert bench.bodies() == []


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize(("level", "queue_id"), [(3, 2), (99, 17)])
def test_a_delayed_commit_is_found_while_it_waits(bench, level, queue_id, keyed):
    half = bench.send(more=f"DELAY\x01{level}", keyed=keyed)
    bench.code(half, COMMIT)
    bench.restart()
    assert [bench.code(half, decision) for decision in (ROLLBACK, COMMIT)] == [R.SYSTEM_ERROR, R.SUCCESS]
    assert len(bench.messages("SCHEDULE_TOPIC_XXXX", queue_id)) == 1
    if keyed:
        assert read_history(bench.state.store).lives[0].state is LifeState.COMMITTED


def test_a_message_without_a_transaction_is_not_that_of_the_half_at_the_start_of_the_log(bench):
    half = bench.send(keyed=False)
    assert half.physical_offset == 0
    bench.code(half, ROLLBACK)
    bench.bench.put("T", 1, b"plain")
    bench.restart()
    assert bench.code(half, COMMIT) == R.SYSTEM_ERROR
    assert bench.bodies() == [b"plain"]


@pytest.mark.parametrize("late", [COMMIT, ROLLBACK])
def test_what_was_given_up_is_known_beyond_the_records_that_are_read(bench, monkeypatch, late):
    monkeypatch.setattr(fate, "RECORDS_MAX", 3)
    half, _peer = bench.send(keyed=False), bench.join()
    for number in range(5):
        bench.code(bench.send(b"%d" % number), ROLLBACK)
    bench.rounds(16)
    bench.restart()
    assert bench.code(half, late) == R.SUCCESS
    bench.restart()
    assert bench.code(half, COMMIT) == (R.SUCCESS if late == COMMIT else R.SYSTEM_ERROR)
    assert len(bench.bodies()) == (late == COMMIT)


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("again", [COMMIT, ROLLBACK])
def test_a_kill_before_the_op_record_delivers_nothing_twice(bench, again, keyed):
    half = bench.send(keyed=keyed)
    bench.state.store.put(to_real(decode_record(bench.state.store.record_at(half.physical_offset))))
    bench.restart(kill=True)
    assert bench.code(half, again) == (R.SUCCESS if again == COMMIT else R.SYSTEM_ERROR)
    assert bench.code(half, COMMIT) == R.SUCCESS
    assert bench.bodies() == [b"hello"]
    assert len(bench.engine.ledger) == 0


@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_what_the_ledger_has_forgotten_the_store_knows(bench, monkeypatch, first):
    monkeypatch.setattr(ledger, "REMEMBERED_MAX", 2)
    halves = [bench.send(b"%d" % number) for number in range(5)]
    for half in halves:
        bench.code(half, first)
    assert [bench.code(half, COMMIT) for half in halves] == [R.SUCCESS if first == COMMIT else R.SYSTEM_ERROR] * 5
    assert len(bench.bodies()) == (5 if first == COMMIT else 0)


def test_a_half_that_nothing_decided_is_decided_late(bench):
    half = bench.send()
    bench.engine.load(1, 0)  # progress that another program has set
    assert [bench.code(half, COMMIT) for _ in range(2)] == [R.SUCCESS] * 2
    assert bench.bodies() == [b"hello"]


def test_a_stop_in_the_midst_of_a_round_of_checks_decides_each_once(bench):
    halves, peer = [bench.send(b"%d" % number) for number in range(40)], bench.join()
    bench.clock.advance(INTERVAL_MS)
    next(bench.engine.check_round())
    assert 0 < len(peer.pushed) < 40
    bench.restart()
    assert sorted(half.origin for half in bench.engine.ledger) == [half.half_offset for half in halves]
    for place in [*halves, *map(asked, peer.pushed)]:
        assert bench.code(place, COMMIT) == R.SUCCESS
    assert sorted(bench.bodies()) == sorted(b"%d" % number for number in range(40))
