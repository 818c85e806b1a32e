"""The answers of several queries: all of them, in their order, some at once, and what one that fails does to the others."""

import threading

import pytest

from spark_reports.query_runner import collect

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


class Query:
    """Gives what it is told to, when it is told to."""

    def __init__(self, answer):
        self.toArrow = answer


@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_each_query_is_answered_in_order(spark, at_once):
    queries = {str(count): spark.range(count) for count in range(5)}
    answers = collect(queries, at_once)
    assert list(answers) == list(queries)
    assert [answers[str(count)].num_rows for count in range(5)] == list(range(5))


def test_two_are_under_way_at_the_same_time(spark):
    met = threading.Barrier(2, timeout=60)
    assert set(collect({"one": Query(met.wait), "other": Query(met.wait)}, 2)) == {"one", "other"}


def test_they_belong_to_the_job_group_of_who_asked(spark):
    spark.sparkContext.setJobGroup("these", "queries")
    met = threading.Barrier(2, timeout=60)

    def group():
        met.wait()
        return spark.sparkContext.getLocalProperty("spark.jobGroup.id")

    assert set(collect({"one": Query(group), "other": Query(group)}, 2).values()) == {"these"}


@pytest.mark.parametrize("at_once", [1, 2])
def test_what_fails_is_told_and_nothing_is_begun_after_it(spark, at_once):
    begun = []

    def fail():
        begun.append("failed")
        raise ZeroDivisionError("of a query")

    def note():
        begun.append("after")

    failed = threading.Event()

    def wait():
        failed.wait(60)

    first = {"bad": Query(fail)} if at_once == 1 else {"bad": Query(lambda: (failed.set(), fail())), "slow": Query(wait)}
    with pytest.raises(ZeroDivisionError, match="of a query"):
        collect({**first, **{str(count): Query(note) for count in range(3)}}, at_once)
    assert begun.count("failed") == 1
    assert begun.count("after") <= at_once - 1


@pytest.mark.parametrize("at_once", [1, 2])
def test_what_is_seen_first_is_asked_first_and_told_once_as_soon_as_it_is_there(spark, at_once):
    order, told = [], []
    was_told = threading.Event()

    def tell(tables):
        told.append(tables)
        was_told.set()

    def asked(name, *, last=False):
        def answer():
            order.append(name)
            assert not last or was_told.wait(60)
            return name

        return Query(answer)

    queries = {"rest": asked("rest"), "one": asked("one"), "last": asked("last", last=True), "other": asked("other")}
    answers = collect(queries, at_once, first=("other", "one", "of another store"), tell=tell)
    assert set(order[:2]) == {"one", "other"}
    assert told == [{"one": "one", "other": "other"}]
    assert list(answers) == ["rest", "one", "last", "other"]


def test_who_cannot_tell_it_fails_the_report(spark):
    def tell(_):
        raise ValueError("of the first table")

    with pytest.raises(ValueError, match="of the first table"):
        collect({"one": Query(lambda: 1), "two": Query(lambda: 2)}, 2, first=("one",), tell=tell)


def test_nothing_asked_is_nothing_found(spark):
    assert collect({}, 2) == {}
