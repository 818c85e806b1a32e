"""The life of a transaction, from a store of our own."""

import pytest

from broker_core.engine.transaction.history import LifeState, StepKind, read_history
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.message.message_id import offset_message_id
from tests.support.broker_bench import RecordingPeer
from tests.support.transaction_bench import COMMIT, ROLLBACK, transaction_bench

K = StepKind


def kinds(life):
    return [step.kind for step in life.steps]


def test_every_way_a_transaction_can_go(bench):
    bench.join()
    halves = [bench.send(b"%d" % number) for number in range(4)]
    bench.code(halves[0], COMMIT)
    bench.code(halves[1], ROLLBACK)
    bench.rounds(1)
    bench.code(halves[2], COMMIT)
    young = bench.send(b"young")
    lives = {life.unique_key: life for life in read_history(bench.state.store).lives}
    assert {key: life.state for key, life in lives.items()} == {
        "0": LifeState.COMMITTED, "1": LifeState.ROLLED_BACK, "2": LifeState.COMMITTED, "3": LifeState.CHECKING,
        "young": LifeState.PREPARED,
    }  # fmt: skip
    assert kinds(lives["0"]) == [K.PREPARED, K.DELIVERED, K.DECIDED]
    assert kinds(lives["1"]) == [K.PREPARED, K.DECIDED]
    assert kinds(lives["2"]) == [K.PREPARED, K.CHECKED, K.DELIVERED, K.DECIDED]
    assert (lives["2"].group, lives["2"].topic, lives["2"].queue_id, lives["2"].check_times) == ("PG", "T", 1, 1)
    assert lives["young"].half_places == [young.physical_offset]


def test_giving_up_and_coming_back(tmp_path):
    with transaction_bench(tmp_path / "store", transaction_check_max=1) as bench:
        bench.send()
        bench.join()
        bench.rounds(2)
        assert kinds(read_history(bench.state.store).lives[0]) == [K.PREPARED, K.CHECKED, K.GIVEN_UP, K.DECIDED]
        (given_up,) = bench.messages("TRANS_CHECK_MAX_TIME_TOPIC")
        message_id = offset_message_id(given_up.store_host, given_up.physical_offset)
        bench.bench.answer(RecordingPeer(), RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": message_id})
        (life,) = read_history(bench.state.store).lives
        assert (life.state, kinds(life)[-1]) == (LifeState.PREPARED, K.RESUMED)


@pytest.mark.parametrize("count", [1, 3, 100])
def test_pages_give_each_transaction_once(bench, count):
    for number in range(7):
        bench.send(b"%d" % number)
    seen, before = [], -1
    while True:
        page = read_history(bench.state.store, before=before, count=count)
        seen += [life.unique_key for life in page.lives]
        if page.next_before < 0:
            break
        before = page.next_before
    assert seen == [str(number) for number in reversed(range(7))]


def test_a_store_without_transactions_has_no_history(bench):
    assert read_history(bench.state.store) == ([], -1, "")


def test_real_messages_are_found_without_an_index(bench, monkeypatch):
    bench.code(bench.send(), COMMIT)
    monkeypatch.setattr(bench.state.store, "query", lambda *_args, **_more: [])
    (life,) = read_history(bench.state.store).lives
    assert (life.state, len(life.real_offsets)) == (LifeState.COMMITTED, 1)


def test_what_progress_has_passed_without_a_trace_is_said_to_be_done_with(bench):
    bench.send()
    assert read_history(bench.state.store, half_progress=1).lives[0].state is LifeState.DONE_WITH


def test_one_life_needs_only_the_half_messages_from_its_own_on(bench):
    bench.join()
    halves = [bench.send(b"%d" % number) for number in range(5)]
    bench.rounds(1)
    bench.code(halves[2], COMMIT)

    page = read_history(bench.state.store, before=3, count=1, halves_back=1)

    (life,) = page.lives
    assert (life.unique_key, life.state) == ("2", LifeState.COMMITTED)
    assert kinds(life) == [K.PREPARED, K.CHECKED, K.DELIVERED, K.DECIDED]
    assert [life.unique_key for life in read_history(bench.state.store, halves_back=1).lives] == ["4"]
