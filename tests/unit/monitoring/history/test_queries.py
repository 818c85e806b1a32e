import sqlite3

import pytest

from broker_core.api import UsageError
from broker_core.worker.questions.figures import Occurred
from broker_core.worker.questions.history import ReadEvents, ReadHistory
from tests.unit.monitoring.history.conftest import BEGIN_MS, state_of


def record(bench, seconds: int) -> None:
    bench.record(0, seconds, lambda second: state_of(BEGIN_MS + second * 1_000, put_rate=float(second % 7)))


def test_a_line_has_about_as_many_points_as_asked_for_and_keeps_its_extremes(bench):
    record(bench, 130)
    line = bench.line("totals.put_rate", 0, 140, points=10)
    assert line["at"] == [0, 14, 28, 42, 56, 70, 84, 98, 112, 126] or len(line["at"]) <= 11
    assert set(line["low"][1:-1]) == {0.0}
    assert set(line["high"][1:-1]) == {6.0}


def test_stretches_stand_still_while_the_window_moves(bench):
    record(bench, 130)
    first, second = (bench.line("totals.put_rate", begin, begin + 100, points=10) for begin in (3, 9))
    assert set(first["at"][2:-2]) <= set(second["at"])


def test_several_series_come_in_the_order_asked_for(bench):
    record(bench, 5)
    names = ["totals.put_rate", "topic:none.put_rate", "queue:orders/0.max_offset"]
    answer = bench.queries.lines(ReadHistory(names, BEGIN_MS, BEGIN_MS + 10_000, 10))
    assert [len(raw) // 8 for raw in answer.last] == [5, 0, 5]
    assert (answer.step_ms, answer.begin_ms) == (1_000, BEGIN_MS)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (ReadHistory([], 0, 1), "1 to 200 series"),
        (ReadHistory(["totals.x"] * 201, 0, 1), "not 201"),
        (ReadHistory(["totals.x"], 0, 1, points=1), "2 to 20,000 points, not 1"),
        (ReadHistory(["totals.x"], 5, 5), "5 to 5"),
        (ReadHistory(["totals.x"], -1, 5), "-1 to 5"),
        (ReadHistory(["nothing"], 0, 5), "“nothing” names no series"),
        (ReadHistory(["client:a.b"], 0, 5), "“client:a.b” names no series"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(bench, query, words):
    with pytest.raises(UsageError, match=words):
        bench.queries.lines(query)


def test_a_topic_with_dots_is_found(bench):
    bench.record(0, 3, lambda second: state_of(BEGIN_MS + second * 1_000, put_rate=2.0, topics=("a.b:c/d",)))
    assert bench.line("topic:a.b:c/d.put_rate", 0, 5)["last"] == [2, 2, 2]
    assert bench.line("queue:a.b:c/d/0.max_offset", 0, 5)["last"] == [100, 100, 100]


def put_events(bench, *events: Occurred) -> None:
    rows = [(event.at_ms, event.kind, event.subject, event.text) for event in events]
    bench.connection.executemany("INSERT INTO events (at_ms, kind, subject, text) VALUES (?, ?, ?, ?)", rows)


def test_events_come_newest_first_and_by_kind_and_subject(bench):
    put_events(bench, Occurred("a", "one", 10, "x"), Occurred("b", "two", 20, "x"), Occurred("a", "three", 30, "y"))
    assert bench.queries.events(ReadEvents(0, 30)).text == ["two", "one"]
    page = bench.queries.events(ReadEvents(0, 100, count=1, kinds=["a", "c"]))
    assert (page.total, page.text, page.at_ms, page.kind, page.subject) == (2, ["three"], [30], ["a"], ["y"])
    assert bench.queries.events(ReadEvents(0, 100, subject="x")).text == ["two", "one"]
    assert bench.queries.events(ReadEvents(50, 100)).total == 0
    with pytest.raises(UsageError, match="not 0"):
        bench.queries.events(ReadEvents(0, 1, count=0))


def test_after_a_question_that_failed_the_next_one_is_answered(bench, monkeypatch):
    record(bench, 5)

    def fail(_connection: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr("monitoring.history.queries.Runs", fail)
        with pytest.raises(sqlite3.OperationalError, match="disk I/O"):
            bench.line("totals.put_rate", 0, 10)
    assert bench.line("totals.put_rate", 0, 10)["at"] == [0, 1, 2, 3, 4]
