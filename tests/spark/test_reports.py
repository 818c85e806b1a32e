"""Every report over a store whose totals are known by construction; over real stores; and whatever the partitioning."""

import contextlib
import json
import math
import shutil
import sqlite3
import subprocess
from collections import Counter
from datetime import UTC, datetime

import pytest

from broker_core.errors import UsageError
from monitoring.payload.masking import MASK, MaskRules
from monitoring.payload.rules import DecoderRule, write_rules
from spark_reports import catalog
from spark_reports.chinese_words import in_chinese
from spark_reports.datasource.plan import plan_read
from spark_reports.masking import ReportMask
from spark_reports.output.manifest import Source, manifest, with_files, with_times
from spark_reports.output.page import render_page
from spark_reports.output.tables import write_table, write_workbook
from spark_reports.parameters import ReportParameters
from spark_reports.report_input import ReportInput
from spark_reports.reports import tags, throughput
from spark_reports.reports.common import QueryResults
from spark_reports.reports.throughput import MESSAGE_COLUMNS, by_traffic_keys, each_a_sum
from spark_reports.run import gather
from tests.spark.golden_totals import EXPECTED, Told
from tests.spark.support import only, rows, run
from tests.support import known_store as known
from tests.support.foreign_tools import browser
from tests.support.golden import GOLDEN_NAMES, golden_store
from tests.support.known_history import write_known_history

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]

RETRIES = 1 * known.FAILED_ONCE + 2 * known.FAILED_TWICE + 3 * known.DEAD
DEAD = known.DEAD + known.DEAD_AT_ONCE
CHAINS = known.FAILED_ONCE + known.FAILED_TWICE + DEAD
DAY_7 = known.START_MS + 7 * known.DAY_MS


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = known.write_known_store(tmp_path_factory.mktemp("known") / "store")
    write_known_history(made.root)
    return made


@pytest.fixture(scope="module")
def keys_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "keys.csv"
    path.write_text("order,amount\norder-1,5\norder-2,6\norder-2,6\nsame-0,7\nnever,1\ninvoice-19,1\n007,1\n", encoding="utf-8")
    return path


def whole(result, store):
    """Every record was looked at and is in the report, and the range is that of the store."""
    assert (result.rows, result.looked_at, result.complete) == (store.records, store.records, True)
    assert (result.found_from_ms, result.found_to_ms) == (min(store.times), max(store.times))
    return result


def test_throughput(spark, store):
    result = whole(run(spark, store.root, "throughput"), store)
    assert {row["topic"]: row["messages"] for row in rows(result, "by_topic")} == store.by_topic
    assert sum(row["store_bytes"] for row in rows(result, "by_minute_topic_tag")) == store.store_bytes
    assert sum(row["messages"] for row in rows(result, "by_producer")) == store.records
    by_producer = [row for row in rows(result, "by_producer_topic_tag") if row["topic"] == "orders"]
    assert sum(row["messages"] for row in by_producer) == known.ORDERS
    assert sum(row["messages"] for row in by_producer if row["host"] == "10.0.0.3") == known.SKEWED_ORDERS


def test_sums_of_the_reader_are_those_of_single_messages(spark, store, tmp_path):
    golden = golden_store("torn").unpack(tmp_path)
    for root, bounds in ((store.root, ReportParameters()), (store.root, ReportParameters(DAY_7, None, ("orders",))),
                         (golden, ReportParameters())):  # fmt: skip
        reading = ReportInput(spark, plan_read([root], split_bytes=20_000), bounds, None, (str(root),))
        summed = gather(reading, throughput)[throughput.TRAFFIC]
        single = reading.records(MESSAGE_COLUMNS).transform(each_a_sum).transform(by_traffic_keys).toArrow()
        assert summed.num_rows
        assert summed.schema == single.schema
        by_sums, by_messages = (throughput.result(QueryResults({throughput.TRAFFIC: one}, bounds)) for one in (summed, single))
        assert by_sums.rows
        same(by_sums, by_messages)


def test_calendar(spark, store):
    result = whole(run(spark, store.root, "calendar", topics=(), zone="Asia/Tokyo"), store)
    assert sum(row["messages"] for row in rows(result, "by_day")) == store.records
    assert sum(row["store_bytes"] for row in rows(result, "by_weekday_hour")) == store.store_bytes
    orders = run(spark, store.root, "calendar", topics=("orders",), zone="Asia/Tokyo")
    assert (orders.rows, orders.looked_at) == (known.ORDERS, store.records)
    # From 9 to 17 in UTC is from 18 to 2 in Tokyo; ten days from a Monday have two Mondays to Wednesdays.
    assert only(orders, "by_weekday_hour", weekday="Thursday", hour=18)["messages"] == 3
    assert only(orders, "by_weekday_hour", weekday="Monday", hour=18)["messages"] == 6
    assert sum(series.y[18] for series in orders.charts[0].series) == 3 * known.ORDER_DAYS


def test_latency(spark, store):
    result = run(spark, store.root, "latency", topics=("orders",))
    assert sum(row["messages"] for row in rows(result, "by_host")) == known.ORDERS - known.SKEWED_ORDERS
    ahead = only(result, "clocks_ahead")
    assert (ahead["host"], ahead["messages"], ahead["min_ms"]) == ("10.0.0.3", known.SKEWED_ORDERS, -2_000)
    slowest = only(result, "by_host", host="10.0.0.1")
    assert (slowest["min_ms"], slowest["p50_ms"], slowest["max_ms"]) == (4, 12, 20)


def test_delay(spark, store):
    result = run(spark, store.root, "delay", topics=("later",), late_ms=200)
    for level, (shown, delay) in {1: ("1 (1s)", 250), 3: ("3 (10s)", 150)}.items():
        row = only(result, "by_level", level=shown)
        delivered = known.DELAYED[level]
        assert (row["messages"], row["delivered"], row["max_ms"], row["early"]) == (delivered, delivered, delay, 0)
    late = sum(turn * known.DELAY_STEP_MS >= 200 for count in known.DELAYED.values() for turn in range(count)) + known.TIMERS
    assert sum(row["late"] for row in rows(result, "by_level")) == late
    assert only(result, "by_level", level="18 (2h)")["waiting"] == known.DELAYED_WAITING
    timer = only(result, "by_level", level="timer")
    assert (timer["delivered"], timer["waiting"], timer["p50_ms"]) == (known.TIMERS, known.TIMERS_WAITING, known.TIMER_LATE_MS)
    assert timer["cancelled"] == known.TIMERS_CANCELLED
    assert (
        sum(row["delivered"] for row in rows(run(spark, store.root, "delay"), "by_level_topic"))
        == RETRIES + sum(known.DELAYED.values()) + known.TIMERS
    )


def test_transactions(spark, store):
    result = whole(run(spark, store.root, "transactions"), store)
    row = only(result, "by_group")
    assert (row["group"], row["topic"], row["transactions"]) == ("bank", "payments", known.TRANSACTIONS)
    assert [row[name] for name in ("committed", "rolled_back", "given_up", "undecided")] == [
        known.COMMITTED, known.ROLLED_BACK, known.GIVEN_UP, known.UNDECIDED,
    ]  # fmt: skip
    assert row["checks"] == 2 * known.CHECKED_COMMITS + known.CHECKS_OF_GIVEN_UP * known.GIVEN_UP
    assert row["max_ms"] == (known.COMMITTED + known.ROLLED_BACK + known.GIVEN_UP) * known.DECISION_STEP_MS
    assert Counter(row["outcome"] for row in rows(result, "unfinished")) == {
        "given_up": known.GIVEN_UP, "undecided": known.UNDECIDED,
    }  # fmt: skip
    assert sum(one["committed"] for one in rows(result, "by_host")) == known.COMMITTED
    assert rows(run(spark, store.root, "transactions", topics=("orders",)), "by_group") == []


def test_retries(spark, store):
    result = run(spark, store.root, "retries")
    funnel = {row["attempt"]: (row["reached"], row["last_seen"], row["dead"]) for row in rows(result, "funnel")}
    assert funnel == {
        0: (CHAINS, 0, known.DEAD_AT_ONCE),
        1: (CHAINS - known.DEAD_AT_ONCE, known.FAILED_ONCE, 0),
        2: (known.FAILED_TWICE + known.DEAD, known.FAILED_TWICE, 0),
        3: (known.DEAD, 0, known.DEAD),
    }
    by_tag = rows(result, "by_topic_tag")
    assert {row["topic"] for row in by_tag} == {"invoices"}
    for some in (by_tag, rows(result, "by_host")):
        assert (sum(row["dead"] for row in some), sum(row["attempts"] for row in some)) == (DEAD, RETRIES)


def test_dead_letters(spark, store):
    result = run(spark, store.root, "dead-letters", topics=("invoices",))
    assert sum(row["dead"] for row in rows(result, "by_origin")) == DEAD
    assert {row["age"]: row["dead"] for row in rows(result, "by_age")} == {"under 30 days": DEAD}
    assert sum(row["dead"] for row in rows(result, "by_property") if row["property"] == "TAGS") == DEAD


def test_keys(spark, store):
    result = run(spark, store.root, "keys", topics=("lanes",))
    hot = rows(result, "ordering_key_first")[0]
    assert (hot["key"], hot["messages"], hot["queues"]) == ("hot", known.LANES_HOT, 1)
    assert hot["share"] == pytest.approx(known.LANES_HOT / known.LANES)
    spread = only(result, "ordering_key_by_topic")
    assert (spread["distinct_values"], spread["keyed"]) == (known.LANES_OTHER + 1, known.LANES)
    counts = [1] * known.LANES_OTHER + [known.LANES_HOT]  # the definition: mean difference of all pairs by twice the mean
    pairs = sum(abs(one - other) for one in counts for other in counts)
    assert spread["gini"] == pytest.approx(pairs / (2 * len(counts) * sum(counts)), abs=1e-6)


def test_queues(spark, store):
    result = whole(run(spark, store.root, "queues"), store)
    gappy = only(result, "by_topic", topic="gappy")
    assert (gappy["messages"], gappy["offsets_missing"]) == (sum(known.GAPPY.values()), known.GAP_OFFSETS)
    assert sum(row["offsets_missing"] for row in rows(result, "by_queue")) == known.GAP_OFFSETS
    assert only(result, "by_topic", topic="payments")["silent"] == 2  # only queue 2 has messages
    assert only(result, "by_topic", topic="lanes")["skewness"] == pytest.approx(known.LANES_HOT / (known.LANES / 4))


def test_sizes(spark, store):
    result = run(spark, store.root, "sizes", topics=("blobs",), sample=1)
    blobs = only(result, "by_topic_tag")
    assert (blobs["messages"], blobs["body_bytes_max"]) == (
        known.SQUASHED + known.PLAIN_SOFT + known.PLAIN_HARD,
        known.BLOB_BYTES,
    )
    tried = only(result, "compression")
    assert tried["messages"] == known.PLAIN_SOFT + known.PLAIN_HARD  # what its client compressed is not tried again
    hard = known.PLAIN_HARD * known.BLOB_BYTES
    assert hard <= tried["compressed_bytes"] < hard * 1.05
    assert sum(row["messages"] for row in rows(result, "by_size")) == blobs["messages"]
    assert "compression" not in [table.name for table in run(spark, store.root, "sizes", sample=0).tables]


def test_duplicates(spark, store):
    result = run(spark, store.root, "duplicates", topics=("doubles",))
    assert {row["sameness"]: (row["groups"], row["repeats"]) for row in rows(result, "by_topic")} == {
        "unique key": (known.SENT_TWICE, known.SENT_TWICE),
        "business key": (known.KEY_TWICE, known.KEY_TWICE),
        "body": (1, known.BODY_TWICE - 1),
    }
    assert {row["apart_ms"] for row in rows(result, "cases")} == {known.REPEAT_APART_MS}
    assert rows(run(spark, store.root, "duplicates", topics=("doubles",), within_s=1), "cases") == []


def test_producers(spark, store):
    result = run(spark, store.root, "producers", topics=("orders",))
    assert only(result, "by_host", host="10.0.0.3")["messages"] == known.SKEWED_ORDERS
    assert sum(row["messages"] for row in rows(result, "by_day")) == known.ORDERS
    assert {one.name: sum(one.y) for one in result.charts[0].series} == {
        row["host"]: row["messages"] for row in rows(result, "by_host")
    }
    assert sum(row["messages"] for row in rows(result, "over_time")) == known.ORDERS
    bank = only(run(spark, store.root, "producers"), "by_topic", topic="payments")
    assert (bank["group"], bank["messages"]) == ("bank", known.TRANSACTIONS)  # once each, whatever became of them


def test_tags(spark, store):
    result = whole(run(spark, store.root, "tags"), store)
    gone = only(result, "gone")
    assert (gone["topic"], gone["tag"], gone["messages"]) == ("orders", "trial", known.ORDERS_BY_DAY)
    states = {(row["topic"], row["tag"]): (row["subscribers"], row["state"]) for row in rows(result, "by_tag")}
    assert [states["orders", tag] for tag in ("trial", "paid", None)] == [(0, "dead"), (1, "subscribed"), (0, "dead")]
    assert states["lanes", None] == (0, "perhaps, by a filter")
    assert states["invoices", "urgent"] == (1, "subscribed")
    assert states["%RETRY%billing", "urgent"] == (0, None)
    assert {(row["topic"], row["tag"]) for row in rows(result, "dead")} == {("orders", "trial"), ("blobs", "blob")}
    assert result.findings[-1].startswith("2 tags are dead: nobody subscribed in the 109.9 min for which that was recorded.")
    keys = only(result, "properties", topic="orders", property="KEYS")
    assert (keys["messages"], keys["distinct_values"]) == (known.ORDERS, known.ORDERS)


def test_tags_of_a_store_without_a_history_may_be_dead_or_not(spark, store, tmp_path):
    shutil.copytree(store.root / "commitlog", tmp_path / "commitlog")
    result = run(spark, tmp_path, "tags", topics=("orders",))
    assert {row["state"] for row in rows(result, "by_tag")} == {"not known"}
    assert (rows(result, "dead"), math.isnan(result.headlines[2].value)) == ([], True)
    assert "which tags are dead is not known" in result.notes[1]


def test_tags_of_two_stores_are_not_dead_where_one_has_no_record_of_subscriptions(spark, store, tmp_path):
    roots = (store.root, shutil.copytree(store.root, tmp_path / "copy"))
    with contextlib.closing(sqlite3.connect(roots[1] / "orbit" / "history.db")) as history, history:
        history.execute("DELETE FROM subscriptions")
    parameters = ReportParameters(topics=("orders",), values={"silent-days": 3}, now_ms=known.NOW_MS)
    result = tags.result(gather(ReportInput(spark, plan_read(roots), parameters, None, tuple(map(str, roots))), tags))
    assert {row["state"] for row in rows(result, "by_tag")} == {"not known"}


def test_compare(spark, store):
    result = run(spark, store.root, "compare", topics=("orders",), from_ms=DAY_7, to_ms=DAY_7 + known.DAY_MS)
    changes = {row["tag"]: (row["messages_before"], row["messages"]) for row in rows(result, "changes")}
    assert changes == {
        "trial": (known.ORDERS_BY_DAY, 0), "paid": (0, known.ORDERS_BY_DAY // 2), None: (0, known.ORDERS_BY_DAY // 2),
    }  # fmt: skip
    with pytest.raises(UsageError, match="--from"):
        run(spark, store.root, "compare")


def test_reconcile(spark, store, keys_file):
    result = run(spark, store.root, "reconcile", keys_file=keys_file)
    assert {row["state"]: row["listed"] for row in rows(result, "by_state")} == {
        "missing": 2, "stored once": 3, "stored several times": 1,
    }  # fmt: skip
    assert [row["key"] for row in rows(result, "missing")] == ["007", "never"]
    assert only(result, "keys", key="order-2")["listed"] == 2
    assert (only(result, "keys", key="invoice-19")["copies"], only(result, "keys", key="invoice-19")["dead"]) == (1, 1)
    assert len(result.findings) == 2


def test_listed_keys_that_can_match_none_are_counted(spark, store, tmp_path):
    path = tmp_path / "keys.csv"
    path.write_text("order\norder-1\norder 2\na b c\n", encoding="utf-8")
    spaced = "2 listed keys with a space can match none: spaces separate the keys of a message."
    assert run(spark, store.root, "reconcile", keys_file=path).findings[-1] == spaced
    assert in_chinese(spaced) != spaced
    assert spaced not in run(spark, store.root, "reconcile", keys_file=path, match="unique-key").findings


def test_story(spark, store):
    checked = rows(run(spark, store.root, "story", key="payment-0"), "story")
    assert [row["step"] for row in checked] == [
        "half message for payments", "half message, check 1", "half message, check 2", "committed",
        "the half message is decided",
    ]  # fmt: skip
    cancelled = rows(run(spark, store.root, "story", key=f"TIMER{known.TIMERS:06d}"), "story")
    assert [row["step"] for row in cancelled] == ["waits for its time, for later", "cancels a timer message"]
    nothing = run(spark, store.root, "story", key="never")
    assert (rows(nothing, "story"), nothing.findings) == ([], ("0 records of “never” are in this range.",))


def test_sql(spark, store):
    query = "select topic, count(*) as messages, sum(store_bytes) as store_bytes from messages group by topic"
    result = whole(run(spark, store.root, "sql", query=query), store)
    assert {row["topic"]: row["messages"] for row in rows(result, "rows")} == store.by_topic
    cut = run(spark, store.root, "sql", query="select *, length(body) as n from messages order by physical_offset", rows=5)
    assert [row["n"] for row in rows(cut, "rows")] == [known.ORDER_BODY_BYTES] * 5
    assert "cut behind 5 rows" in cut.findings[1]
    with pytest.raises(UsageError, match="only queries"):
        run(spark, store.root, "sql", query="drop view messages")


OWN = {"story": {"key": "payment-0"}, "sql": {"query": "select topic, count(*) as messages from messages group by topic"}}


def parameters_of(name, keys_file):
    more = {"keys_file": keys_file} if name == "reconcile" else OWN.get(name, {})
    bounds = {"compare": {"from_ms": DAY_7}, "incident": {"from_ms": DAY_7, "to_ms": DAY_7 + known.DAY_MS}}
    return more | bounds.get(name, {})


ALL = [spec.name for spec in catalog.reports()]
ON_MESSAGES = [spec.name for spec in catalog.reports() if not spec.needs_samples]
ON_DEMAND = [pytest.param(name, marks=() if name == "calendar" else pytest.mark.slow) for name in ALL]


@pytest.mark.clients
@pytest.mark.parametrize("name", ON_DEMAND)
def test_a_browser_draws_the_page_without_a_complaint(spark, store, keys_file, tmp_path, name):
    result = run(spark, store.root, name, **parameters_of(name, keys_file))
    source = Source([str(store.root)], plan_read([store.root]), "local[*]", "21")
    facts = manifest(catalog.find(name), ReportParameters(), source, result, now=datetime(2026, 3, 16, tzinfo=UTC))
    files = {table.name: write_table(table, tmp_path, json_lines=True) for table in result.tables}
    facts = with_times(with_files(facts, result, files), [], 1.0)
    json.dumps(facts, allow_nan=False)
    write_workbook(result.tables, tmp_path)
    page = tmp_path / "report.html"
    page.write_text(render_page(result, facts, "What?"), encoding="utf-8")
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'browser'}"]
    command += ["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True)
    assert shown.stdout.count('class="main-svg"') >= len(result.charts)
    assert "CONSOLE" not in shown.stderr  # a refused request outside would be told here too: the page forbids them all


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_findings_have_chinese_words(spark, store, keys_file, name):
    findings = run(spark, store.root, name, **parameters_of(name, keys_file)).findings
    assert [one for one in findings if in_chinese(one) == one] == []


def same(one, other):
    assert one.rows == other.rows
    assert (one.findings, one.headlines, one.skipped) == (other.findings, other.headlines, other.skipped)
    for table, again in zip(one.tables, other.tables, strict=True):
        assert table.name == again.name
        assert table.data.schema == again.data.schema
        assert sorted(map(repr, table.data.to_pylist())) == sorted(map(repr, again.data.to_pylist()))


OFTEN = ("calendar", "transactions", "tags")


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.slow) for name in ALL])
def test_rows_that_the_driver_reads_and_rows_of_workers_give_the_same(spark, store, keys_file, name):
    own = parameters_of(name, keys_file)
    driver, workers = (
        run(spark, store.root, name, split_bytes=size, workers=size < 1 << 20, **own) for size in (1 << 20, 5_000)
    )
    same(driver, workers)
    assert repr(driver.charts) == repr(workers.charts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_results_do_not_depend_on_the_partitioning(spark, store, keys_file, name):
    own = parameters_of(name, keys_file)
    same(*(run(spark, store.root, name, split_bytes=size, workers=True, **own) for size in (1 << 30, 5_000)))


@pytest.mark.slow
@pytest.mark.parametrize("golden_name", GOLDEN_NAMES)
def test_every_report_finds_in_a_golden_store_what_the_real_broker_served(spark, tmp_path, golden_name):
    golden = golden_store(golden_name)
    told, root = Told(golden), golden.unpack(tmp_path)
    keys = sorted({key for one in told.sent for key in one.keys})[:50]
    (tmp_path / "keys.csv").write_text("key\n" + "".join(f"{key}\n" for key in [*keys, "never"]), encoding="utf-8")
    late = {"from_ms": told.middle_ms, "to_ms": told.last_ms + 1}
    own = OWN | {
        "compare": late | {"earlier_days": 1}, "incident": late, "reconcile": {"keys_file": tmp_path / "keys.csv"},
        "story": {"key": told.story_key},
    }  # fmt: skip
    for name in ON_MESSAGES:
        result = run(spark, root, name, **own.get(name, {}))
        for number, (expected, found) in enumerate(EXPECTED[name](told, result)):
            assert found == expected, (name, number)
        assert name in ("compare", "incident") or result.rows == len(told.records), name
        assert all(set(table.units) == set(table.data.column_names) for table in result.tables)
        json.dumps([result.findings, result.notes])


def test_what_rules_mask_is_in_no_table_chart_or_sentence(spark, store, keys_file, tmp_path):
    secret = ("order-", "same-", "customer-", "lane-", "paid", "trial", "crc ")
    write_rules(tmp_path / "rules.json", [DecoderRule("*", mask=MaskRules((), ("(?s).+",)))])
    asked = {
        "keys": {}, "duplicates": {}, "story": {"key": "order-1"}, "reconcile": {"keys_file": keys_file},
        "sql": {"query": "select topic, tag, keys, properties, body_crc from messages where kind = 'normal'"},
    }  # fmt: skip
    for name, own in asked.items():
        masked = run(spark, store.root, name, mask=ReportMask(tmp_path / "rules.json"), **own)
        said = repr(masked)
        assert MASK in said, name
        assert [word for word in secret if word in said] == [], name
        assert masked.rows == store.records


def test_a_query_finds_nothing_by_what_is_masked(spark, store, tmp_path):
    write_rules(tmp_path / "rules.json", [DecoderRule("orders", mask=MaskRules((), (r"order-\d+",)))])
    starts = ("order", "lane", "customer")
    counts = (f"count_if(exists(keys, one -> one like '{start}-%')) as {start}" for start in starts)
    query = f"select {', '.join(counts)} from messages where topic in ('orders', 'lanes')"
    masked = run(spark, store.root, "sql", mask=ReportMask(tmp_path / "rules.json"), query=query)
    assert rows(masked, "rows") == [{"order": 0, "lane": known.LANES_OTHER, "customer": known.ORDERS}]
