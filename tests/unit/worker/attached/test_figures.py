import math
from array import array

import pytest

from broker_core.cluster.numbering import BrokerNumbers
from broker_core.protocol.admin.brokers import BrokerPlace
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.admin.proxies import ProxyPlace
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.names import CHECK_GROUP, HALF_TOPIC, PROXY_HEARTBEAT_TOPIC, SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC
from broker_core.worker.attached.figures import UNLISTED_MS, ClusterFigures
from broker_core.worker.questions.abilities import Ability
from monitoring.collector import Collector
from tests.support.clock import ManualClock


def ints(column):
    return array("q", column).tolist()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def figures(clock):
    made = ClusterFigures(BrokerNumbers(), clock=clock)
    for broker in ("a", "b"):
        made.take_tables(broker, {"T": TopicConfig("T", 1, 1, 6)}, frozenset({"idle"}))
        made.take_positions(broker, {("g", "T"): {0: 3}})
        made.take_offsets(broker, "T", {0: QueueOffsets(1, 10, 50)})
        made.take_members(broker, "g", frozenset())
        made.answered(broker)
    made.events()
    return made


def test_two_brokers_are_one_cluster(figures):
    catalog, snapshot = figures.catalog(), figures.snapshot()
    assert (catalog.topics, catalog.topic_read_queues, catalog.queue_id) == (["T"], [2], [0, 10_000])
    assert (catalog.groups, catalog.position_group, catalog.position_queue) == (["g", "idle"], [0, 0], [0, 1])
    assert (ints(snapshot.queues["max_offset"]), ints(snapshot.positions["offset"])) == ([10, 10], [3, 3])
    assert snapshot.faults == {}
    assert figures.catalog() is None


def test_the_collector_takes_what_is_told(figures):
    collector = Collector(None)
    collector.catalog_changed(figures.catalog())
    state = collector.snapshot_taken(figures.snapshot())
    assert state.group_lag_messages.tolist()[0] == 14


def test_growth_of_offsets_is_what_was_written_and_got(figures):
    figures.catalog()
    figures.take_offsets("a", "T", {0: QueueOffsets(1, 14, 60)})
    figures.take_positions("b", {("g", "T"): {0: 8}})
    snapshot = figures.snapshot()
    assert ints(snapshot.topics["put_messages"]) == [4]
    assert ints(snapshot.groups["got_messages"]) == [5, 0]
    # A reset backward is no reading.
    figures.take_positions("b", {("g", "T"): {0: 0}})
    assert ints(figures.snapshot().topics["got_messages"]) == [5]


def test_a_lost_broker_is_unknown_the_other_stays_and_it_comes_back(figures, clock):
    figures.catalog()
    figures.lost("b", "no connection")
    clock.advance(5_000)
    figures.lost("b", "no connection")
    snapshot = figures.snapshot()
    assert (ints(snapshot.queues["max_offset"]), ints(snapshot.positions["offset"])) == ([10, -1], [3, -1])
    assert snapshot.faults == {"b": "no answer for 5 s: no connection"}
    assert figures.catalog() is None
    figures.answered("b")
    assert ints(figures.snapshot().queues["max_offset"]) == [10, 10]
    assert [event.kind for event in figures.events()] == ["broker_lost", "broker_back"]


def test_a_part_that_was_not_answered_is_a_fault_but_no_loss(figures, clock):
    figures.catalog()
    figures.answered("a", "topic T: no body")
    clock.advance(3_000)
    figures.answered("a", "topic T: no body")
    assert figures.snapshot().faults == {"a": "for 3 s: topic T: no body"}
    assert ints(figures.snapshot().queues["max_offset"]) == [10, 10]


def test_a_name_server_that_does_not_answer_is_told_once(figures):
    for fault in ("gone", "gone", ""):
        figures.name_server_state(fault)
    assert [event.kind for event in figures.events()] == ["name_server_lost", "name_server_back"]


def test_a_name_server_is_missing_since_its_first_fault(figures, clock):
    figures.name_server_state("cannot connect to h:1")
    clock.advance(4_000)
    figures.name_server_state("it refuses")
    assert figures.faults() == {"name server": "for 4 s: it refuses"}


def test_positions_that_lag_are_asked_for_their_age_once(figures):
    assert figures.lagging("a") == [("g", "T", 0, 3)]
    figures.of("a").next_store["g", "T", 0] = (3, 1_234)
    assert figures.lagging("a") == []
    figures.catalog()
    assert ints(figures.snapshot().positions["next_store_ms"]) == [1_234, -1]
    # The next one is not looked at yet: it is younger than the last, so it is shown older than it is, never younger.
    figures.take_positions("a", {("g", "T"): {0: 4}})
    assert ints(figures.snapshot().positions["next_store_ms"]) == [1_234, -1]
    figures.take_positions("a", {("g", "T"): {0: 2}})
    assert ints(figures.snapshot().positions["next_store_ms"]) == [-1, -1]


def test_members_over_all_brokers_and_their_changes(figures):
    figures.catalog()
    figures.take_members("a", "g", frozenset({"c1"}))
    figures.take_members("b", "g", frozenset({"c1", "c2"}))
    figures.take_members("a", "idle", frozenset())
    assert ints(figures.snapshot().groups["members"]) == [2, -1]
    assert [event.text for event in figures.events()] == [
        "Group g has 1 member now: +c1",
        "Group g has 2 members now: +c2",
    ]


def test_a_group_that_nobody_was_asked_about_is_not_offline(clock):
    figures = ClusterFigures(BrokerNumbers(), clock=clock)
    figures.take_tables("a", {}, frozenset({"asked", "g"}))
    figures.take_members("a", "asked", frozenset())
    figures.catalog()
    assert ints(figures.snapshot().groups["members"]) == [-1, -2]


def test_subscriptions_of_all_brokers_are_one_object_until_one_changes(figures):
    everything, some = {"T": ("TAG", "*")}, {"T": ("TAG", "x")}
    figures.take_subscriptions("a", "g", everything)
    figures.take_subscriptions("b", "g", everything | {"U": ("SQL92", "a > 1")})
    wanted = figures.subscriptions()
    assert wanted == {"g": everything | {"U": ("SQL92", "a > 1")}}
    figures.take_subscriptions("a", "g", everything)
    figures.take_subscriptions("a", "offline", {})
    assert figures.subscriptions() is wanted
    figures.take_subscriptions("b", "g", {})
    figures.take_subscriptions("a", "g", some)
    assert figures.subscriptions() == {"g": some}
    figures.take_subscriptions("a", "g", {})
    assert figures.subscriptions() == {}


def test_a_group_that_was_deleted_subscribes_nothing(figures):
    for group in ("listed", "with offsets", "deleted"):
        figures.take_subscriptions("a", group, {"T": ("TAG", "*")})
    figures.take_positions("a", {("with offsets", "T"): {0: 1}})
    figures.take_tables("a", {}, frozenset({"listed"}))
    assert figures.subscriptions().keys() == {"listed", "with offsets"}


def test_of_the_brokers_own_topics_only_queues_in_use_are_listed(figures):
    topics = {"T": TopicConfig("T", 1, 1, 6), "BenchmarkTest": TopicConfig("BenchmarkTest", 1_024, 1_024, 6)}
    figures.take_tables("a", topics, frozenset())
    figures.take_offsets("a", "BenchmarkTest", {0: QueueOffsets(0, 0, 0), 5: QueueOffsets(0, 2, 9)})
    catalog = figures.catalog()
    assert list(zip(catalog.queue_topic, catalog.queue_id, strict=True)) == [(0, 5), (1, 0), (1, 10_000)]
    assert catalog.topic_is_system == [True, False]


def test_totals_are_sums_and_unknown_while_a_part_is_missing(figures):
    figures.catalog()
    figures.of("a").runtime = {"putMessageTimesTotal": "5", "commitLogMaxOffset": "9"}
    assert "put_messages" not in figures.snapshot().totals
    figures.of("b").runtime = {"putMessageTimesTotal": "6"}
    assert figures.snapshot().totals["put_messages"] == 11
    assert "started_ms" not in figures.snapshot().totals
    figures.of("a").runtime["bootTimestamp"] = "70"
    figures.of("b").runtime["bootTimestamp"] = "60"
    assert figures.snapshot().totals["started_ms"] == 70, "of the one that started last"
    assert "commit_log_max" not in figures.snapshot().totals
    figures.lost("b", "gone")
    assert "put_messages" not in figures.snapshot().totals


def test_levels_of_two_brokers_are_one_lane_each(figures, clock):
    clock.now_ms = 100_000
    for broker, offset in (("a", 2), ("b", 0)):
        of = figures.of(broker)
        of.levels.table = DelayLevels("1s 10s")
        of.levels.take_offsets({2: offset}, 100_000)
        figures.take_offsets(broker, SCHEDULE_TOPIC, {1: QueueOffsets(1, 5, 50)})
        of.levels.heads[2] = (max(offset, 1), 80_000 + offset)
    figures.catalog()
    delays = figures.snapshot().delays
    assert (ints(delays["level"]), ints(delays["pending"]), ints(delays["delay_ms"])) == ([1, 2], [0, 7], [1_000, 10_000])
    assert (ints(delays["next_due_ms"]), ints(delays["overdue_ms"])) == ([-1, 90_000], [0, 10_000])
    clock.now_ms = 130_000
    late = ints(figures.snapshot().delays["overdue_ms"])
    assert late == [0, 10_000], "what came after the offsets were read is not known, so it is not late"
    figures.of("a").levels.take_offsets({2: 4}, 130_000)
    delays = figures.snapshot().delays
    assert (ints(delays["pending"]), ints(delays["delivered"])) == ([0, 5], [0, 2])
    assert figures.of("a").levels.unread_heads({1: QueueOffsets(1, 5, 50)}) == [(2, 4)]
    figures.lost("a", "gone")
    delays = figures.snapshot().delays
    assert ints(delays["level"]) == [1, 2], "the levels are there"
    # What the other broker has would be taken for all.
    assert [ints(delays[name]) for name in ("pending", "next_due_ms", "overdue_ms", "delivered")] == [[-1, -1]] * 4
    figures.answered("a")
    assert ints(figures.snapshot().delays["pending"]) == [0, 5]


def test_a_level_whose_oldest_message_was_not_read_is_late_by_an_unknown_time(figures, clock):
    clock.now_ms = 100_000
    for broker in ("a", "b"):
        of = figures.of(broker)
        of.levels.table = DelayLevels("1s 10s")
        of.levels.take_offsets({2: 2}, 100_000)
        figures.take_offsets(broker, SCHEDULE_TOPIC, {1: QueueOffsets(1, 5, 50)})
    figures.catalog()
    figures.of("a").levels.heads[2] = (2, 95_000)
    assert ints(figures.snapshot().delays["overdue_ms"]) == [0, -1]
    figures.of("a").levels.heads[2] = (2, 70_000)
    assert ints(figures.snapshot().delays["overdue_ms"]) == [0, 20_000], "one broker suffices to be late"


def test_half_and_op_lag_are_those_of_the_check_group(figures):
    figures.take_offsets("a", HALF_TOPIC, {0: QueueOffsets(2, 12, 50)})
    figures.take_offsets("b", HALF_TOPIC, {0: QueueOffsets(0, 3, 50)})
    figures.take_positions("a", {(CHECK_GROUP, HALF_TOPIC): {0: 7}})
    figures.of("b").halves_unread = 4
    totals = figures.snapshot().totals
    told = {name: totals[f"transactions_{name}"] for name in ("half_lag", "half_end", "unread")}
    assert told == {"half_lag": 8, "half_end": 15, "unread": 4}
    assert "transactions_op_lag" not in totals
    figures.lost("b", "gone")
    assert "transactions_half_lag" not in figures.snapshot().totals


def test_ages_of_positions_that_are_gone_are_forgotten(figures):
    figures.of("a").next_store["g", "T", 0] = (3, 1_234)
    figures.take_positions("a", {("other", "T"): {0: 1}})
    assert figures.of("a").next_store == {}


def place(**addresses):
    return BrokerPlace("a", "C", {int(number[1:]): address for number, address in addresses.items()})


def test_a_slave_is_as_far_behind_as_its_log(figures):
    figures.catalog()
    figures.take_place(place(b0="h:1", b1="h:2", b2="h:3"))
    figures.take_runtime("a", {"commitLogMaxOffset": "1000"})
    assert figures.snapshot().slave_lag_bytes == [-1, -1]
    figures.take_slave("a", "h:2", 900)
    figures.take_slave("a", "h:3", 400)
    assert figures.snapshot().slave_lag_bytes == [600, -1]
    figures.take_slave("a", "h:3", None)
    assert figures.snapshot().slave_lag_bytes == [-1, -1]
    # Its master took more since: of that its slaves were not asked.
    figures.take_runtime("a", {"commitLogMaxOffset": "9000"})
    # One that the name server dropped is none of its slaves any more.
    figures.take_place(place(b0="h:1", b1="h:2"))
    assert figures.snapshot().slave_lag_bytes == [100, -1]


def test_a_broker_without_a_master_says_so_and_how_far_its_slave_is(figures, clock):
    figures.catalog()
    figures.take_place(place(b0="h:1", b1="h:2"))
    figures.take_runtime("a", {"commitLogMaxOffset": "1000"})
    figures.take_place(place(b1="h:2"))
    clock.advance(3_000)
    wanted = "no master for 3 s: slave h:2 is read, nobody knows how far behind, and takes no messages or changes"
    assert figures.snapshot().faults == {"a": wanted}, "what its master told is none of the slave's"
    figures.take_runtime("a", {"commitLogMaxOffset": "700"})
    figures.answered("a", "topic T: no body")
    assert (
        figures.snapshot().faults["a"].startswith(wanted.replace("nobody knows how far", "300 bytes").partition(" behind")[0])
    )
    assert figures.snapshot().faults["a"].endswith(". for 0 s: topic T: no body")
    figures.answered("a")
    figures.take_place(place(b0="h:2"))
    figures.take_place(place(b0="h:1", b1="h:2"))
    assert figures.snapshot().faults == {}
    assert [(event.kind, event.text) for event in figures.events()] == [
        ("master_lost", "Broker a has no master now: slave h:2 is read"),
        ("master_back", "Broker a has a master again, at h:2, after 3 s"),
        ("master_back", "Broker a has another master now, at h:1"),
    ]


def test_a_slave_that_is_gone_and_back_is_told(figures, clock):
    figures.catalog()
    figures.take_place(place(b0="h:1"))
    figures.take_place(place(b0="h:1", b1="h:2", b2="h:3"))
    assert list(figures.events()) == [], "a new slave is no news"
    figures.take_place(place(b0="h:1", b2="h:3"))
    clock.advance(4_000)
    figures.take_place(place(b0="h:1", b2="h:3"))
    figures.take_place(place(b0="h:1", b1="h:2", b2="h:3"))
    assert [(event.kind, event.text) for event in figures.events()] == [
        ("slave_lost", "Broker a has lost slave h:2 and has 1 now"),
        ("slave_back", "Broker a has slave h:2 again, after 4 s"),
    ]


def test_a_slave_that_takes_its_masters_place_is_not_lost(figures):
    figures.catalog()
    for where in ({"b0": "h:1", "b1": "h:2"}, {"b1": "h:2"}, {"b0": "h:2"}, {"b0": "h:2", "b1": "h:1"}):
        figures.take_place(place(**where))
    assert [event.kind for event in figures.events()] == ["master_lost", "master_back"]


def test_topics_and_groups_that_a_slave_did_not_learn_are_not_gone(figures):
    figures.catalog()
    figures.take_place(place(b0="h:1", b1="h:2"))
    late, early = TopicConfig("late", 4, 4, 6), TopicConfig("early", 4, 4, 6)
    figures.take_tables("a", {"late": late, "early": early}, frozenset({"g", "h"}))
    figures.take_offsets("a", "late", {0: QueueOffsets(0, 7, 50)})
    list(figures.events())
    figures.take_place(place(b1="h:2"))
    figures.take_tables("a", {"early": early}, frozenset({"g"}))
    assert {"late", "early"} <= set(figures.listed().topics)
    assert {"g", "h"} <= set(figures.listed().groups)
    assert figures.of("a").offsets["late"] == {0: QueueOffsets(0, 7, 50)}
    assert [event.kind for event in figures.events()] == ["master_lost"]
    figures.take_place(place(b0="h:2"))
    figures.take_tables("a", {"early": early}, frozenset({"g"}))
    assert "late" not in figures.listed().topics, "a master that does not have it never will"


def test_a_slave_that_is_lost_while_there_is_no_master_is_told_when_there_is_one(figures):
    figures.catalog()
    for where in (
        {"b0": "h:1", "b1": "h:2", "b2": "h:3"},
        {"b1": "h:2", "b2": "h:3"},
        {"b1": "h:2"},
        {"b0": "h:1", "b1": "h:2"},
    ):
        figures.take_place(place(**where))
    assert [event.text for event in figures.events() if event.kind == "slave_lost"] == [
        "Broker a has lost slave h:3 and has 1 now"
    ]


def test_messages_are_not_counted_twice_when_a_slave_is_read_that_is_behind(figures):
    figures.catalog()
    figures.take_place(place(b0="h:1", b1="h:2"))
    for where, held, taken in (({"b1": "h:2"}, 6, 1), ({"b0": "h:2"}, 7, 2), ({"b0": "h:1"}, 10, 5)):
        figures.take_place(place(**where))
        figures.take_offsets("a", "T", {0: QueueOffsets(1, held, 50)})
        figures.take_positions("a", {("g", "T"): {0: taken}})
    snapshot = figures.snapshot()
    assert (ints(snapshot.topics["put_messages"]), ints(snapshot.groups["got_messages"])) == ([1], [1, 0])


def test_counts_of_a_slave_are_none_of_its_master_s(figures):
    def told(where, put):
        figures.take_place(place(**where))
        before = figures.snapshot().totals
        figures.take_runtime("a", {"putMessageTimesTotal": put})
        return before.get("put_messages"), figures.snapshot().totals.get("put_messages")

    figures.take_runtime("b", {"putMessageTimesTotal": "5"})
    assert told({"b0": "h:1", "b1": "h:2"}, "1000") == (None, 1005)
    assert told({"b1": "h:2"}, "0") == (None, None)
    # Its count is another's until it told its own again.
    assert told({"b0": "h:1", "b1": "h:2"}, "1001") == (None, 1006)


def test_topics_that_come_and_go_are_events(figures):
    figures.take_tables("a", {"T": TopicConfig("T", 1, 1, 6), "new": TopicConfig("new", 1, 1, 6)}, frozenset({"idle"}))
    figures.take_tables("b", {"T": TopicConfig("T", 1, 1, 6), "new": TopicConfig("new", 1, 1, 6)}, frozenset({"idle"}))
    assert [(event.kind, event.subject) for event in figures.events()] == [("topic_created", "new")]
    figures.take_tables("a", {"T": TopicConfig("T", 1, 1, 6)}, frozenset({"idle"}))
    assert figures.events() == [], "the other broker has it still"
    figures.take_tables("b", {"T": TopicConfig("T", 1, 1, 6)}, frozenset({"idle"}))
    assert [(event.kind, event.text) for event in figures.events()] == [("topic_deleted", "Topic new was deleted")]


def test_first_members_of_a_group_that_came_later_are_an_event(figures):
    figures.take_members("a", "idle", frozenset({"c1"}))
    assert figures.events() == [], "who was there before is no change"
    figures.take_tables("a", {"T": TopicConfig("T", 1, 1, 6)}, frozenset({"idle", "new"}))
    figures.take_members("a", "new", frozenset({"c2"}))
    assert [event.subject for event in figures.events()] == ["new"]


def test_first_members_of_a_group_that_its_offsets_tell_before_the_table_are_an_event(clock):
    figures = ClusterFigures(BrokerNumbers(), clock=clock)
    figures.take_tables("a", {"T": TopicConfig("T", 1, 1, 6)}, frozenset())
    figures.take_positions("a", {("old", "T"): {0: 3}})
    figures.take_positions("a", {("old", "T"): {0: 3}, ("new", "T"): {0: 0}})
    figures.take_members("a", "old", frozenset({"c1"}))
    assert figures.events() == [], "its offsets were there at the first look"
    figures.take_members("a", "new", frozenset({"c2"}))
    assert [(event.kind, event.subject) for event in figures.events()] == [("members_changed", "new")]


def test_a_lag_of_which_a_lost_broker_has_a_part_is_not_known(figures):
    figures.take_positions("a", {("g", "T"): {0: 3}, ("near", "T"): {0: 8}})
    collector = Collector(None)
    collector.catalog_changed(figures.catalog())

    def lags():
        state = collector.snapshot_taken(figures.snapshot())
        return dict(zip(state.catalog.groups, state.group_lag_messages.tolist(), strict=True)), state.totals["lag_messages"]

    whole = {"g": 14, "near": 2}
    assert ({group: lag for group, lag in lags()[0].items() if group in whole}, lags()[1]) == (whole, 16)
    figures.lost("b", "gone")
    found, total = lags()
    assert math.isnan(found["g"])
    assert found["near"] == 2, "all of its queues are on the broker that answers"
    assert math.isnan(total), "a fall of the sum would end alerts and look like messages that were consumed"
    figures.answered("b")
    assert lags()[1] == 16
    figures.take_tables("b", {"T": TopicConfig("T", 1, 1, 6), "unread": TopicConfig("unread", 1, 1, 6)}, frozenset({"idle"}))
    figures.take_positions("b", {("g", "T"): {0: 3}, ("near", "unread"): {0: 1}})
    collector.catalog_changed(figures.catalog())
    found, total = lags()
    assert (found["g"], math.isnan(found["near"]), math.isnan(total)) == (14, True, True), "one of its queues was not read yet"


def test_members_of_a_group_that_another_broker_had_before_are_no_event(clock):
    figures = ClusterFigures(BrokerNumbers(), clock=clock)
    for broker, groups in (("a", {"g"}), ("b", ()), ("b", {"g"})):
        figures.take_tables(broker, {"T": TopicConfig("T", 1, 1, 6)}, frozenset(groups))
    figures.take_members("b", "g", frozenset({"c1"}))
    assert figures.events() == []


def test_members_that_a_lost_broker_told_are_told_once(figures):
    for broker in ("a", "b"):
        figures.take_tables(broker, {"T": TopicConfig("T", 1, 1, 6)}, frozenset({"idle", "new"}))
    figures.take_members("a", "new", frozenset({"c2"}))
    figures.lost("a", "gone")
    figures.take_members("b", "new", frozenset({"c2"}))
    assert [event.kind for event in figures.events()] == ["members_changed", "broker_lost"]


def test_owners_are_not_known_but_nobody_is(figures):
    figures.catalog()
    assert ints(figures.snapshot().positions["owner"]) == [-1, -1]
    figures.take_members("a", "g", frozenset({"c1"}))
    assert ints(figures.snapshot().positions["owner"]) == [-2, -2]


def test_disk_and_latency_are_those_of_the_worst_broker(figures):
    capacity = "Total : 100.0 GiB, Free : 40.0 GiB."
    figures.take_runtime("a", {"putLatency99": "2.50", "commitLogDiskRatio": "0.6", "commitLogDirCapacity": capacity})
    assert "put_p99_ms" not in figures.snapshot().totals
    figures.take_runtime("b", {"putLatency99": "1", "commitLogDiskRatio": "0.2", "commitLogDirCapacity": capacity})
    totals = figures.snapshot().totals
    assert (totals["put_p99_ms"], totals["disk_total_bytes"]) == (2.5, 100 * 2**30)
    assert totals["disk_used_bytes"] == pytest.approx(60 * 2**30)
    idle, busy = "[<=0ms]:0 [0~10ms]:0 [10s~]:0 ", "[<=0ms]:3 [0~10ms]:0 [10s~]:0 "
    figures.take_runtime("a", {"putLatency99": "0.00", "putMessageDistributeTime": idle})
    assert figures.snapshot().totals["put_p99_ms"] == 1, "a broker that nobody wrote to is not the quickest"
    figures.take_runtime("b", {"putLatency99": "0.00"})
    assert math.isnan(figures.snapshot().totals["put_p99_ms"]), "nothing was put, or no minute is over yet"
    figures.take_runtime("b", {"putLatency99": "0.00", "putMessageDistributeTime": busy})
    assert figures.snapshot().totals["put_p99_ms"] == 0
    figures.take_runtime("b", {"putLatency99": "0.00", "putMessageDistributeTime": f"[a]:{'9' * 5_000}"})
    assert figures.snapshot().totals["put_p99_ms"] == 0
    figures.take_runtime("b", {"putLatency99": "none", "commitLogDiskRatio": "0.2"})
    assert not figures.snapshot().totals.keys() & {"put_p99_ms", "disk_total_bytes", "disk_used_bytes"}


def test_undecided_transactions_are_told_for_a_while_after_a_look(figures, clock):
    figures.undecided_counted("a", 3, 1, unread=0)
    assert "transactions_pending" not in figures.snapshot().totals, "nobody looked at the other broker"
    figures.undecided_counted("b", 2, 0, unread=0)
    assert (figures.snapshot().totals["transactions_pending"], figures.snapshot().totals["transactions_checking"]) == (5, 1)
    clock.now_ms += 15_000
    assert "transactions_pending" not in figures.snapshot().totals


def test_timers_are_those_of_brokers_that_tell_and_no_checkpoints_of_pops(figures):
    collector = Collector(None)
    collector.catalog_changed(figures.catalog())
    assert figures.snapshot().timers == {}
    figures.of("a").timers = {"T": 3, "rmq_sys_REVIVE_LOG_C": 40, "gone": -1}
    figures.of("b").timers = {"T": 2}
    figures.take_runtime("a", {"timerReadBehind": "7", "timerOffsetBehind": "4"})
    state = collector.snapshot_taken(figures.snapshot())
    told = {name: value for name, value in state.timers.items() if not math.isnan(value)}
    assert told == {"pending": 5, "next_due_ms": -2, "overdue_ms": 7_000, "not_yet_in_wheel": 4}
    assert math.isnan(state.timers["delivered_rate"])


def test_while_a_broker_with_timers_is_lost_their_sum_is_not_known(figures):
    figures.of("a").timers, figures.of("b").timers = {"T": 3}, {"T": 2}
    figures.lost("b", "gone")
    assert figures.snapshot().timers == {"pending": -1, "next_due_ms": -2, "overdue_ms": -1, "not_yet_in_wheel": -1}
    figures.lost("a", "gone")
    assert figures.snapshot().timers["pending"] == -1
    figures.answered("a")
    figures.answered("b")
    assert figures.snapshot().timers["pending"] == 5


@pytest.mark.parametrize("tells", ["it is of 4.x", "it has none of their topics"])
def test_a_lost_broker_without_timers_is_not_missing_in_their_sum(figures, tells):
    figures.of("a").timers = {"T": 3}
    if tells == "it is of 4.x":
        figures.of("b").cannot[Ability.TIMERS] = "4.9.4 has no timers"
    assert WHEEL_TIMER_TOPIC not in figures.of("b").topics
    figures.lost("b", "gone")
    assert figures.snapshot().timers["pending"] == 3


def members(figures):
    catalog = figures.catalog()
    return dict(zip(catalog.groups, ints(figures.snapshot().groups["members"]), strict=True)) if catalog else {}


def test_a_group_that_no_broker_lists_a_client_of_is_offline(figures):
    assert members(figures) == {"g": -1, "idle": -2}


def test_where_proxies_serve_clients_that_no_broker_lists_may_be_online(figures):
    syncer = PROXY_HEARTBEAT_TOPIC
    figures.take_tables("a", {"T": TopicConfig("T", 1, 1, 6), syncer: TopicConfig(syncer, 1, 1, 6)}, frozenset({"idle"}))
    assert members(figures) == {"g": -3, "idle": -2}
    assert ints(figures.snapshot().positions["owner"]) == [-2, -2]
    figures.take_members("a", "g", frozenset({"client"}))
    assert ints(figures.snapshot().groups["members"])[0] == 1


def test_addresses_for_sdks_of_grpc_are_those_of_brokers_and_of_proxies(figures):
    assert figures.listed().grpc == []
    figures.take_proxies([ProxyPlace("10.0.0.9", 8080, 7081), ProxyPlace("fe80::1")])
    assert figures.listed().grpc == ["10.0.0.9:7081", "[fe80::1]:8081"]
    figures.take_place(BrokerPlace("b", "C", {0: "10.0.0.2:10911"}))
    figures.take_config("b", {"orbitGrpc": "on", "grpcServerPort": "18081"})
    assert figures.listed().grpc == ["10.0.0.2:18081", "10.0.0.9:7081", "[fe80::1]:8081"]
    figures.take_config("b", {"orbitGrpc": "off", "grpcServerPort": "18081"})
    figures.take_proxies([])
    assert figures.listed().grpc == []


def test_a_group_that_consumes_has_clients_also_where_no_broker_lists_them(figures, clock):
    catalog = figures.catalog()
    clock.advance(1_000)
    figures.take_positions("a", {("g", "T"): {0: 4}})
    assert ints(figures.snapshot().groups["members"])[catalog.groups.index("g")] == -1, "it may have consumed before they left"
    clock.advance(1_000)
    figures.take_positions("a", {("g", "T"): {0: 5}})
    assert ints(figures.snapshot().groups["members"])[catalog.groups.index("g")] == -3
    clock.advance(UNLISTED_MS)
    assert ints(figures.snapshot().groups["members"])[catalog.groups.index("g")] == -1


def test_a_group_that_the_broker_itself_moves_has_no_unlisted_members(figures, clock):
    figures.take_tables("a", {HALF_TOPIC: TopicConfig(HALF_TOPIC, 1, 1, 6)}, frozenset())
    figures.take_offsets("a", HALF_TOPIC, {0: QueueOffsets(2, 12, 50)})
    figures.take_members("a", CHECK_GROUP, frozenset())
    for offset in (3, 5, 7):
        clock.advance(1_000)
        figures.take_positions("a", {(CHECK_GROUP, HALF_TOPIC): {0: offset}})
    catalog = figures.catalog()
    assert ints(figures.snapshot().groups["members"])[catalog.groups.index(CHECK_GROUP)] == -1


def look(figures):
    """Offsets of groups and ends of queues as a window gets them."""
    figures.catalog()
    snapshot = figures.snapshot()
    return ints(snapshot.positions["offset"]), ints(snapshot.queues["max_offset"])


def test_each_part_says_when_it_was_read(figures, clock):
    read_ms = clock()
    clock.advance(4_000)
    figures.take_offsets("a", "T", {0: QueueOffsets(1, 12, 60)})
    figures.catalog()
    snapshot = figures.snapshot()
    assert ints(snapshot.queues["read_ms"]) == [read_ms + 4_000, read_ms]
    assert ints(snapshot.positions["read_ms"]) == [read_ms, read_ms]
    figures.lost("b", "gone")
    assert ints(figures.snapshot().queues["read_ms"]) == [read_ms + 4_000, -1]
    assert ints(figures.snapshot().positions["read_ms"]) == [read_ms, -1]


def test_an_offset_beyond_an_end_that_was_read_before_it_is_not_told(figures, clock):
    for offset in (14, 17, 30):
        clock.advance(1_000)
        figures.take_positions("a", {("g", "T"): {0: offset}})
        assert look(figures) == ([3, 3], [10, 10]), "that of the look before, which agrees with the end"
    assert ints(figures.snapshot().positions["read_ms"])[0] == clock() - 3_000
    clock.advance(10)
    figures.take_offsets("a", "T", {0: QueueOffsets(1, 31, 60)})
    assert look(figures) == ([30, 3], [31, 10])


def test_an_offset_beyond_an_end_that_was_read_after_it_is_a_fact(figures, clock):
    clock.advance(1_000)
    figures.take_positions("a", {("g", "T"): {0: 40}})
    clock.advance(10)
    figures.take_offsets("a", "T", {0: QueueOffsets(1, 10, 60)})
    assert look(figures)[0] == [40, 3]
    clock.advance(1_000)
    figures.take_positions("a", {("g", "T"): {0: 40}})
    assert look(figures)[0] == [40, 3], "it has not moved since the end was read"
    assert ints(figures.snapshot().positions["read_ms"])[0] == clock()


def test_an_offset_that_was_never_seen_within_its_queue_is_unknown(figures, clock):
    clock.advance(1_000)
    figures.take_positions("a", {("g", "T"): {0: 3}, ("new", "T"): {0: 99}})
    figures.catalog()
    snapshot = figures.snapshot()
    assert sorted(ints(snapshot.positions["offset"])) == [-1, 3, 3]


def test_an_offset_moves_on_with_its_queue(figures, clock):
    clock.advance(1_000)
    read_ms = clock()
    clock.advance(50)
    figures.take_offsets("a", "T", {0: QueueOffsets(1, 20, 60)})
    figures.take_positions("a", {("g", "T"): {0: 15}}, read_ms)
    assert look(figures) == ([15, 3], [20, 10])
