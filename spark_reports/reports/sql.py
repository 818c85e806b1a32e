"""Report ``sql``: a query of the user's own over messages and samples.

Table ``messages`` has the columns of the data source (`spark_reports.datasource.schema`), the body among them if the query
names it; columns that the query does not name are not read. If the store has a history, the tables of samples
(`spark_reports.samples.tables`) exist under their names. Queries can be saved under a name.
"""

from __future__ import annotations

import re

from pyspark.sql import DataFrame

from broker_core.errors import UsageError
from spark_reports.datasource.schema import ALL_COLUMNS, MESSAGES, SKIPPED_COLUMNS
from spark_reports.masking import ORIGINS
from spark_reports.parameters import ReportParameters
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, table
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import number, say
from spark_reports.samples.tables import JOURNAL, SUBSCRIPTIONS, TABLES
from spark_reports.saved_queries import load, save
from spark_reports.transforms.accounting import ACCOUNTED, accounting, messages_of
from spark_reports.vocabulary import ValueUnit

FIRST = ("rows",)
MASKS_MESSAGES = True
"""The query sees masked messages."""
VIEW = "messages"
_QUERY = re.compile(r"[\s(]*(with|select|values|from)\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(insert|create|drop|alter|load|export|set|add|reset|refresh|cache|truncate|merge|update|delete)\b\s+\w", re.IGNORECASE
)
_ASIDE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\r\n]*|/\*.*?\*/""", re.DOTALL)
"""Texts, quoted names and comments, whose words are no words of SQL."""
_STAR = re.compile(r"(select(\s+(all|distinct))?|,|\.)\s*\*|^[\s(]*from\b", re.IGNORECASE)
"""All columns: a star that counts nothing, or a query that begins with its table."""


def check(parameters: ReportParameters) -> None:
    """Raise `UsageError` if there is no query or two, it would change something, or it names one that is not saved."""
    text = query_of(parameters)
    query = _without_asides(text)
    if not _QUERY.match(query) or _CHANGE.search(query):
        raise UsageError("only queries run here: begin with SELECT or WITH, and change nothing.", query=text)


def query_of(parameters: ReportParameters) -> str:
    """The query, given or saved; a `UsageError` if there is none or two, or none is saved under the name."""
    given, saved = parameters.text("query"), parameters.text("saved")
    if bool(given) == bool(saved):
        raise UsageError("sql needs one query: name it with --query, or one that was saved with --saved.")
    return given or load(saved)


def wanted_columns(query: str) -> list[str]:
    """Columns of the data source that a query can use: those it names, or with a star all but the body."""
    words = {word.lower() for word in re.findall(r"\w+", query)}
    starred = _STAR.search(_without_asides(query))
    named = [name for name in ALL_COLUMNS.names if name in words and name not in SKIPPED_COLUMNS]
    return list(dict.fromkeys([*(MESSAGES.names if starred else ()), *named, "topic"]))


def _without_asides(query: str) -> str:
    return _ASIDE.sub(lambda found: " " if found[0][:2] in ("--", "/*") else "''", query)


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    """The result of the query, one row more than wanted."""
    check(reading.parameters)
    query = query_of(reading.parameters).strip().rstrip(";")
    words = {word.lower() for word in re.findall(r"\w+", query)}
    for table_name in TABLES:
        if table_name in words and (reading.has_history or table_name == JOURNAL):
            samples = reading.samples(table_name)
            if reading.mask and table_name == SUBSCRIPTIONS:
                samples = samples.drop("expression")  # tags stand in it, or what a filter looks for in properties
            samples.createOrReplaceTempView(table_name)
    wanted = wanted_columns(query)
    names = list(dict.fromkeys((*wanted, *ACCOUNTED)))
    rows = messages_of(reading.records(list(dict.fromkeys((*names, *(ORIGINS if reading.mask else ()))))))
    seen = rows.select(*wanted) if reading.mask is None else reading.mask.messages(rows, wanted)
    seen.createOrReplaceTempView(VIEW)
    found = reading.spark.sql(query).limit(reading.parameters.number("rows") + 1)
    return {ACCOUNTING: accounting(reading.records(ACCOUNTED)), "rows": found}


def first(found: QueryResults) -> ReportTable:
    """The rows; a `UsageError` if two columns have one name."""
    limit, rows = found.parameters.number("rows"), found["rows"]
    twice = [name for name in rows.column_names if rows.column_names.count(name) > 1]
    if twice:
        raise UsageError(f"two columns of the result are called {twice[0]}. Name them apart with AS.", column=twice[0])
    note = f"Cut behind {limit:,} rows." if rows.num_rows > limit else ""
    return table("rows", "Rows", rows.slice(0, limit), note=note)


def result(found: QueryResults) -> ReportResult:
    limit, made = found.parameters.number("rows"), first(found)
    query = query_of(found.parameters)
    if found.parameters.text("save-as"):
        save(found.parameters.text("save-as"), query)  # it ran, so it is worth keeping
    cut, shown = found["rows"].num_rows > limit, made.data
    return found.result(
        headlines=(
            KeyFigure(shown.num_rows, ValueUnit.COUNT, "rows", "there are more" if cut else ""),
            KeyFigure(found.messages, ValueUnit.COUNT, "messages read"),
        ),
        findings=(
            say("{rows} of {messages}.", rows=number(shown.num_rows, "row"), messages=number(found.messages, "message")),
            *([say("The result is cut behind {limit:,} rows.", limit=limit)] if cut else []),
            say("The query: {query}", query=found.shown(query)),
        ),
        tables=(made,),
        notes=("Without ORDER BY the rows come in no order of meaning.",),
    )
