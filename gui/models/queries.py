"""Queries of the SQL editor: those open in tabs, and those that were run. Pure: no widget, no I/O."""

from __future__ import annotations

from dataclasses import dataclass

from gui.models.reports import RunState, StartedRun
from gui.words.child_words import child_text
from gui.words.text import UNKNOWN, count_text, tr

SQL_REPORT, SQL_QUERY = "sql", "query"
"""Names of the report and of its parameter."""
_ENDS = (RunState.COMPLETE, RunState.PARTIAL, RunState.FAILED, RunState.CANCELLED)


@dataclass(frozen=True, slots=True)
class OpenQuery:
    """A query in a tab; ``name`` is empty until a person names it."""

    number: int
    text: str = ""
    name: str = ""

    @property
    def title(self) -> str:
        return self.name or tr("Query {number}", number=self.number)


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A query that was run.

    Attributes:
        text: The query.
        ended_ms: When it ended, ms since the epoch; with the text its identity.
        took_ms: Time it took.
        rows: Of the result; -1 unknown, or there is none.
        state: How it ended.
        fault: Why it failed; empty if it did not.
    """

    text: str
    ended_ms: int
    took_ms: int
    rows: int
    state: RunState
    fault: str = ""

    @property
    def line(self) -> str:
        return " ".join(self.text.split())

    @property
    def outcome(self) -> str:
        """Rows, or how it ended without any."""
        if self.state is RunState.FAILED:
            return tr("Failed")
        if self.state is RunState.CANCELLED:
            return tr("Cancelled")
        return tr("{count} rows", count=count_text(self.rows)) if self.rows >= 0 else UNKNOWN

    @property
    def reason(self) -> str:
        """Why it failed; empty if it did not."""
        return child_text(self.fault) if self.state is RunState.FAILED else ""

    @property
    def searched_text(self) -> str:
        return f"{self.text} {self.reason}"


def query_run(run: StartedRun, ended_ms: int) -> QueryRun | None:
    """The entry of a run that ended; None if it was no query, or one that was only named."""
    if run.order.spec.name != SQL_REPORT or run.state not in _ENDS:
        return None
    text = dict(run.order.parameters).get(SQL_QUERY, "").strip()
    if not text:
        return None
    rows = run.first.row_count if run.first is not None and run.state in (RunState.COMPLETE, RunState.PARTIAL) else -1
    return QueryRun(text, ended_ms, round(run.took_ms), rows, run.state, run.error)
