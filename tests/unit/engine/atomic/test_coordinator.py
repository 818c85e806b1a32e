"""Answers to producers, case by case (Source: docs/spec/kafka.md §1.4, §1.10, §5.2, §5.3)."""

from contextlib import contextmanager

import pytest

from broker_core.engine.atomic.coordinator import Coordinator
from broker_core.engine.atomic.snapshot import decode_snapshot, encode_snapshot
from broker_core.engine.atomic.state import AtomicState
from broker_core.protocol.atomic import (
    EPOCH_LAST,
    AtomicPhase,
    AtomicRefusedError,
    Identity,
    OffsetKey,
    QueueKey,
    Refusal,
    Stamp,
)

QUEUE = QueueKey("orders", 0)


class Log:
    """Keeps records; durable at once, or when told."""

    def __init__(self):
        self.bodies, self.waiting, self.is_slow, self.is_full = [], [], False, False

    def append(self, body):
        if self.is_full:
            raise AtomicRefusedError(Refusal.NOT_STORED, "full")
        self.bodies.append(body)
        return len(self.bodies), len(self.bodies) + 1, 1000

    def when_durable(self, _end, done):
        if self.is_slow:
            self.waiting.append(done)
        else:
            done(True)

    def tell(self, durable=True):
        waiting, self.waiting = self.waiting, []
        for done in waiting:
            done(durable)


class Bench:
    def __init__(self, state=None):
        self.now, self.log, self.applied, self.answers = 1000, Log(), [], []
        self.coordinator = Coordinator(
            state or AtomicState(),
            self.log,
            clock=lambda: self.now,
            is_atomic=lambda topic: topic != "plain",
            decided=lambda queues, applied: self.applied.append((queues, applied)),
        )
        self.state, self.offset = self.coordinator.state, 0

    def init(self, name="shop", timeout_ms=60_000, known=None):
        self.answers = []
        self.coordinator.init_producer(name, timeout_ms, self.answers.append, known=known)
        return self.answer()

    def answer(self):
        (answer,) = self.answers
        if isinstance(answer, AtomicRefusedError):
            raise answer
        return answer

    def send(self, identity, base=0, messages=1, *, name="shop", queue=QUEUE):
        repeated = self.coordinator.admit(name, identity, queue, base, messages)
        if repeated is not None:
            return repeated.offset
        first, self.offset = self.offset, self.offset + messages
        stamp = Stamp(*identity, base, messages, name is not None)
        self.coordinator.stored(queue, first, range(first, first + messages), stamp, self.now)
        return first

    def end(self, identity, *, commit=True, name="shop"):
        self.answers = []
        self.coordinator.end(name, identity, commit=commit, answered=self.answers.append)
        return self.answer()


def refused(refusal):
    return pytest.raises(AtomicRefusedError, check=lambda error: error.refusal is refusal)


@contextmanager
def refused_without_a_trace(bench, refusal):
    """Of a refused request nothing stays, in the state or in the log."""
    before, records = encode_snapshot(bench.state, 0), len(bench.log.bodies)
    with refused(refusal):
        yield
    assert encode_snapshot(bench.state, 0) == before
    assert len(bench.log.bodies) == records


def test_identities_without_transactions_are_new_each_time():
    bench = Bench()
    assert [bench.init(None) for _ in range(3)] == [Identity(0, 0), Identity(1, 0), Identity(2, 0)]
    again = Bench(decode_snapshot(encode_snapshot(bench.state, 0))[0])
    assert again.init(None) == Identity(1000, 0), "what may have been given before a crash is not given again"


def test_a_transactional_id_keeps_its_producer_id_and_gets_a_new_epoch():
    bench = Bench()
    assert [bench.init() for _ in range(3)] == [Identity(0, 0), Identity(0, 1), Identity(0, 2)]


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_time_out_that_is_not_allowed_is_refused(timeout_ms):
    bench = Bench()
    with refused_without_a_trace(bench, Refusal.WRONG_TIMEOUT):
        bench.init(timeout_ms=timeout_ms)


def test_the_longest_time_out_is_allowed():
    assert Bench().init(timeout_ms=900_000) == Identity(0, 0)


@pytest.mark.parametrize("name", ["", "x" * 256])
def test_a_transactional_id_has_a_length(name):
    bench = Bench()
    with refused_without_a_trace(bench, Refusal.WRONG_STATE):
        bench.init(name)


def test_a_producer_that_asks_again_after_an_error_gets_the_next_epoch_once():
    bench = Bench()
    first = bench.init()
    second = bench.init(known=first)
    assert second == Identity(0, 1)
    assert bench.init(known=first) == second, "the answer was lost"
    third = bench.init()
    assert third == Identity(0, 2)
    with refused(Refusal.FENCED):
        bench.init(known=first)


def test_seven_requests_are_stored_and_the_last_five_known_again():
    bench = Bench()
    producer = bench.init(None)
    first = [bench.send(producer, base, name=None) for base in range(7)]
    assert [bench.send(producer, base, name=None) for base in range(2, 7)] == first[2:]
    with refused(Refusal.OUT_OF_ORDER):
        bench.send(producer, 1, name=None)


@pytest.mark.parametrize(("base", "messages"), [(8, 1), (6, 2), (100, 1)])
def test_a_gap_or_another_extent_is_out_of_order(base, messages):
    bench = Bench()
    producer = bench.init(None)
    for number in range(7):
        bench.send(producer, number, name=None)
    with refused_without_a_trace(bench, Refusal.OUT_OF_ORDER):
        bench.send(producer, base, messages, name=None)
    assert bench.send(producer, 7, name=None) == 7


def test_sequences_wrap():
    bench = Bench()
    producer = bench.init(None)
    bench.send(producer, 2**31 - 2, 3, name=None)
    assert bench.send(producer, 1, name=None) == 3


def test_all_five_are_known_after_a_restart():
    bench = Bench()
    producer = bench.init(None)
    first = [bench.send(producer, base, name=None) for base in range(5)]
    again = Bench(decode_snapshot(encode_snapshot(bench.state, 0))[0])
    assert [again.send(producer, base, name=None) for base in range(5)] == first


def test_a_producer_id_that_was_never_given_is_refused():
    bench = Bench()
    with refused_without_a_trace(bench, Refusal.UNKNOWN_ID):
        bench.send(Identity(7, 0), name=None)


def test_a_transactional_producer_may_not_send_outside_of_its_transactions():
    bench = Bench()
    producer = bench.init()
    with refused_without_a_trace(bench, Refusal.WRONG_STATE):
        bench.send(producer, name=None)


def test_a_first_message_that_is_not_the_first_is_refused():
    bench = Bench()
    producer = bench.init()
    with refused_without_a_trace(bench, Refusal.OUT_OF_ORDER):
        bench.send(producer, 5)


def test_each_transaction_has_its_epoch_and_begins_its_sequences_again():
    bench = Bench()
    one = bench.init()
    bench.send(one)
    two = bench.end(one)
    assert two == Identity(0, 1)
    bench.send(two, 0)
    assert bench.end(two, commit=False) == Identity(0, 2)


def test_nothing_cannot_be_committed_but_aborted():
    bench = Bench()
    one = bench.init()
    with refused(Refusal.WRONG_STATE):
        bench.end(one)
    assert bench.end(one, commit=False) == Identity(0, 1)


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_whose_answer_was_lost_is_answered_again(commit):
    bench = Bench()
    one = bench.init()
    bench.send(one)
    two = bench.end(one, commit=commit)
    assert bench.end(one, commit=commit) == two
    assert len(bench.applied) == 1
    with refused(Refusal.WRONG_STATE):
        bench.end(one, commit=not commit)
    again = Bench(decode_snapshot(encode_snapshot(bench.state, 0))[0])
    assert again.end(one, commit=commit) == two
    bench.send(two)
    with refused(Refusal.FENCED):
        bench.end(one, commit=commit)


def test_while_it_is_decided_everything_else_has_to_wait():
    bench = Bench()
    one = bench.init()
    bench.send(one)
    bench.log.is_slow = True
    answers = []
    bench.coordinator.end("shop", one, commit=True, answered=answers.append)
    assert answers == []
    assert bench.state.first_open_offset(QUEUE) == 0, "readers wait for the disk as well"
    for ask in (lambda: bench.send(one, 1), lambda: bench.end(one), bench.init):
        with refused(Refusal.CONCURRENT):
            ask()
    with refused(Refusal.CONCURRENT):
        bench.coordinator.add_offsets("shop", one, [(OffsetKey("g", "t", 0), 1)])
    bench.now += 10_000_000
    bench.coordinator.tick()
    bench.log.tell()
    assert answers == [Identity(0, 1)]
    assert bench.state.first_open_offset(QUEUE) is None


def test_what_the_disk_did_not_take_is_not_answered_as_done():
    bench = Bench()
    one = bench.init()
    bench.send(one)
    bench.log.is_slow = True
    answers = []
    bench.coordinator.end("shop", one, commit=True, answered=answers.append)
    bench.log.tell(durable=False)
    assert answers[0].refusal is Refusal.NOT_STORED
    assert bench.applied == []
    assert bench.state.first_open_offset(QUEUE) == 0


def test_a_full_store_leaves_the_transaction_as_it_is():
    bench = Bench()
    one = bench.init()
    bench.send(one)
    before = encode_snapshot(bench.state, 0)
    bench.log.is_full = True
    with refused(Refusal.NOT_STORED):
        bench.end(one)
    assert encode_snapshot(bench.state, 0) == before
    bench.log.is_full = False
    assert bench.end(one) == Identity(0, 1)


def test_it_is_aborted_when_its_time_is_over_and_not_before():
    bench = Bench()
    one = bench.init(timeout_ms=1_000)
    bench.send(one)
    bench.now += 1_000
    bench.coordinator.tick()
    assert bench.state.ids["shop"].state is AtomicPhase.ONGOING
    bench.now += 1
    bench.coordinator.tick()
    assert bench.state.ids["shop"].state is AtomicPhase.ABORTED
    assert bench.state.is_aborted(QUEUE, 0)
    with refused(Refusal.OLD_EPOCH):
        bench.end(one)
    with refused(Refusal.OLD_EPOCH):
        bench.send(one, 1)
    assert bench.init(known=one) == Identity(0, 1)


def test_a_clock_that_goes_back_aborts_nothing():
    bench = Bench()
    bench.send(bench.init(timeout_ms=1_000))
    bench.now -= 10_000
    bench.coordinator.tick()
    assert bench.state.ids["shop"].state is AtomicPhase.ONGOING


def test_producer_ids_are_replaced_when_their_epochs_are_used_up():
    bench = Bench()
    one = bench.init()
    bench.state.ids["shop"].epoch = EPOCH_LAST
    last = Identity(one.producer_id, EPOCH_LAST)
    bench.send(last)
    following = bench.end(last)
    assert following == Identity(1, 0)
    assert bench.end(last) == following, "its answer may be lost as any other"
    again = Bench(decode_snapshot(encode_snapshot(bench.state, 0))[0])
    assert again.end(last) == following
    bench.send(following)
    bench.end(following)
    with refused(Refusal.FENCED):
        bench.end(last)


def test_positions_are_set_by_a_commit_only():
    for commit in (True, False):
        bench = Bench()
        one = bench.init()
        key = OffsetKey("g", "t", 0)
        bench.coordinator.add_offsets("shop", one, [(key, 5)])
        assert bench.state.pending_offset(key)
        bench.end(one, commit=commit)
        ((_, applied),) = bench.applied
        assert [(k, pending.offset) for k, pending in applied] == ([(key, 5)] if commit else [])
        assert not bench.state.pending_offset(key)


def test_an_idle_id_is_forgotten_after_a_week_and_gets_a_new_producer_id():
    bench = Bench()
    one = bench.init()
    bench.state.expire(bench.now + 604_800_000)
    assert "shop" in bench.state.ids
    bench.state.expire(bench.now + 604_800_001)
    assert bench.state.ids == {}
    with refused(Refusal.UNKNOWN_ID):
        bench.end(one)
    assert bench.init() == Identity(1, 0)


def test_an_open_transaction_is_never_forgotten():
    bench = Bench()
    bench.send(bench.init())
    bench.state.expire(bench.now + 10 * 604_800_000)
    assert bench.state.ids["shop"].state is AtomicPhase.ONGOING
    assert bench.state.sequences[QUEUE].windows


def test_idle_producers_are_forgotten_after_a_day():
    bench = Bench()
    bench.send(bench.init(None), name=None)
    bench.state.expire(bench.now + 86_400_001)
    assert bench.state.sequences == {}


def test_two_transactions_in_one_queue_hold_it_back_one_after_the_other():
    bench = Bench()
    one, two = bench.init("a"), bench.init("b")
    bench.send(one, name="a")
    bench.send(two, name="b")
    bench.end(two, name="b")
    assert bench.state.first_open_offset(QUEUE) == 0
    bench.end(one, name="a", commit=False)
    assert bench.state.first_open_offset(QUEUE) is None
    assert [bench.state.is_aborted(QUEUE, offset) for offset in (0, 1)] == [True, False]
