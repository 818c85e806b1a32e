import pytest

from broker_core.errors import UsageError
from spark_reports.datasource.schema import MESSAGES
from spark_reports.parameters import ReportParameters
from spark_reports.reports.sql import check, wanted_columns


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("select count(*) from messages", ["topic"]),
        ("SELECT Topic, max(body_bytes) FROM messages GROUP BY topic", ["topic", "body_bytes"]),
        ("select length(body) from messages", ["body", "topic"]),
        ("select * from messages", MESSAGES.names),
        ("select distinct * from messages", MESSAGES.names),
        ("with a as (select m.* from messages m) select 1", MESSAGES.names),
        ("select /*+ a hint */ all * from messages", MESSAGES.names),
        ("-- what is there\nfrom messages |> where tag = 'a'", MESSAGES.names),
        ("select count(*) /* , * */ from messages where topic = 'a, *'", ["topic"]),
    ],
)
def test_only_columns_that_a_query_can_refer_to_are_read(query, columns):
    assert sorted(wanted_columns(query)) == sorted(columns)


@pytest.mark.parametrize(
    "query",
    [
        "select 'drop table x' from messages", "with a as (select 1) select * from a", "from messages",
        "-- how many\nselect 1", "/* drop table x */ (select 1) union (select 2)",
        'select "it\'s; drop table x", `set a` from messages',
    ],
)  # fmt: skip
def test_queries_are_let_through(query):
    check(ReportParameters(values={"query": query}))


@pytest.mark.parametrize(
    "query",
    [
        "drop view messages", "insert into x select 1", "with a as (select 1) insert into x select * from a", "set a = b",
        "-- select\ndrop view messages", "with a as (select 1) -- b\rinsert into x select * from a",
        "from messages insert into x select 1", "'' select 1",
    ],
)  # fmt: skip
def test_what_changes_something_is_refused(query):
    with pytest.raises(UsageError, match="only queries"):
        check(ReportParameters(values={"query": query}))
