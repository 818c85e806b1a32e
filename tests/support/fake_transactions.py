"""Transactions of the shop."""

from __future__ import annotations

from broker_core.worker.questions.transactions import AtomicPage, TransactionHistory, TransactionPage
from tests.support.fake_shop import TAKEN_MS


def fake_transactions() -> TransactionPage:
    """Three undecided transactions of the shop: one new, one that is checked, one whose producers are gone."""
    return TransactionPage(
        total=3,
        check_times_max=15,
        origin=[40, 38, 12],
        half_offset=[40, 52, 12],
        op_offset=[31, 31, 31],
        physical_offset=[90_112, 94_208, 40_960],
        real_offset=[-1, -1, -1],
        state=["prepared", "checking", "waiting"],
        group=["pay-tx", "pay-tx", "stock-tx"],
        producers=[2, 2, 0],
        topic=["pay-result", "pay-result", "inventory-reserve"],
        queue_id=[0, 3, 7],
        keys=["pay-7", "pay-6", "sku-9"],
        tag=["paid", "paid", ""],
        unique_key=["7F0000010000000000000000000000A1", "7F0000010000000000000000000000A0", "7F000001000000000000000000000090"],
        body_bytes=[1_126, 1_126, 812],
        born_ms=[TAKEN_MS - 2_000, TAKEN_MS - 130_000, TAKEN_MS - 900_000],
        check_times=[0, 2, 0],
        asked_ms=[-1, TAKEN_MS - 12_000, -1],
        next_check_ms=[TAKEN_MS + 48_000, TAKEN_MS + 48_000, -1],
        ended_ms=[-1, -1, -1],
    )


def fake_ended_transactions() -> TransactionPage:
    """Three that ended: committed after 84 ms, rolled back after 120 ms, given up after its checks."""
    return TransactionPage(
        total=3,
        check_times_max=15,
        origin=[36, 35, 2],
        half_offset=[36, 35, 33],
        op_offset=[30, 29, 28],
        physical_offset=[88_064, 87_040, 86_016],
        real_offset=[95_232, -1, -1],
        state=["committed", "rolled back", "given up"],
        group=["pay-tx", "pay-tx", "risk-tx"],
        producers=[2, 2, 0],
        topic=["pay-result", "pay-result", "pay-result"],
        queue_id=[1, 2, 0],
        keys=["pay-5", "pay-4", "risk-1"],
        tag=["paid", "paid", ""],
        unique_key=["7F0000010000000000000000000000B2", "7F0000010000000000000000000000B1", "7F0000010000000000000000000000B0"],
        body_bytes=[1_126, 1_126, 1_126],
        born_ms=[TAKEN_MS - 5_000, TAKEN_MS - 6_000, TAKEN_MS - 960_000],
        check_times=[0, 0, 15],
        asked_ms=[-1, -1, TAKEN_MS - 60_000],
        next_check_ms=[-1, -1, -1],
        ended_ms=[TAKEN_MS - 4_916, TAKEN_MS - 5_880, TAKEN_MS - 30_000],
    )


def fake_transaction_history() -> TransactionHistory:
    """One transaction that was committed after a check."""
    return TransactionHistory(
        next_before=-1,
        origin=[38],
        state=["committed"],
        group=["pay-tx"],
        topic=["pay-result"],
        queue_id=[3],
        keys=["pay-6"],
        tag=["paid"],
        unique_key=["7F0000010000000000000000000000A0"],
        born_ms=[TAKEN_MS - 130_000],
        check_times=[1],
        op_offset=[30],
        deliveries=[1],
        step_row=[0, 0, 0, 0],
        step_kind=["prepared", "checked", "delivered", "decided"],
        step_ms=[TAKEN_MS - 130_000, TAKEN_MS - 60_000, TAKEN_MS - 59_900, TAKEN_MS - 59_900],
        step_queue_offset=[38, 52, 1_204, 30],
        step_physical_offset=[81_920, 94_208, 95_232, 96_256],
    )


def fake_atomic() -> AtomicPage:
    """Two producers, one with an open transaction over two queues."""
    return AtomicPage(
        total=2,
        name=["shop-1", "billing"],
        producer_id=[1000, 1001],
        epoch=[4, 0],
        state=["open", "committed"],
        start_ms=[TAKEN_MS - 21_000, -1],
        update_ms=[TAKEN_MS - 21_000, TAKEN_MS - 900_000],
        timeout_ms=[60_000, 60_000],
        offsets=[1, 0],
        queue_row=[0, 0],
        queue_topic=["audit", "orders"],
        queue_id=[0, 2],
        queue_first_offset=[17, 4_711],
        queue_held_back=[3, 250],
    )
