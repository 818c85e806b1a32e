"""Which half messages are undecided, and how far the queues are done with: against a plain model, and in single steps."""

from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.transaction.ledger import TransactionLedger, TransactionOutcome
from broker_core.engine.transaction.messages import HalfMessage


def half(offset, *, origin=None, group="PG", check_times=0):
    return HalfMessage(offset if origin is None else origin, offset, offset * 100, 100, group, "T", 0, 1, 1, -1, check_times)


def loaded(*, halves=(), ops=(), **start):
    ledger = TransactionLedger(**start)
    for number, offsets in enumerate(ops):
        ledger.op_arrived(number, offsets)
    for item in halves:
        ledger.half_arrived(item)
    ledger.loaded()
    return ledger


def test_a_copy_takes_the_place_of_its_original():
    ledger = loaded(halves=[half(0), half(1)])
    known = ledger.find(0)
    ledger.half_arrived(half(2, origin=0, check_times=1))
    assert (known.half_offset, ledger.find(0), ledger.find(2), len(ledger), ledger.checked) == (2, known, None, 2, 1)
    assert (ledger.half_progress, ledger.half_end) == (1, 3)
    ledger.resolve(ledger.find(1), TransactionOutcome.COMMITTED)
    assert ledger.half_progress == 2


def test_an_op_for_the_copy_decides_the_transaction_also_after_a_restart():
    ledger = loaded(halves=[half(0), half(2, origin=0)], ops=[[2]])
    assert (len(ledger), ledger.outcome(0), ledger.half_progress) == (0, TransactionOutcome.DECIDED, 3)


def test_an_op_for_the_original_decides_a_postponed_copy():
    """A real broker writes the offset that the producer knows; its original is behind the progress by then."""
    ledger = loaded(halves=[half(7, origin=2)], ops=[[2]], half_start=7)
    assert len(ledger) == 0


def test_a_decision_is_remembered_with_the_way_it_went():
    ledger = loaded(halves=[half(0)])
    item = ledger.find(0)
    ledger.op_arrived(0, [0])
    assert ledger.outcome(0) is TransactionOutcome.DECIDED
    ledger.resolve(item, TransactionOutcome.ROLLED_BACK)
    assert (ledger.outcome(0), ledger.groups) == (TransactionOutcome.ROLLED_BACK, {})


def test_a_foreign_op_record_does_not_hold_back_progress():
    ledger = loaded(halves=[half(0)], ops=[[], [0], []])
    assert ledger.op_progress == 3


def test_counts_by_group_follow():
    ledger = loaded(halves=[half(0, group="A"), half(1, group="B"), half(2, group="A", check_times=3)])
    assert (ledger.groups, ledger.checked) == ({"A": 2, "B": 1}, 1)
    ledger.resolve(ledger.find(2), TransactionOutcome.GIVEN_UP)
    assert (ledger.groups, ledger.checked) == ({"A": 1, "B": 1}, 0)


@given(st.lists(st.integers(0, 9), max_size=25), st.integers(1, 10))
def test_progress_is_that_of_a_plain_model(decided, count):
    """Ops in any order, repeated, for halves that are there or not."""
    ledger = loaded(halves=[half(number) for number in range(count)])
    for number, offset in enumerate(decided):
        ledger.op_arrived(number, [offset])
    open_halves = [number for number in range(count) if number not in decided]
    progress = min(open_halves, default=count)
    assert ledger.half_progress == progress
    needed = [number for number, offset in enumerate(decided) if offset >= progress]
    assert ledger.op_progress == min(needed, default=len(decided))
    again = loaded(halves=[half(number) for number in range(progress, count)], ops=[[o] for o in decided], half_start=progress)
    assert [item.half_offset for item in again] == [item.half_offset for item in ledger] == open_halves
