"""Stores of real brokers with transactions: their whole history is told, and what is pending is checked and resolved."""

import asyncio
import json
from collections import Counter

import pytest

from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.transaction.history import LifeState, StepKind, read_history
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import CHECK_GROUP, HALF_TOPIC, OP_TOPIC
from tests.support.clock import ManualClock
from tests.support.golden import contents, golden_store
from tests.support.remoting_peer import eventually

STORES = pytest.mark.parametrize("name", ["transaction", "transaction-5"])
COMMITTED, ROLLED_BACK, GIVEN_UP, CHECKING = (
    LifeState.COMMITTED, LifeState.ROLLED_BACK, LifeState.GIVEN_UP, LifeState.CHECKING,
)  # fmt: skip


def columns(golden, topic):
    """Description of a topic's messages by physical offset."""
    return {m.columns["physicalOffset"]: m.columns for m in golden.messages() if m.topic == topic}


@STORES
def test_the_history_of_every_transaction_is_told_from_the_store_alone(tmp_path, name):
    golden = golden_store(name)
    root = golden.unpack(tmp_path)
    before = contents(root)
    halves = columns(golden, HALF_TOPIC)
    checked = golden.expected["transactions"][HALF_TOPIC]["checkedOffset"]
    with MessageStore.open(StoreConfig(root=root), read_only=True) as store:
        page = read_history(store, count=1_000, half_progress=checked)
        assert (page.next_before, page.notice) == (-1, "")
        assert contents(root) == before
        pages, position = [], -1
        while True:
            part = read_history(store, before=position, count=10, half_progress=checked)
            pages += part.lives
            if part.next_before < 0:
                break
            position = part.next_before
    assert [life.origin for life in pages] == [life.origin for life in page.lives]
    assert sorted(place for life in page.lives for place in life.half_places) == sorted(halves)
    for life in page.lives:
        assert len({halves[place]["properties"]["UNIQ_KEY"] for place in life.half_places}) == 1
        assert life.check_times == int(halves[life.half_places[-1]]["properties"].get("TRANSACTION_CHECK_TIMES", 0))
        assert [step.physical_offset for step in life.steps] == sorted(step.physical_offset for step in life.steps)
    reals = Counter(
        message.columns["preparedTransactionOffset"] for message in golden.messages() if message.columns["sysFlag"] & 0xC == 8
    )
    assert sum(len(life.real_offsets) for life in page.lives) == reals.total()
    outcomes = Counter((halves[life.half_places[0]]["properties"]["plan"], life.state) for life in page.lives)
    planned = Counter(half["plan"] for half in golden.expected["plans"] if half["what"] == "half")
    assert sum(outcomes.values()) == planned.total()
    for plan, state in outcomes:
        # A 5.x broker loses decisions that it had only collected; those are checked, and given up when never answered.
        allowed = {"commit": {COMMITTED}, "rollback": {ROLLED_BACK, GIVEN_UP}, "never": {GIVEN_UP, CHECKING}}
        allowed |= {
            "late-commit": {COMMITTED},
            "check-commit": {COMMITTED, GIVEN_UP, CHECKING},
            "check-rollback": {ROLLED_BACK},
        }
        assert state in allowed[plan]
    assert sum(count for (_plan, state), count in outcomes.items() if state is CHECKING) == len(halves) - checked


@STORES
def test_a_step_is_told_for_what_it_was(tmp_path, name):
    golden = golden_store(name)
    with MessageStore.open(StoreConfig(root=golden.unpack(tmp_path)), read_only=True) as store:
        lives = read_history(store, count=1_000).lives
    kinds = Counter(step.kind for life in lives for step in life.steps)
    assert kinds[StepKind.PREPARED] == len(lives)
    assert kinds[StepKind.PREPARED] + kinds[StepKind.CHECKED] == len(columns(golden, HALF_TOPIC))
    assert kinds[StepKind.GIVEN_UP] == len(columns(golden, "TRANS_CHECK_MAX_TIME_TOPIC"))


@STORES
def test_what_is_pending_is_checked_and_resolved_after_taking_over(tmp_path, name):
    golden = golden_store(name)
    root = golden.unpack(tmp_path)
    halves = columns(golden, HALF_TOPIC)
    checked = golden.expected["transactions"][HALF_TOPIC]["checkedOffset"]
    waiting = [half["properties"] for half in halves.values() if half["queueOffset"] >= checked]
    last_ms = max(half["storeTimestamp"] for half in halves.values())
    # Past the immunity of two of them, and not past the retention, whenever this runs.
    clock = ManualClock(last_ms + 700_000)
    config = BrokerConfig(
        listen_port=0,
        name_server_port=0,
        transaction_check_interval_ms=50,
        store=StoreConfig(root=root, consume_queue_file_bytes=1_000, max_hash_slots=142, max_index_items=300),
    )
    asked = []

    def fate(message):
        asked.append(message.message_id)
        return LocalState.COMMIT if message.message_id[-1] in "02468ACE" else LocalState.ROLLBACK

    async def take_over():
        broker = EmbeddedBroker(config, clock=clock)
        await broker.start()
        try:
            before = broker.transactions.engine.ledger
            assert len(before) == len(waiting) == 6
            async with TransactionProducer(broker.name_server_address, "Shop-tx", fate) as producer:
                await producer.answer_checks("ShopTrade")
                await eventually(lambda: not len(before), seconds=60)
            counters = broker.transactions.engine.counters
            return counters.committed, counters.rolled_back
        finally:
            await broker.stop()

    committed, rolled_back = asyncio.run(take_over())
    keys = {properties["UNIQ_KEY"] for properties in waiting}
    expected = {key for key in keys if key[-1] in "02468ACE"}
    assert (committed, rolled_back) == (len(expected), 6 - len(expected))
    assert set(asked) == keys
    with MessageStore.open(config.store, read_only=True) as store:
        lives = {life.unique_key: life for life in read_history(store, count=1_000).lives if life.unique_key in keys}
        assert {key for key, life in lives.items() if life.state is COMMITTED and len(life.real_offsets) == 1} == expected
        assert {life.state for key, life in lives.items() if key not in expected} <= {ROLLED_BACK}
        for key in expected:
            real = decode_record(store.record_at(lives[key].real_offsets[0]))
            assert real.properties["UNIQ_KEY"] == key
            assert real.topic == lives[key].topic
        ends = store.max_offset(HALF_TOPIC, 0), store.max_offset(OP_TOPIC, 0)

    offsets = json.loads((root / "config" / "consumerOffset.json").read_text())["offsetTable"]
    assert tuple(offsets[f"{topic}@{CHECK_GROUP}"]["0"] for topic in (HALF_TOPIC, OP_TOPIC)) == ends
