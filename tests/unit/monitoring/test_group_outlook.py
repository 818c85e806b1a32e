import math
from dataclasses import dataclass

import pytest

from broker_core.worker.questions.figures import Catalog, Snapshot
from monitoring.collector import Collector
from monitoring.group_outlook import GroupOutlook, HelpKind, group_outlook
from monitoring.lag import LagOutlook
from monitoring.series import History

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

    def outlook(self) -> GroupOutlook:
        queues, history = len(self.arriving), History()
        collector = Collector(history)
        collector.catalog_changed(
            Catalog(
                revision=1, topics=["orders"], queue_topic=[0] * queues, queue_id=list(range(queues)), groups=["g"],
                position_group=[0] * queues, position_queue=list(range(queues)), group_is_system=[False],
                topic_read_queues=[queues], topic_write_queues=[queues], topic_permission=[6], topic_is_system=[False],
            )
        )  # fmt: skip
        state = None
        for second in range(SECONDS):
            state = collector.snapshot_taken(self._snapshot(second))
        assert state is not None
        return group_outlook(history, state, "g")

    def _snapshot(self, second: int) -> Snapshot:
        ends = [self.lag + rate * second for rate in self.arriving]
        offsets = [rate * second for rate in self.consumed]
        none = [-1] * len(ends)
        return Snapshot(
            revision=1,
            taken_ms=1_000_000 + second * 1_000,
            queues={"min_offset": column([0] * len(ends)), "max_offset": column(ends), "last_store_ms": column(none)},
            topics={"put_messages": column([sum(ends)]), "put_bytes": column([0]), "got_messages": column([sum(offsets)])},
            groups={"members": column([self.members]), "got_messages": column([sum(offsets) + self.sent * second])},
            positions={"offset": column(offsets), "next_store_ms": column(none), "owner": column(none)},
            owners=[],
            totals={},
        )


def test_a_group_is_drained_when_its_slowest_queue_is():
    found = Group([10, 10], [110, 60], members=2).outlook()
    assert found.forecast.outlook is LagOutlook.DRAINING
    assert found.slowest is not None
    assert (found.slowest.topic, found.slowest.queue_id) == ("orders", 1)
    assert found.drained_in_ms == pytest.approx((10_000 - 50 * 59) / 50 * 1_000, rel=0.02)
    assert found.help is None


@pytest.mark.parametrize("sent", [0, 103])
def test_what_a_group_consumes_is_what_comes_in_less_the_growth_of_its_lag(sent):
    # 298/s arrive; what waits at the clients is not consumed, and the 2 members consume 97/s each, so that 4 are enough.
    found = Group([149, 149], [97, 98], members=2, lag=1_000, sent=sent)
    assert found.outlook().consumed_rate == pytest.approx(195, rel=0.02)
    more = Group([75] * 4 + [0] * 4, [49] * 4 + [0] * 4, members=2, lag=1_000, sent=sent).outlook().help
    assert more is not None
    assert (more.kind, more.more) == (HelpKind.MORE_CONSUMERS, 2)


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
