import pytest

from broker_core.errors import UsageError
from spark_reports import saved_queries
from spark_reports.parameters import ReportParameters
from spark_reports.reports.sql import query_of


@pytest.fixture(autouse=True)
def configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_a_query_is_kept_under_its_name():
    saved_queries.save("by topic", "select 1")
    saved_queries.save("by topic", "select topic from messages")
    assert (saved_queries.names(), saved_queries.load("by topic")) == (["by topic"], "select topic from messages")
    assert query_of(ReportParameters(values={"saved": "by topic"})) == "select topic from messages"


@pytest.mark.parametrize("name", ["../escape", "", "a" * 65, "a/b"])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(UsageError, match="is no name for a query"):
        saved_queries.save(name, "select 1")


def test_one_query_is_needed():
    with pytest.raises(UsageError, match="there is no saved query “x”"):
        query_of(ReportParameters(values={"saved": "x"}))
    for values in ({}, {"query": "select 1", "saved": "x"}):
        with pytest.raises(UsageError, match="needs one query"):
            query_of(ReportParameters(values=values))
