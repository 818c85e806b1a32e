"""Report ``sql``: a query of the user's own over the table ``messages``.

The table has the columns of the data source (`spark_reports.datasource.schema`), the body among them if the query names it;
columns that the query does not name are not read.
"""

from __future__ import annotations

import re

from pyspark.sql import DataFrame

from broker_core.errors import UsageError
from spark_reports.datasource.schema import ALL_COLUMNS, MESSAGES, SKIPPED_COLUMNS
from spark_reports.parameters import ReportParameters
from spark_reports.reading import Reading
from spark_reports.reports.common import ACCOUNTING, Found, table
from spark_reports.reports.result import Headline, ReportResult
from spark_reports.reports.wording import number
from spark_reports.transforms.accounting import ACCOUNTED, accounting, messages_of
from spark_reports.vocabulary import Unit

VIEW = "messages"
_QUERY = re.compile(r"\s*(with|select|values|from)\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(insert|create|drop|alter|load|export|set|add|reset|refresh|cache|truncate|merge|update|delete)\b\s+\w", re.IGNORECASE
)
_TEXT = re.compile(r"'(?:[^'\\]|\\.|'')*'")


def check(parameters: ReportParameters) -> None:
    """Refuse what is no query.

    Raises:
        UsageError: It would change something.
    """
    query = _TEXT.sub("''", parameters.text("query"))
    if not _QUERY.match(query) or _CHANGE.search(query):
        raise UsageError(
            "only queries run here: begin with SELECT or WITH, and change nothing.", query=parameters.text("query")
        )


def wanted_columns(query: str) -> list[str]:
    """Columns of the data source that a query can refer to: those it names, or all but the body with a star."""
    words = {word.lower() for word in re.findall(r"\w+", query)}
    starred = re.search(r"(select|,|\.)\s*\*", query, re.IGNORECASE) or "distinct *" in query.lower()
    named = [name for name in ALL_COLUMNS.names if name in words and name not in SKIPPED_COLUMNS]
    return list(dict.fromkeys([*(MESSAGES.names if starred else ()), *named, "topic"]))


def queries(reading: Reading) -> dict[str, DataFrame]:
    """The result of the query, one row more than wanted."""
    check(reading.parameters)
    query = reading.parameters.text("query").strip().rstrip(";")
    names = list(dict.fromkeys((*wanted_columns(query), *ACCOUNTED)))
    rows = reading.records(names)
    messages_of(rows).select(*wanted_columns(query)).createOrReplaceTempView(VIEW)
    found = reading.spark.sql(query).limit(reading.parameters.number("rows") + 1)
    return {ACCOUNTING: accounting(reading.records(ACCOUNTED)), "rows": found}


def result(found: Found) -> ReportResult:
    """The rows."""
    limit = found.parameters.number("rows")
    rows = found["rows"]
    twice = [name for name in rows.column_names if rows.column_names.count(name) > 1]
    if twice:
        raise UsageError(f"two columns of the result are called {twice[0]}. Name them apart with AS.", column=twice[0])
    cut = rows.num_rows > limit
    shown = rows.slice(0, limit)
    return found.result(
        headlines=(
            Headline(shown.num_rows, Unit.COUNT, "rows", "there are more" if cut else ""),
            Headline(found.messages, Unit.COUNT, "messages read"),
        ),
        findings=(
            f"{number(shown.num_rows, 'row')} of {number(found.messages, 'message')}"
            + (f"; the result is cut behind {limit:,} rows." if cut else "."),
            f"The query: {found.parameters.text('query')}",
        ),
        tables=(table("rows", "Rows", shown, note=f"Cut behind {limit:,} rows." if cut else ""),),
        notes=("Without ORDER BY the rows come in no order of meaning.",),
    )
