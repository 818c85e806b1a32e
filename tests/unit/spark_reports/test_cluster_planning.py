from datetime import UTC, datetime

import pytest

from broker_core.cluster.slices import OFFSET_MAX, QueueSlice, ReadLimits, Unknown
from spark_reports.datasource.cluster_options import ClusterOptions
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.cluster_planning import tasks_of, wanted_of
from spark_reports.datasource.filters import ColumnComparison
from spark_reports.datasource.options import Selection

UNLIMITED = ReadLimits(0, 0)


def queue(queue_id, messages, broker="a"):
    return QueueSlice("orders", broker, f"{broker}:1", queue_id, 1_000, 1_000 + messages)


def covered(tasks):
    """Offsets of all tasks, to see that each is read once."""
    return sorted((one.broker, one.queue_id, offset) for task in tasks for one in task for offset in range(one.first, one.end))


@pytest.mark.parametrize("limits", [UNLIMITED, ReadLimits(10, 10)])
def test_every_message_is_in_one_slice_of_bounded_size(limits):
    queues = [queue(0, 95), queue(1, 3), queue(2, 4), queue(0, 20, "b")]
    tasks = list(tasks_of(queues, ClusterOptions("ns", limits=limits, slice_messages=10, tasks_per_broker=4)))
    assert covered(tasks) == covered([tuple(queues)])
    assert all(one.messages <= 10 for task in tasks for one in task)
    assert all(len({one.address for one in task}) == 1 for task in tasks)


def test_a_big_queue_spreads_over_tasks():
    tasks = list(tasks_of([queue(0, 100)], ClusterOptions("ns", limits=UNLIMITED, slice_messages=10)))
    assert [sum(one.messages for one in task) for task in tasks] == [10] * 10


def test_small_queues_share_a_task():
    tasks = list(
        tasks_of([queue(number, 1) for number in range(40)], ClusterOptions("ns", limits=UNLIMITED, slice_messages=20))
    )
    assert [len(task) for task in tasks] == [20, 20]


def test_limits_hold_however_many_tasks_run_at_once():
    limits = ReadLimits(1_000, 8_000)
    queues = [queue(0, 500), queue(1, 30), queue(0, 7, "b")]
    tasks = tuple(tasks_of(queues, ClusterOptions("ns", limits=limits, slice_messages=10, tasks_per_broker=4)))
    plan = ClusterPlan("ns", tasks=tasks, limits=limits)
    for broker in ("a:1", "b:1"):
        shares = [plan.limits_of(task) for task in tasks if task[0].address == broker]
        assert 1 <= len(shares) <= 4
        assert sum(share.messages_per_second for share in shares) <= 1_000
        assert sum(share.bytes_per_second for share in shares) <= 8_000


def test_a_plan_is_the_same_after_its_journey_as_text():
    plan = ClusterPlan("ns", "env:KEYS", ((queue(0, 5), queue(1, 2)), (queue(0, 1, "b"),)), ReadLimits(1, 2, 3),
                       (Unknown("c", "gone"),), ("a", "b", "c"))  # fmt: skip
    assert ClusterPlan.from_json(plan.to_json()) == plan
    assert (plan.messages, plan.queues) == (8, 3)


def test_filters_narrow_what_is_asked_for():
    wanted = wanted_of(
        Selection(
            comparisons=(
                ColumnComparison("topic", "in", ("orders", "pay")),
                ColumnComparison("queue_id", "less", (2,)),
                ColumnComparison("store", "equal", ("b",), is_negated=True),
                ColumnComparison("queue_offset", "greater", (10,)),
                ColumnComparison("queue_offset", "less_equal", (20,)),
                ColumnComparison("store_time", "greater_equal", (datetime(2026, 1, 1, tzinfo=UTC),)),
            )
        )
    )
    assert wanted.topics == ("orders", "pay")
    assert wanted.from_ms == 1_767_225_600_000
    assert wanted.bounds("orders", "a", 1) == (11, 21)
    assert wanted.bounds("orders", "a", 2) is None
    assert wanted.bounds("orders", "b", 1) is None
    assert wanted.bounds("refunds", "a", 1) is None


def test_nothing_said_is_everything():
    wanted = wanted_of(Selection())
    assert (wanted.topics, wanted.with_internal, wanted.from_ms, wanted.to_ms) == (None, False, None, None)
    assert wanted.bounds("orders", "a", 1) == (0, OFFSET_MAX)


def test_topics_that_are_meant_bring_those_where_their_messages_wait():
    wanted = wanted_of(Selection(topics=("orders",), meant=True))
    assert (wanted.topics, wanted.with_internal) == (("orders",), True)


def test_given_offsets_are_the_only_ones():
    wanted = wanted_of(Selection(comparisons=(ColumnComparison("queue_offset", "less", (8,)),)), {"orders": {"a:1": (5, 9)}})
    assert wanted.topics == ("orders",)
    assert (wanted.bounds("orders", "a", 1), wanted.bounds("orders", "a", 0)) == ((5, 8), None)
