"""Transforms on messages, each with the traps of its figures: a few rows in, the expected rows out, however they are spread."""

import zlib

import pytest

from broker_core.protocol.retry_names import KnownNames
from spark_reports.datasource.schema import SKIPPED_COLUMNS
from spark_reports.reports.calendar import by_hour
from spark_reports.reports.compare import COMPARE_COLUMNS, by_period
from spark_reports.reports.dead_letters import DEAD_COLUMNS, causes, dead_by, dead_letters
from spark_reports.reports.duplicates import DUPLICATE_COLUMNS, by_sameness, cases
from spark_reports.reports.keys import KEY_COLUMNS, evenness, key_counts, with_share_of_topic
from spark_reports.reports.latency import LATENCY_COLUMNS, latency_by, with_latency
from spark_reports.reports.producers import PRODUCER_COLUMNS, over_time, producer_rows
from spark_reports.reports.queues import QUEUE_COLUMNS, queue_rows, topic_rows
from spark_reports.reports.reconcile import RECONCILE_COLUMNS, reconciled
from spark_reports.reports.retries import RETRY_COLUMNS, chains, chains_by
from spark_reports.reports.story import STORY_COLUMNS, story
from spark_reports.reports.tags import TAG_COLUMNS, property_rows, tag_rows, with_subscribers
from spark_reports.reports.throughput import MESSAGE_COLUMNS, by_traffic_keys, each_a_sum
from spark_reports.reports.transactions import TRANSACTION_COLUMNS, outcomes_by, transactions
from spark_reports.transforms.accounting import ACCOUNTED, accounting, messages_of
from spark_reports.transforms.delay import DELAY_COLUMNS, by_level, deliveries
from spark_reports.transforms.incident import INCIDENT_COLUMNS, by_minute, by_topic
from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_stored
from spark_reports.transforms.sizes import SAMPLE_COLUMNS, SIZE_COLUMNS, compression_trial, size_classes, size_rows
from tests.spark.rows import START_MS, at, messages, rows

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
HALF, OP, GIVEN_UP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"
LEVELS, WHEEL = "SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer"


@pytest.fixture(scope="module", autouse=True)
def quick(spark):
    """A few rows are soon counted: what makes millions quick takes longer than that."""
    own = {"shuffle.partitions": "3", "adaptive.enabled": "false", "codegen.wholeStage": "false"}
    former = {name: spark.conf.get(f"spark.sql.{name}") for name in own}
    for settings in (own, former):
        for name, value in settings.items():
            spark.conf.set(f"spark.sql.{name}", value)
        if settings is own:
            yield


def test_accounting_adds_up_messages_and_what_was_skipped(spark):
    skip = {"skipped_reason": "torn", "skipped_rows": 2, "skipped_bytes": 30, "store_time": None}
    read = messages(spark, ACCOUNTED, {"ms": 5}, {"ms": 3}, skip | {"physical_offset": 900}, skip, skip | {"store": "two"})
    assert rows(accounting(read), "skipped_reason", "skipped_store", "messages", "skipped_rows", "skipped_offset") == [
        ("torn", "one", 0, 4, 300), ("torn", "two", 0, 2, 400), (None, None, 2, 0, None),
    ]  # fmt: skip
    assert rows(messages_of(read), "store_time") == [(at(3),), (at(5),)]


def test_only_records_that_a_producer_wrote_are_messages_as_sent(spark):
    made = messages(
        spark, ORIGIN_COLUMNS, {"kind": "normal"}, {"kind": "fifo"}, {"kind": "trace"}, {"kind": "delay"}, {"kind": "half"},
        {"kind": "delivered"}, {"kind": "committed"}, {"kind": "retry"}, {"kind": "dead_letter"}, {"kind": "op"},
        {"kind": "given_up"}, {"kind": "delay", "reconsume_times": 1}, {"kind": "delay", "cancelled_key": "a"},
        {"kind": "half", "check_times": 1}, {"kind": "delay", "roll_times": 1},
    )  # fmt: skip
    assert rows(first_stored(made), "kind") == [("delay",), ("fifo",), ("half",), ("normal",), ("trace",)]


def test_traffic_is_counted_by_minute_topic_and_tag(spark):
    names = tuple(dict.fromkeys((*MESSAGE_COLUMNS, *SKIPPED_COLUMNS)))
    nothing = dict.fromkeys(("topic", "real_topic", "store_time", "body_bytes", "store_bytes"))
    made = messages(
        spark, names, {"ms": 59_999, "tag": "a"}, {"ms": 60_000, "tag": "a"}, {"ms": 60_001, "tag": "a", "body_bytes": 30},
        {"ms": 60_002}, nothing | {"skipped_reason": "torn", "skipped_rows": 1, "skipped_bytes": 9},
    )  # fmt: skip
    found = made.transform(each_a_sum).transform(by_traffic_keys)
    assert rows(found, "minute", "tag", "messages", "body_bytes", "body_bytes_max", "skipped_rows") == [
        (None, None, 0, 0, None, 1), (at(0), "a", 1, 10, 10, 0), (at(60_000), "a", 2, 40, 30, 0),
        (at(60_000), None, 1, 10, 10, 0),
    ]  # fmt: skip


def test_hours_are_those_of_a_zone_also_when_its_clock_changes(spark):
    """In Berlin the night to Sunday 2026-03-29 has no hour from 2 to 3, that to 2026-10-25 has it twice."""
    spring, autumn = 27 * DAY_MS, 237 * DAY_MS
    made = messages(
        spark, ("store_time", "store_bytes"), {"ms": spring + HOUR_MS // 2}, {"ms": spring + HOUR_MS}, {"ms": autumn},
        {"ms": autumn + HOUR_MS}, {"ms": autumn + 2 * HOUR_MS}, {"ms": 23 * HOUR_MS},
    )  # fmt: skip
    assert rows(by_hour(made, "Europe/Berlin"), "day", "weekday", "hour", "messages", "store_bytes") == [
        ("2026-03-03", 1, 0, 1, 100), ("2026-03-29", 6, 1, 1, 100), ("2026-03-29", 6, 3, 1, 100), ("2026-10-25", 6, 2, 2, 200),
        ("2026-10-25", 6, 3, 1, 100),
    ]  # fmt: skip


def test_two_periods_are_compared_with_their_ends_where_they_belong(spark):
    period = {"from_ms": START_MS + DAY_MS, "to_ms": START_MS + DAY_MS + 1_000, "earlier_ms": DAY_MS}
    made = messages(
        spark, COMPARE_COLUMNS, {"ms": 0}, {"ms": 999}, {"ms": 1_000}, {"ms": DAY_MS}, {"ms": DAY_MS + 1_000},
        {"ms": DAY_MS, "tag": "new", "store_bytes": 70},
    )  # fmt: skip
    found = by_period(made, **period)
    assert rows(found, "tag", "messages", "messages_before", "messages_change", "relative_change", "store_bytes_before") == [
        ("new", 1, 0, 1, None, 0), (None, 1, 2, -1, -0.5, 200),
    ]  # fmt: skip


def test_latencies_of_clocks_ahead_stand_apart_and_copies_do_not_count(spark):
    made = messages(
        spark, LATENCY_COLUMNS, {"ms": 100, "born_time": at(90)}, {"ms": 100, "born_time": at(70)},
        {"ms": 100, "born_time": at(2_100), "born_host": "[::1]:99"}, {"ms": 9_000, "born_time": at(0), "kind": "committed"},
        {"ms": 100, "born_time": at(-START_MS)},
    )  # fmt: skip
    found = latency_by(with_latency(made), "host", "skew").where("skew <> 'none'")
    assert rows(found, "host", "skew", "messages", "min_ms", "p50_ms", "max_ms") == [
        ("10.0.0.1", "plausible", 2, 10, 20.0, 30), ("::1", "ahead of the broker's", 1, -2_000, -2_000.0, -2_000),
    ]  # fmt: skip
    assert [row["messages"] for row in latency_by(with_latency(made), "skew").where("skew = 'none'").collect()] == [1]


def waiting(ms, level, key, **own):
    return {"ms": ms, "topic": LEVELS, "real_topic": "later", "kind": "delay", "queue_id": level - 1, "unique_key": key} | own


def delivered(ms, key, **own):
    return {"ms": ms, "topic": "later", "kind": "delivered", "unique_key": key} | own


def timer(ms, key, **own):
    return {
        "ms": ms,
        "topic": WHEEL,
        "real_topic": "later",
        "kind": "delay",
        "unique_key": key,
        "deliver_time": at(5_000),
    } | own


def test_a_wait_belongs_to_its_delivery(spark):
    retried = {"real_topic": "%RETRY%g", "retry_topic": "orders", "reconsume_times": 1}
    made = messages(
        spark, DELAY_COLUMNS, waiting(0, 1, "a"), delivered(1_200, "a"),
        waiting(0, 1, "twice"), delivered(1_000, "twice"), waiting(2_000, 1, "twice"), delivered(3_300, "twice"),
        waiting(0, 2, "open"), waiting(0, 9, "beyond"), delivered(4_900, "beyond"),
        timer(0, "t"), timer(3_000, "t"), delivered(5_700, "t"),  # rolled once: written again with the same time
        timer(0, "c"), timer(10, "command", cancelled_key="later+c"),
        waiting(0, 1, "a", **retried), {"ms": 1_500, "topic": "%RETRY%g", "kind": "retry", "unique_key": "a"} | retried,
        waiting(0, 1, None),
        waiting(0, 1, "a", store="two"),
    )  # fmt: skip
    waits = deliveries(made, [1_000, 5_000])
    assert rows(waits, "unique_key", "level", "topic", "late_ms", "outcome") == [
        ("a", "1", "later", 200, "delivered"), ("a", "1", "later", None, "waiting"), ("a", "1", "orders", 500, "delivered"),
        ("beyond", "9", "later", -100, "delivered"), ("c", "timer", "later", None, "cancelled"),
        ("open", "2", "later", None, "waiting"), ("t", "timer", "later", 700, "delivered"),
        ("twice", "1", "later", 0, "delivered"), ("twice", "1", "later", 300, "delivered"),
    ]  # fmt: skip
    assert rows(by_level(waits, "level", late_ms=300), "level", "messages", "delivered", "waiting", "early", "late",
    "max_ms") == [
        ("1", 5, 4, 1, 0, 2, 500), ("2", 1, 0, 1, 0, 0, None), ("9", 1, 1, 0, 1, 0, -100), ("timer", 2, 1, 0, 0, 1, 700),
    ]  # fmt: skip


def half(place, key, **own):
    usual = {"topic": HALF, "real_topic": "payments", "kind": "half", "queue_offset": place, "physical_offset": 1_000 + place}
    return usual | {"ms": place * 10, "unique_key": key, "producer_group": "bank"} | own


def decision(ms, *places, **own):
    return {"ms": ms, "topic": OP, "kind": "op", "decided_offsets": "".join(f"{one}," for one in places)} | own


def commit(ms, place, **own):
    return {"ms": ms, "topic": "payments", "kind": "committed", "prepared_offset": 1_000 + place} | own


def test_transactions_are_told_by_all_their_records(spark):
    made = messages(
        spark, TRANSACTION_COLUMNS, half(0, "done"), half(1, "checked"), half(2, "checked", check_times=1),
        half(3, "back"), half(4, "lost"), half(5, "lost", check_times=2), half(6, "open"), half(7, None), half(8, None),
        half(9, "resumed"), half(10, "resumed", check_times=1), commit(100, 0), commit(250, 2), commit(260, 2), commit(270, 1),
        decision(300, 0, 2, 3), decision(310, "x", ""),
        {"ms": 400, "topic": GIVEN_UP, "kind": "given_up", "unique_key": "lost", "producer_group": "bank",
        "physical_offset": 2_000},
        {"ms": 95, "topic": GIVEN_UP, "kind": "given_up", "unique_key": "resumed", "producer_group": "bank",
        "physical_offset": 1_009},
        half(3, "other", store="two"),
    )  # fmt: skip
    lives = transactions(made)
    assert rows(lives, "unique_key", "outcome", "checks", "decided_ms") == [
        ("back", "rolled_back", 0, 270), ("checked", "committed", 1, 240), ("done", "committed", 0, 100),
        ("lost", "given_up", 2, 360), ("open", "undecided", 0, None), ("other", "undecided", 0, None),
        ("resumed", "undecided", 1, None), (None, "undecided", 0, None), (None, "undecided", 0, None),
    ]  # fmt: skip
    columns = ("transactions", "committed", "rolled_back", "given_up", "undecided", "checks", "extra_copies")
    assert rows(outcomes_by(lives, "group"), *columns) == [(9, 2, 1, 1, 5, 4, 2)]


def given_back(attempt, **own):
    return {"topic": "%RETRY%g", "kind": "retry", "retry_topic": "orders", "origin_id": "o1", "reconsume_times": attempt} | own


def to_be_retried(attempt, **own):
    return given_back(attempt, topic=LEVELS, real_topic="%RETRY%g", kind="delay") | own


def test_chains_end_where_their_last_record_says(spark):
    dead = {"topic": "%DLQ%g", "kind": "dead_letter"}
    made = messages(
        spark, RETRY_COLUMNS, to_be_retried(1), given_back(1), to_be_retried(2), given_back(2),
        to_be_retried(1, origin_id="o2"), given_back(1, origin_id="o2"), given_back(2, origin_id="o2") | dead,
        to_be_retried(3, origin_id="o3"), given_back(1, origin_id="o4") | dead,
        given_back(1, origin_id="o1", topic="%RETRY%h"), given_back(1, origin_id=None), given_back(1, origin_id=None),
        {"topic": "orders"},
    )  # fmt: skip
    lives = chains(made)
    assert rows(lives, "group", "topic", "attempt", "state") == [
        ("g", "orders", 0, "dead"), ("g", "orders", 0, "waiting"), ("g", "orders", 1, "dead"),
        ("g", "orders", 1, "not seen again"),
        ("g", "orders", 1, "not seen again"), ("g", "orders", 2, "not seen again"), ("h", "orders", 1, "not seen again"),
    ]  # fmt: skip
    assert rows(chains_by(lives, "group"), "group", "messages", "last_seen", "waiting", "dead", "attempts") == [
        ("g", 6, 3, 1, 2, 5), ("h", 1, 1, 0, 0, 1),
    ]  # fmt: skip


def test_retries_of_consumers_that_pop_are_of_their_group_and_topic(spark):
    """Their topics name both, and an underscore may be part of either."""
    popped = {"topic": "%RETRY%a_b_my_orders", "kind": "retry", "unique_key": "k"}
    made = messages(
        spark, dict.fromkeys((*RETRY_COLUMNS, *DEAD_COLUMNS)), {"topic": "orders"}, {"topic": "my_orders"},
        popped | {"reconsume_times": 1}, popped | {"reconsume_times": 2},
        {"topic": "%DLQ%a_b", "kind": "dead_letter", "unique_key": "k", "retry_topic": popped["topic"], "origin_id": "o"},
        {"topic": "%RETRY%c+gone", "kind": "retry", "unique_key": "l", "reconsume_times": 1},
        given_back(1, topic="%RETRY%of_orders", unique_key="m"),  # pulled: its group is of_orders
    )  # fmt: skip
    assert rows(chains(made), "group", "topic", "attempt", "state") == [
        ("a_b", "my_orders", 2, "dead"), ("c", "gone", 1, "not seen again"), ("of_orders", "orders", 1, "not seen again"),
    ]  # fmt: skip
    assert rows(dead_letters(made, START_MS), "group", "topic") == [("a_b", "my_orders")]


COLLIDING = "%RETRY%g_a_t"
"""The retry topic of group g_a on topic t, and of group g on topic a_t."""


DEAD_OF_G_A = {"topic": "%DLQ%g_a", "kind": "dead_letter", "origin_id": "x", "retry_topic": "t"}


def shared_retries(spark, *more):
    """Three messages of a retry topic that two pairs share, of which the second died in group g."""
    popped = {"topic": COLLIDING, "kind": "retry", "reconsume_times": 1}
    return messages(
        spark, dict.fromkeys((*RETRY_COLUMNS, *DEAD_COLUMNS)),
        popped | {"unique_key": "k"}, popped | {"unique_key": "l"}, popped | {"unique_key": "l", "reconsume_times": 2},
        {"topic": "%DLQ%g", "kind": "dead_letter", "unique_key": "l", "retry_topic": COLLIDING, "origin_id": "o"},
        popped | {"unique_key": "m"}, *more,
    )  # fmt: skip


SHARED = ("group", "topic", "attempt", "state", "shared", "pairs")


def test_retries_of_two_pairs_with_one_retry_topic_are_of_both_unless_a_dead_letter_names_the_group(spark):
    known = KnownNames({"g", "g_a"}, {"t", "a_t"})
    found = rows(chains(shared_retries(spark), known), *SHARED)
    unclear = ("g / g_a", "a_t / t", 1, "not seen again", COLLIDING, "g+a_t, g_a+t")
    assert found == [unclear, unclear, ("g", "a_t / t", 2, "dead", None, None)]
    assert rows(dead_letters(shared_retries(spark), START_MS, known), "group", "topic") == [("g", "a_t / t")]


def test_a_dead_letter_is_of_the_topic_that_its_group_popped_where_no_other_pair_is_known(spark):
    known = KnownNames({"g"}, {"t", "a_t"})
    assert rows(chains(shared_retries(spark), known), "group", "topic")[-1] == ("g", "a_t")
    assert rows(dead_letters(shared_retries(spark), START_MS, known), "group", "topic") == [("g", "a_t")]


@pytest.mark.parametrize(
    ("known", "more", "owner"),
    [
        (KnownNames({"g_a", "h"}, {"t"}), (), ("g_a", "t")),
        (KnownNames(), ({"topic": "t"}, DEAD_OF_G_A), ("g_a", "t")),
        (KnownNames({"g_a"}, frozenset()), (), ("g_a", "t")),
        (KnownNames({"g"}, {"a_t", "t"}), (), ("g", "a_t")),
    ],
)  # fmt: skip
def test_retries_are_of_the_one_pair_that_is_known(spark, known, more, owner):
    popped = {"topic": COLLIDING, "kind": "retry", "reconsume_times": 1, "unique_key": "k"}
    made = messages(spark, RETRY_COLUMNS, popped, *more)
    assert (*owner, None) in rows(chains(made, known), "group", "topic", "shared")


def test_retries_of_unknown_groups_and_topics_name_every_pair(spark):
    popped = {"topic": COLLIDING, "kind": "retry", "reconsume_times": 1, "unique_key": "k"}
    newer = popped | {"topic": "%RETRY%g_a+t", "unique_key": "l"}
    made = chains(messages(spark, RETRY_COLUMNS, popped, newer))
    assert rows(made, *SHARED) == [
        ("g / g_a", "a_t / t", 1, "not seen again", COLLIDING, "g+a_t, g_a+t"),
        ("g_a", "t", 1, "not seen again", None, None),
    ]


def test_dead_letters_have_an_age_and_what_is_common_to_them(spark):
    own = {"properties": {"shop": "7", "UNIQ_KEY": "u", "__SHARDINGKEY": "x", "TIMER_OUT_MS": "5", "1ST_POP_TIME": "9"}}
    dead = {"topic": "%DLQ%g", "kind": "dead_letter", "retry_topic": "orders"} | own
    made = messages(
        spark, DEAD_COLUMNS, dead | {"ms": 0}, dead | {"ms": 1}, dead | {"ms": 30 * DAY_MS - HOUR_MS}, {"topic": "orders"},
        dead | {"ms": 31 * DAY_MS, "properties": {"shop": "8"}},  # a clock that was ahead
    )  # fmt: skip
    found = dead_letters(made, START_MS + 30 * DAY_MS)
    assert rows(dead_by(found, "group", "topic", "age"), "group", "topic", "age", "dead") == [
        ("g", "orders", 0, 1), ("g", "orders", 1, 1), ("g", "orders", 3, 1), ("g", "orders", 4, 1),
    ]  # fmt: skip
    assert rows(causes(found), "group", "property", "cause", "dead") == [("g", "shop", "7", 3), ("g", "shop", "8", 1)]


def test_keys_are_counted_as_sent_and_their_evenness_is_gini(spark):
    made = messages(
        spark, KEY_COLUMNS, {"keys": ["a", "b"]}, {"keys": ["a"], "queue_id": 1}, {"keys": ["a"], "kind": "retry"},
        {"ordering_key": "lane", "kind": "fifo"}, {"keys": ["a"], "topic": "other"},
    )  # fmt: skip
    counts = key_counts(made, "keys")
    assert rows(with_share_of_topic(counts), "topic", "key", "messages", "queues", "share") == [
        ("orders", "a", 2, 2, 2 / 3), ("orders", "b", 1, 1, 1 / 3), ("other", "a", 1, 1, 1.0),
    ]  # fmt: skip
    assert rows(evenness(counts), "topic", "distinct_values", "keyed", "messages_max", "gini") == [
        ("orders", 2, 3, 2, round(1 / 6, 6)), ("other", 1, 1, 1, 0.0),
    ]  # fmt: skip
    assert rows(key_counts(made, "ordering_key"), "topic", "key", "messages") == [("orders", "lane", 1)]


def test_queues_of_keys_are_those_that_the_producer_chose_in_each_store(spark):
    waiting = {"keys": ["a"], "topic": "SCHEDULE_TOPIC_XXXX", "real_topic": "orders", "kind": "delay", "queue_id": 2}
    made = messages(
        spark, KEY_COLUMNS, {"keys": ["a"], "queue_id": 1}, waiting | {"real_queue_id": 1}, waiting | {"real_queue_id": 3},
        {"keys": ["a"], "queue_id": 1, "store": "two"},
    )  # fmt: skip
    assert rows(key_counts(made, "keys"), "topic", "messages", "queues") == [("orders", 4, 3)]


def test_the_share_of_a_key_is_that_of_the_queue_where_it_is_most(spark):
    lanes = [("slow", 1)] * 3 + [("quick", 1)] + [("slow", 2)] + [("quick", 2)] * 4
    made = messages(spark, KEY_COLUMNS, *({"ordering_key": key, "kind": "fifo", "queue_id": queue} for key, queue in lanes))
    assert rows(key_counts(made, "ordering_key"), "key", "messages", "queues", "queue_share") == [
        ("quick", 5, 2, 0.8), ("slow", 4, 2, 0.75),
    ]  # fmt: skip


def test_queues_miss_offsets_between_their_ends_only(spark):
    made = messages(
        spark, QUEUE_COLUMNS, {"queue_offset": 10}, {"queue_offset": 13}, {"queue_offset": 13},
        {"queue_id": 3, "queue_offset": 0},
        {"queue_offset": 0, "store": "two"},
    )  # fmt: skip
    queues = queue_rows(made)
    assert rows(queues, "store", "queue_id", "messages", "offset_first", "offset_last", "offsets_missing") == [
        ("one", 0, 3, 10, 13, 2), ("one", 3, 1, 0, 0, 0), ("two", 0, 1, 0, 0, 0),
    ]  # fmt: skip
    assert rows(topic_rows(queues), "store", "queues", "silent", "messages", "largest", "skewness", "offsets_missing") == [
        ("one", 2, 2, 4, 3, 1.5, 2), ("two", 1, 0, 1, 1, 1.0, 0),
    ]  # fmt: skip


def test_sizes_fall_into_classes_by_powers_of_four(spark):
    sizes = [0, 1, 3, 4, 15, 16, 4_194_303, 4_194_304]
    made = messages(spark, SIZE_COLUMNS, *({"body_bytes": one, "store_bytes": one + 90} for one in sizes))
    assert rows(size_classes(made), "size_class", "messages", "body_bytes") == [
        (0, 1, 0), (1, 2, 4), (11, 1, 4_194_303), (12, 1, 4_194_304), (2, 2, 19), (3, 1, 16),
    ]  # fmt: skip
    assert rows(size_rows(made, "topic"), "messages", "body_bytes", "overhead_bytes", "body_bytes_p50", "body_bytes_max") == [
        (8, sum(sizes), 8 * 90, 9.5, 4_194_304)
    ]


def test_a_trial_takes_no_body_that_is_compressed_already(spark):
    body = b"soft " * 200
    made = messages(spark, SAMPLE_COLUMNS, {"body": body}, {"body": zlib.compress(body), "sys_flag": 1}, {"body": None})
    assert rows(compression_trial(made, 1), "topic", "messages", "body_bytes", "compressed_bytes") == [
        ("orders", 1, len(body), len(zlib.compress(body, 5)))
    ]
    assert rows(compression_trial(made, 1_000_000_007), "topic") == []


def test_repeats_are_those_of_one_case_within_a_time(spark):
    made = messages(
        spark, DUPLICATE_COLUMNS, {"unique_key": "u", "keys": ["k"], "body_crc": 1},
        {"unique_key": "u", "keys": ["k"], "body_crc": 1},
        {"unique_key": "v", "keys": ["k"], "body_crc": 2, "ms": 60_000},
        {"unique_key": "w", "keys": ["k"], "body_crc": 2, "ms": 90_000},
        {"unique_key": "u", "kind": "retry", "body_crc": 1}, {"unique_key": "empty", "body_bytes": 0}, {"body_bytes": 0},
    )  # fmt: skip
    found = cases(by_sameness(made, 30_000))
    assert rows(found, "sameness", "topic", "key", "digest", "copies", "repeats", "apart_ms") == [
        ("body", "orders", None, "crc 00000002, 10 bytes", 2, 1, 30_000),
        ("business key", "orders", "k", None, 3, 1, 30_000),
        ("unique key", "orders", "u", None, 2, 1, 1_000),
    ]  # fmt: skip


def test_members_of_a_batch_are_no_repeats_of_each_other(spark):
    """5.x stores the key of the batch behind that of each member."""
    batch = {"unique_key": "batch", "ms": 0}
    made = messages(
        spark, DUPLICATE_COLUMNS, *(batch | {"member_key": f"m{one}", "body_crc": one,
        "keys": [f"k{one}"]} for one in range(3)),
        batch | {"member_key": "m1", "body_crc": 1, "keys": ["k1"], "ms": 500},
    )  # fmt: skip
    assert rows(cases(by_sameness(made, 1_000)), "sameness", "key", "copies") == [("unique key", "m1", 2)]


def test_messages_of_two_stores_at_one_place_are_two(spark):
    made = messages(
        spark, DUPLICATE_COLUMNS, {"physical_offset": 0, "keys": ["k"]}, {"physical_offset": 0, "keys": ["k"], "store": "two"}
    )
    assert rows(cases(by_sameness(made, 1_000)), "sameness", "key", "copies") == [("body", None, 2), ("business key", "k", 2)]


def test_a_list_is_matched_with_what_was_sent_and_given_back(spark):
    made = messages(
        spark, RECONCILE_COLUMNS, {"keys": ["a", "x"]}, {"keys": ["b"], "topic": "late", "ms": 9_000},
        {"keys": ["b"], "ms": 8_000},
        {"keys": ["a"], "kind": "retry"}, {"keys": ["c"], "kind": "dead_letter"}, {"unique_key": "batch", "member_key": "m"},
    )  # fmt: skip
    wanted = spark.createDataFrame([("b", 1), ("a", 2), ("a", 3), ("c", 4), ("d", 5)], "key string, list_row bigint")
    found = reconciled(made, wanted, "keys")
    assert rows(found, "key", "list_row", "listed", "copies", "retried", "dead", "topic", "state") == [
        ("a", 2, 2, 1, 1, 0, "orders", "stored once"), ("b", 1, 1, 2, 0, 0, "orders", "stored several times"),
        ("c", 4, 1, 0, 0, 1, None, "missing"), ("d", 5, 1, 0, 0, 0, None, "missing"),
    ]  # fmt: skip
    own = reconciled(made, spark.createDataFrame([("m", 1), ("batch", 2)], "key string, list_row bigint"), "unique_key")
    assert rows(own, "key", "state") == [("batch", "missing"), ("m", "stored once")]


def test_a_story_has_each_record_once(spark):
    made = messages(
        spark, STORY_COLUMNS, half(0, "u", keys=["k"]), half(1, "u", check_times=1), decision(90, 0, 1), decision(95, 0,
        store="two"),
        commit(85, 1, unique_key="u"), {"unique_key": "v", "keys": ["k", "l"]}, {"unique_key": "w", "keys": ["kk"]},
        {"unique_key": None, "cancelled_key": "later+u", "kind": "delay", "ms": 99},
    )  # fmt: skip
    told = story(made, "k").select("kind", "unique_key").toArrow().to_pylist()
    assert [(row["kind"], row["unique_key"]) for row in told] == [
        ("half", "u"), ("half", "u"), ("committed", "u"), ("op", None), ("normal", "v"),
    ]  # fmt: skip
    assert [kind for (kind,) in rows(story(made, "u"), "kind")] == ["committed", "delay", "half", "half", "op"]


def test_a_story_of_one_member_is_not_that_of_its_batch(spark):
    batch = {"unique_key": "batch"}
    made = messages(
        spark, STORY_COLUMNS, batch | {"member_key": "m1", "keys": ["a"]}, batch | {"member_key": "m2", "keys": ["b"]}
    )
    assert [len(rows(story(made, key), "member_key")) for key in ("m1", "b", "batch", "m3")] == [1, 1, 2, 0]


def test_tags_know_how_long_they_are_silent_and_who_subscribed_them(spark):
    own = {"properties": {"TAGS": "a", "shop": "1"}}
    made = messages(
        spark, TAG_COLUMNS, {"tag": "a"} | own, {"tag": "b"}, {"tag": "c"}, {"ms": 10_000}, {"topic": "bills", "tag": "a"},
        {"topic": "mail", "tag": "a"}, {"topic": "%RETRY%g", "kind": "retry", "tag": "a"},
    )  # fmt: skip
    tags = tag_rows(made)
    assert rows(tags, "topic", "tag", "messages", "silent_ms", "for_consumers") == [
        ("%RETRY%g", "a", 1, 0, False), ("bills", "a", 1, 0, True), ("mail", "a", 1, 0, True), ("orders", "a", 1, 10_000, True),
        ("orders", "b", 1, 9_000, True), ("orders", "c", 1, 8_000, True), ("orders", None, 1, 0, True),
    ]  # fmt: skip
    wants = [
        ("g", "orders", "TAG", "a || b"), ("h", "orders", "TAG", "a"), ("h", "orders", "TAG", "a||"),
        ("i", "orders", "SQL92", "x > 1"),
        ("g", "bills", "", "*"), (None, None, None, None),
    ]  # fmt: skip
    schema = "group string, topic string, expression_type string, expression string"
    found = with_subscribers(tags, spark.createDataFrame(wants, schema))
    assert rows(found, "topic", "tag", "subscribers", "filters") == [
        ("%RETRY%g", "a", 0, 0), ("bills", "a", 1, 0), ("mail", "a", 0, 0), ("orders", "a", 2, 1), ("orders", "b", 1, 1),
        ("orders", "c", 0, 1), ("orders", None, 0, 1),
    ]  # fmt: skip
    assert rows(property_rows(made), "topic", "property", "messages", "example") == [
        ("orders", "TAGS", 1, "a"), ("orders", "shop", 1, "1"),
    ]  # fmt: skip


def test_producers_are_hosts_whatever_their_ports(spark):
    made = messages(
        spark, PRODUCER_COLUMNS, {"born_host": "10.0.0.1:1"}, {"born_host": "10.0.0.1:2", "topic": "bills"},
        {"born_host": "[::1]:3"},
        {"born_host": "10.0.0.2:1"}, {"kind": "committed"}, {"born_host": "10.0.0.1:9", "ms": HOUR_MS},
    )  # fmt: skip
    assert rows(producer_rows(made, "host"), "host", "messages", "topics", "store_bytes") == [
        ("10.0.0.1", 3, 2, 300), ("10.0.0.2", 1, 1, 100), ("::1", 1, 1, 100),
    ]  # fmt: skip
    assert rows(over_time(made, HOUR_MS, 2), "host", "bucket_ms", "messages") == [
        ("10.0.0.1", START_MS, 2), ("10.0.0.1", START_MS + HOUR_MS, 1), ("10.0.0.2", START_MS, 1),
    ]  # fmt: skip


def test_a_window_is_told_beside_the_time_before_it(spark):
    made = messages(
        spark, INCIDENT_COLUMNS, {"ms": 59_999, "born_time": at(59_900)}, {"ms": 60_000, "born_time": at(59_990)},
        {"ms": 60_500, "born_time": at(61_000)}, {"ms": 61_000, "kind": "retry", "topic": "%RETRY%g", "born_time": at(0)},
        {"ms": 62_000, "kind": "given_up", "topic": GIVEN_UP},
    )  # fmt: skip
    assert rows(by_topic(made, START_MS + 60_000), "topic", "messages", "messages_before", "store_bytes") == [
        ("%RETRY%g", 1, 0, 100), (GIVEN_UP, 1, 0, 100), ("orders", 2, 1, 200),
    ]  # fmt: skip
    assert rows(by_minute(made), "minute", "messages", "retried", "dead", "given_up", "p99_ms") == [
        (at(0), 1, 0, 0, 0, 99.0), (at(60_000), 4, 1, 0, 1, 10.0),
    ]  # fmt: skip
