import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from broker_core.worker.questions.figures import Catalog, Snapshot
from monitoring.collector import Collector
from monitoring.group_outlook import GroupOutlook, HelpKind, group_outlook
from monitoring.lag import LagOutlook
from monitoring.series import History
from monitoring.state import ClusterState

SECONDS = 60


def column(values):
    return b"".join(int(value).to_bytes(8, "little", signed=True) for value in values)


@dataclass
class Group:
    """A group of one topic: messages/s into and out of each queue, over a minute."""

    arriving: list[int]
    consumed: list[int]
    members: int
    lag: int = 10_000
    sent: int = 0
    """Messages/s that the members were sent and have not processed."""
    owner: int = 0
    """Of its queues: a client, -1 nobody, -2 not known."""

    def outlook(self) -> GroupOutlook:
        return group_outlook(*state_after(len(self.arriving), self.snapshot), "g")

    def snapshot(self, second: int) -> Snapshot:
        ends = [self.lag + rate * second for rate in self.arriving]
        offsets = [rate * second for rate in self.consumed]
        return snapshot_of(second, ends, offsets, members=self.members, sent=sum(offsets) + self.sent * second,
                           owner=self.owner)  # fmt: skip


def snapshot_of(
    second: int, ends: list[int], offsets: list[int], *, members: int = 1, sent: int = 0, owner: int = 0
) -> Snapshot:
    none = [-1] * len(ends)
    return Snapshot(
        revision=1,
        taken_ms=1_000_000 + second * 1_000,
        queues={"min_offset": column([0] * len(ends)), "max_offset": column(ends), "last_store_ms": column(none)},
        topics={"put_messages": column([sum(ends)]), "put_bytes": column([0]), "got_messages": column([sum(offsets)])},
        groups={"members": column([members]), "got_messages": column([sent])},
        positions={"offset": column(offsets), "next_store_ms": column(none), "owner": column([owner] * len(ends))},
        owners=["c1"],
        totals={},
    )


def state_after(queues: int, taken: Callable[[int], Snapshot], seconds: int = SECONDS) -> tuple[History, ClusterState]:
    """What is known of a group of one topic after a snapshot of each second."""
    history = History()
    collector = Collector(history)
    collector.catalog_changed(
        Catalog(
            revision=1, topics=["orders"], queue_topic=[0] * queues, queue_id=list(range(queues)), groups=["g"],
            position_group=[0] * queues, position_queue=list(range(queues)), group_is_system=[False],
            topic_read_queues=[queues], topic_write_queues=[queues], topic_permission=[6], topic_is_system=[False],
        )
    )  # fmt: skip
    state = None
    for second in range(seconds):
        state = collector.snapshot_taken(taken(second))
    assert state is not None
    return history, state


def consumed_rate(queues: int, taken: Callable[[int], Snapshot], seconds: int = SECONDS) -> float:
    (rate,) = state_after(queues, taken, seconds)[1].group_consumed_rate.tolist()
    return float(rate)


def test_a_group_is_drained_when_its_slowest_queue_is():
    found = Group([10, 10], [110, 60], members=2).outlook()
    assert found.forecast.outlook is LagOutlook.DRAINING
    assert found.slowest is not None
    assert (found.slowest.topic, found.slowest.queue_id) == ("orders", 1)
    assert found.drained_in_ms == pytest.approx((10_000 - 50 * 59) / 50 * 1_000, rel=0.02)
    assert found.help is None


@pytest.mark.parametrize("sent", [0, 103])
def test_what_a_group_consumes_is_not_what_its_clients_were_sent(sent):
    # 298/s arrive; what waits at the clients is not consumed, and the 2 members consume 97/s each, so that 4 are enough.
    found = Group([149, 149], [97, 98], members=2, lag=1_000, sent=sent)
    assert consumed_rate(2, found.snapshot) == pytest.approx(195, rel=0.02)
    more = Group([75] * 4 + [0] * 4, [49] * 4 + [0] * 4, members=2, lag=1_000, sent=sent).outlook().help
    assert more is not None
    assert (more.kind, more.more) == (HelpKind.MORE_CONSUMERS, 2)


@pytest.mark.parametrize("seconds", [55, 57, 59, 62, 75])
def test_in_out_growth_and_advice_agree_from_the_first_seconds_of_a_lag(seconds):
    def taken(second: int) -> Snapshot:
        # 60/s arrive since second 40, and one consumer processes 20/s of them and stores its offsets every 5 s.
        since = max(0, second - 40)
        return snapshot_of(second, [15 * since] * 4, [5 * (since // 5 * 5)] * 4)

    history, state = state_after(4, taken, seconds)
    found = group_outlook(history, state, "g")
    assert state.group_consumed_rate[0] == pytest.approx(20, rel=0.1)
    assert found.forecast.slope == pytest.approx(40, rel=0.1)
    assert found.help is not None
    assert (found.help.kind, found.help.more) == (HelpKind.MORE_CONSUMERS, 3)


@pytest.mark.parametrize("seconds", [25, 40, 60])
def test_nothing_is_consumed_where_no_offset_moves(seconds):
    def taken(second: int) -> Snapshot:
        return snapshot_of(second, [400 * min(second, 10)], [0 if second >= 10 else -1], members=0)

    assert consumed_rate(1, taken, seconds) == 0


def test_a_group_that_has_stopped_consumes_nothing_although_its_lag_never_turned():
    def taken(second: int) -> Snapshot:
        sent = 60 * min(second, 100)
        return snapshot_of(second, [sent], [sent])

    assert consumed_rate(1, taken, 90) == pytest.approx(60)
    assert consumed_rate(1, taken, 117) == 0


def test_offsets_that_are_set_back_are_no_consumption():
    def taken(second: int) -> Snapshot:
        return snapshot_of(second, [1_000], [900 if second < 55 else 100])

    assert consumed_rate(1, taken) == 0


def test_one_queue_that_does_not_drain_has_no_end():
    found = Group([10, 10], [200, 10], members=2, lag=20_000).outlook()
    assert found.forecast.outlook is LagOutlook.DRAINING
    assert found.slowest is not None
    assert found.slowest.queue_id == 1
    assert math.isinf(found.drained_in_ms)


@pytest.mark.parametrize(
    ("members", "consumed", "kind", "more"),
    [
        # 800/s arrive; 2 members consume 160/s each, so that 6 are enough.
        (2, 40, HelpKind.MORE_CONSUMERS, 4),
        # 2 members consume 40/s each: 8 of them are not enough.
        (2, 10, HelpKind.TOO_FEW_QUEUES, 0),
        (8, 40, HelpKind.ALL_QUEUES_TAKEN, 0),
    ],
)
def test_what_would_help_follows_from_rates_members_and_queues(members, consumed, kind, more):
    found = Group([100] * 8, [consumed] * 8, members).outlook()
    assert found.forecast.outlook is LagOutlook.GROWING
    assert found.help is not None
    assert (found.help.kind, found.help.more, found.help.queues) == (kind, more, 8)


def test_more_consumers_do_not_help_where_one_queue_has_all_of_the_lag():
    found = Group([100, 0], [60, 0], members=1).outlook()
    assert found.help is not None
    assert found.help.kind is HelpKind.MORE_CONSUMERS
    hot = Group([400, 10], [20, 10], members=1, lag=1).outlook()
    assert hot.help is not None
    assert hot.help.kind is HelpKind.ONE_QUEUE


@pytest.mark.parametrize(
    ("arriving", "consumed", "members", "more"),
    [
        # 800/s arrive; 8 members consume 40/s each, so that 21 are enough.
        ([100] * 8, [40] * 8, 8, 13),
        # One queue has all of the lag, and each member may receive of it: 160/s arrive, one consumes 40/s.
        ([160, 0], [40, 0], 1, 4),
    ],
)
def test_members_that_own_no_queue_are_not_bounded_by_the_number_of_queues(arriving, consumed, members, more):
    found = Group(arriving, consumed, members, lag=1, owner=-1).outlook().help
    assert found is not None
    assert (found.kind, found.more, found.queues) == (HelpKind.MORE_CONSUMERS, more, 0)
    owned = Group(arriving, consumed, members, lag=1, owner=-2).outlook().help
    assert owned is not None
    assert owned.kind is not HelpKind.MORE_CONSUMERS, "where owners are not known queues bound the members"


def test_nothing_is_advised_while_nobody_consumes():
    assert Group([100], [0], members=-1).outlook().help is None
    assert Group([100, 100], [0, 0], members=1).outlook().help is None


def test_an_unknown_group_has_no_outlook():
    history = History()
    collector = Collector(history)
    collector.catalog_changed(Catalog(revision=1, topics=[], queue_topic=[], queue_id=[], groups=[], position_group=[],
                                      position_queue=[], topic_read_queues=[], topic_write_queues=[], topic_permission=[],
                                      topic_is_system=[]))  # fmt: skip
    state = collector.snapshot_taken(
        Snapshot(revision=1, taken_ms=1, queues=dict.fromkeys(("min_offset", "max_offset", "last_store_ms"), b""),
                 topics=dict.fromkeys(("put_messages", "put_bytes", "got_messages"), b""),
                 groups=dict.fromkeys(("members", "got_messages"), b""),
                 positions=dict.fromkeys(("offset", "next_store_ms", "owner"), b""), owners=[], totals={})
    )  # fmt: skip
    assert state is not None
    assert group_outlook(history, state, "g").forecast.outlook is LagOutlook.UNKNOWN


def test_a_group_that_keeps_up_has_no_slowest_queue():
    found = Group([10, 10], [10, 10], members=1, lag=30).outlook()
    assert (found.forecast.outlook, found.slowest) == (LagOutlook.STEADY, None), "some messages are on their way in each queue"
