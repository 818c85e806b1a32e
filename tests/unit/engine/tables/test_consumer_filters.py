"""The table of SQL92 filters and its file."""

import json
import tarfile

import pytest

from broker_core.engine.tables.consumer_filters import DEAD_KEPT_MS, ConsumerFilters
from broker_core.errors import CodecError
from broker_core.protocol.subscription import parse_subscription
from tests.support.clock import ManualClock
from tests.support.golden import golden_store


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def filters(clock):
    return ConsumerFilters(clock)


def sql(topic, expression, version=1):
    return parse_subscription(topic, expression, expression_type="SQL92", version=version)


def test_filters_follow_the_highest_version_and_tags_are_none_of_its_business(filters):
    filters.register("g", [sql("T", "a > 1", 5), parse_subscription("U", "x")])
    filters.register("g", [sql("T", "a > 2", 4), parse_subscription("U", "x")])
    assert (filters.get("T", "g").expression, filters.get("U", "g")) == ("a > 1", None)
    filters.register("g", [sql("T", "a > 3", 6)])
    data = filters.get("T", "g")
    assert (data.expression, data.client_version, data.dead) == ("a > 3", 6, False)
    assert data.compiled.matches({"a": "4"})


def test_a_filter_dies_with_its_group_or_its_subscription_and_comes_back(filters, clock):
    filters.register("g", [sql("T", "a > 1"), sql("U", "a > 1")])
    clock.advance(10)
    filters.register("g", [sql("U", "a > 1")])
    assert [filters.get(topic, "g").dead for topic in "TU"] == [True, False]
    filters.unregister("g")
    assert filters.get("U", "g").dead
    clock.advance(10)
    filters.register("g", [sql("T", "a > 1"), sql("U", "a > 1")])
    assert [filters.get(topic, "g").dead for topic in "TU"] == [False, False]


def test_a_dead_filter_is_forgotten_after_a_day(filters, clock):
    filters.register("g", [sql("T", "a > 1")])
    filters.unregister("g")
    clock.advance(DEAD_KEPT_MS)
    assert filters.to_json()["filterDataByTopic"]
    clock.advance(1)
    assert filters.to_json() == {"filterDataByTopic": {}}
    assert filters.get("T", "g") is None


def test_a_filter_that_cannot_be_read_is_not_kept(filters, caplog):
    filters.register("g", [sql("T", "a >")])
    assert filters.get("T", "g") is None
    assert "group g: filter on T cannot be used" in caplog.text


def test_the_file_of_a_real_broker_is_taken_over_and_written_the_same(clock):
    golden = golden_store("filter")
    with tarfile.open(golden.archive) as archive:
        content = json.loads(archive.extractfile("config/consumerFilter.json").read())
    newest = max(row["deadTime"] for row in content["filterDataByTopic"]["ShopEvents"]["groupFilterData"].values())
    clock.now_ms = newest + 1_000
    filters = ConsumerFilters(clock)
    filters.load(content)
    assert filters.to_json() == content


def test_what_was_alive_when_the_file_was_written_is_dead_until_its_group_is_back(filters, clock):
    filters.register("g", [sql("T", "a > 1")])
    content = filters.to_json()
    clock.advance(60_000)
    loaded = ConsumerFilters(clock)
    loaded.load(content)
    assert loaded.get("T", "g").dead_ms == clock() - 30_000
    loaded.register("g", [sql("T", "a > 1")])
    assert not loaded.get("T", "g").dead


def test_a_file_with_other_bloom_settings_is_ignored(filters):
    filters.register("g", [sql("T", "a > 1")])
    content = filters.to_json()
    content["filterDataByTopic"]["T"]["groupFilterData"]["g"]["bloomFilterData"]["bitNum"] = 64
    other = ConsumerFilters(lambda: 0)
    other.load(content)
    assert other.to_json() == {"filterDataByTopic": {}}


def test_a_file_of_something_else_is_refused(filters):
    with pytest.raises(CodecError, match=r"consumerFilter\.json holds something else"):
        filters.load({"filterDataByTopic": {"T": {"groupFilterData": {"g": {"expressionType": "SQL92"}}}}})


def test_an_expression_in_the_file_that_cannot_be_read_is_left_out(filters, caplog):
    filters.register("g", [sql("T", "a > 1")])
    content = filters.to_json()
    content["filterDataByTopic"]["T"]["groupFilterData"]["g"]["expression"] = "a >"
    other = ConsumerFilters(lambda: 0)
    other.load(content)
    assert other.get("T", "g") is None
    assert "cannot be used" in caplog.text
