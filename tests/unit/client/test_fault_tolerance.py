"""Which brokers are left alone, and for how long."""

import pytest

from broker_core.client.fault_tolerance import FaultTolerance
from broker_core.protocol.json_body import MessageQueue

QUEUES = [MessageQueue("T", name, number) for name in ("a", "b", "c", "d") for number in range(2)]


@pytest.mark.parametrize(
    ("latency_ms", "avoided_ms"),
    [(49, 0), (100, 0), (549, 0), (550, 30_000), (1_000, 60_000), (2_999, 120_000), (3_000, 180_000), (15_000, 600_000)],
)
def test_a_slow_broker_is_left_alone_the_longer_the_slower_it_was(latency_ms, avoided_ms):
    faults = FaultTolerance()
    faults.sent("a", latency_ms, 1_000)
    assert faults.is_available("a", 1_000 + avoided_ms)
    assert avoided_ms == 0 or not faults.is_available("a", 999 + avoided_ms)


def test_a_failure_counts_as_the_slowest():
    faults = FaultTolerance()
    faults.sent("a", 1, 0, failed=True)
    assert [faults.is_available("a", now) for now in (599_999, 600_000)] == [False, True]


def test_queues_of_brokers_that_are_left_alone_are_passed_over():
    faults = FaultTolerance()
    faults.sent("a", 5_000, 0)
    assert [faults.choose(QUEUES, index, 10).broker_name for index in range(4)] == ["b", "b", "b", "b"]
    assert faults.choose(QUEUES, 0, 1_000_000).broker_name == "a"


def test_where_none_is_available_one_of_the_better_half_serves():
    faults = FaultTolerance()
    for name, latency_ms in {"a": 9_000, "b": 600, "c": 700, "d": 20_000}.items():
        faults.sent(name, latency_ms, 0)
    chosen = {faults.choose(QUEUES, index, 10).broker_name for index in range(8)}
    assert chosen == {"b", "c"}
