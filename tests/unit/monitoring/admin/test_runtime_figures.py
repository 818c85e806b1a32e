"""Runtime figures of brokers as values, in the forms that 4.9.4, 5.3.3 and Orbit's own broker print."""

from __future__ import annotations

import pytest

from gui.views.store.cluster_part import figure_rows, tables_of
from monitoring.admin.runtime_figures import FIGURES, SECTIONS, BrokerRuntime, Distance, apart_of, size_of

MIB, GIB = 1 << 20, 1 << 30
TABLE = {
    "brokerVersionDesc": "V4_9_4",
    "bootTimestamp": "1795000000000",
    "commitLogMinOffset": "1073741824",
    "commitLogMaxOffset": "3221225472",
    "earliestMessageTimeStamp": "-1",
    "remainHowManyDataToFlush": "3.5 MiB",
    "dispatchBehindBytes": "0",
    "commitLogDiskRatio": "0.28",
    "commitLogDirCapacity": "Total : 252.0 GiB, Free : 69.5 GiB.",
    "putTps": "12.5 11.0 ",
    "getTransferedTps": "7.0 ",
    "putLatency99": "0.00",
    "putMessageEntireTimeMax": "212",
    "pageCacheLockTimeMills": "0",
    "putMessageFailedTimes": "0",
    "msgPutTotalTodayNow": "120",
    "msgPutTotalTodayMorning": "20",
    "sendThreadPoolQueueSize": "3",
    "sendThreadPoolQueueHeadWaitTimeMills": "17",
}


def said(**tables: dict[str, str]) -> dict[str, tuple[object, ...]]:
    return {row.figure.title: row.values for row in figure_rows(tables, sorted(tables))}


def test_figures_are_read_with_their_units():
    found = said(a=TABLE)
    assert found["RocketMQ"] == ("V4_9_4",)
    assert found["Started"] == (1_795_000_000_000,)
    assert found["Log kept"] == (2 * GIB,)
    assert found["Not flushed"] == (3.5 * MIB,)
    assert found["Disk of the log"] == (0.28,)
    assert (found["Disk size"], found["Disk free"]) == ((252 * GIB,), (69.5 * GIB,))
    assert found["Put today"] == (100,)
    assert (found["Sends that wait"], found["Sends: longest wait"]) == ((3,), (17,))


def test_what_was_told_to_be_0_is_0_and_what_was_not_measured_is_unknown():
    found = said(a=TABLE)
    assert (found["Not dispatched"], found["Failed puts"], found["Page cache busy"]) == ((0,), (0,), (0,))
    assert (found["Put latency p99"], found["Oldest message"]) == ((None,), (None,))


def test_a_log_without_a_message_keeps_nothing():
    found = said(a={"commitLogMinOffset": "-1", "commitLogMaxOffset": "0"}, b={"commitLogMaxOffset": "0"})
    assert (found["Log kept"], found["Log begins at"]) == ((0, None), (None, None))


def test_means_come_with_the_age_of_a_broker():
    found = said(a=TABLE, b={"putTps": "1.0 2.0 3.0", "getTransferredTps": "5.0 4.0 3.0"})
    assert (found["Put rate, 10 s"], found["Put rate, 10 min"]) == ((12.5, 1.0), (None, 3.0))
    assert found["Messages out, 10 s"] == (7.0, 5.0), "4.x spells it in another way"


def test_what_no_broker_speaks_of_is_no_row():
    assert "Wheel behind the clock" not in said(a=TABLE, b=TABLE)
    assert said(a=TABLE, b={**TABLE, "timerReadBehind": "2"})["Wheel behind the clock"] == (None, 2)


def test_a_broker_that_is_away_has_unknown_figures():
    rows = figure_rows({"a": TABLE}, ["a", "b"])
    assert {row.values[1] for row in rows} == {None}
    assert all(not row.apart for row in rows)


def test_one_broker_has_the_table_that_came():
    assert tables_of(BrokerRuntime(TABLE, ()), ["a"]) == {"a": TABLE}
    both = {"a": TABLE, "b": {}}
    assert tables_of(BrokerRuntime(TABLE, (), both), ["a", "b"]) is both


def test_rubbish_is_unknown():
    rows = figure_rows({"a": dict.fromkeys(TABLE, "soon")}, ["a"])
    assert {row.values[0] for row in rows} == {"soon", None}
    assert [row.figure.title for row in rows if row.values[0] == "soon"] == ["RocketMQ"]


@pytest.mark.parametrize(
    ("values", "distance", "apart"),
    [
        ((0.2, 0.25, 0.29), Distance(0.1), set()),
        ((0.2, 0.22, 0.8), Distance(0.1), {2}),
        ((100.0, 30.0), Distance(10, 2), {0, 1}),
        ((100.0, 60.0), Distance(10, 2), set()),
        ((8.0, 1.0), Distance(10, 2), set()),
        ((0.0, 0.0, 3.0), Distance(), {2}),
        (("V4_9_4", "V5_3_3", "V5_3_3"), Distance(), {0}),
        (("V4_9_4", "V5_3_3"), Distance(), {0, 1}),
        (("V4_9_4", "V4_9_4"), Distance(), set()),
        (("V4_9_4", None), Distance(), set()),
        ((5.0, None, None), Distance(), set()),
        ((1.0, 900.0), None, set()),
    ],
)
def test_who_is_far_from_the_others(values, distance, apart):
    assert apart_of(values, distance) == apart


@pytest.mark.parametrize(
    ("text", "size"), [("0 B", 0), ("640 B", 640), ("1.5 KiB", 1_536), ("2.0 MB", 2 * MIB), ("1.0 TiB", 1 << 40), ("", None)]
)
def test_sizes_have_units(text, size):
    assert size_of(text) == size


def test_titles_are_unique_and_sections_are_known():
    assert len({figure.title for figure in FIGURES}) == len(FIGURES)
    assert {figure.section for figure in FIGURES} == set(SECTIONS)
