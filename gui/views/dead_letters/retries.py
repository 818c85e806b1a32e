"""`WaitingRetries`: the waiting retries, and beside the table the attempts of one of them (`RetryLadder`).

`RetryReader`: the attempt that a pending retry waits for, and its limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import GroupConfig, OrbitError, read_group_settings
from broker_core.outside import whole_of
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessage
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.operations.queries import LatestQuery
from gui.operations.requests import ReadAnswer
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.dead_letters.columns import retry_columns
from gui.views.dead_letters.reader import DeadLetterReader
from gui.views.list_read import shown_read
from gui.views.page import PageContext
from gui.widgets.basic import fill, label
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said
from gui.words.broker_words import broker_text
from gui.words.text import UNKNOWN, TimeZoneChoice, count_text, duration_text, tr
from monitoring.admin.groups import ask_settings
from monitoring.dead_letters import RETRIES_DEFAULT, Rung, WaitingRetry, retry_ladder
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

_OWN_LIMIT = "MAX_RECONSUME_TIMES"


class LimitFrom(Enum):
    """Source of the retry limit. The limit of a client's own request has priority, and is not stored."""

    GROUP = "group"
    MESSAGE = "message"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class RetryFacts:
    """Facts of a pending retry.

    Attributes:
        attempt: Number of the pending attempt, the first retry being 1.
        limit: Retries before it becomes a dead letter (Source: docs/spec/broker.md §8.1, retryMaxTimes).
        limit_from: Source of the limit.
        unknown: Why the settings of the group are not known; empty where they are.
    """

    attempt: int
    limit: int = RETRIES_DEFAULT
    limit_from: LimitFrom = LimitFrom.DEFAULT
    unknown: str = ""


class RetryReader(QObject):
    """Reads the message, whose count of deliveries is exact, and the settings of its group. GUI thread only.

    Signals:
        changed: `facts` changed.
    """

    changed = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._retry: WaitingRetry | None = None
        self._message: LatestQuery[MessageDetail] = LatestQuery(self)
        self._settings: LatestQuery[GroupConfig] = LatestQuery(self)
        self._limits: dict[str, int] = {}
        self.facts: RetryFacts | None = None
        """Of the last message requested; at first only what its delay level implies."""

    def read(self, retry: WaitingRetry | None) -> None:
        """Read a pending retry; None: forget the previous one."""
        if retry == self._retry:
            return
        self._retry = retry
        self._message.cancel()
        self._settings.cancel()
        self.facts = None
        if retry is not None:
            self._take(max(1, retry.attempt), None)
            self._message.ask(self._source.ask(ReadMessage(retry.physical_offset)), self._read, self._gone)

    def forget(self) -> None:
        """Read everything again, because settings may have changed."""
        self._limits.clear()
        self._retry = None

    def _read(self, detail: MessageDetail) -> None:
        retry = self._retry
        assert retry is not None
        own = whole_of(detail.properties.get(_OWN_LIMIT, ""))
        attempt = detail.reconsume_times or max(1, retry.attempt)
        if own is not None:
            self._take(attempt, RetryFacts(attempt, own, LimitFrom.MESSAGE))
        elif retry.group in self._limits:
            self._take(attempt, RetryFacts(attempt, self._limits[retry.group], LimitFrom.GROUP))
        else:
            self._take(attempt, None)
            asked = ReadAnswer(self._source.ask(ask_settings(retry.group)), lambda answer: read_group_settings(answer.body))
            self._settings.ask(asked, partial(self._answered, retry.group, attempt), partial(self._unknown, attempt))

    def _answered(self, group: str, attempt: int, settings: GroupConfig) -> None:
        self._limits[group] = limit = settings.retry_times_max
        self._take(attempt, RetryFacts(attempt, limit, LimitFrom.GROUP))

    def _unknown(self, attempt: int, error: OrbitError) -> None:
        self._take(attempt, RetryFacts(attempt, unknown=error.message))

    def _gone(self, error: OrbitError) -> None:
        assert self._retry is not None
        self._unknown(max(1, self._retry.attempt), error)

    def _take(self, attempt: int, facts: RetryFacts | None) -> None:
        self.facts = facts or RetryFacts(attempt)
        self.changed.emit()


class RetryLadder(Panel):
    """The attempts of a retry, beside the waiting retries."""

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice) -> None:
        super().__init__(" ")
        self._retry: WaitingRetry | None = None
        self._facts: RetryFacts | None = None
        self.model: ColumnTableModel[Rung] = ColumnTableModel(
            [
                Column("attempt", "Attempt", lambda rung: str(rung.attempt), right=True, width=76),
                Column("wait", "Waits", lambda rung: duration_text(rung.wait_ms), right=True, width=66),
                Column("due", "Earliest",
                       lambda rung: times.seconds(rung.due_ms) if rung.due_ms >= 0 else UNKNOWN,
                       tip=lambda rung: times.full(rung.due_ms)),
                Column("state", "State", lambda rung: self._state(rung)[0], kind=CellKind.FLAG,
                       state=lambda rung: self._state(rung)[1], width=84)
            ],
            lambda rung: rung.attempt,
            parent=self,
        )  # fmt: skip
        self.grid = said(DataGrid(self.model, theme), empty="Choose a retry to see its attempts.")
        self.grid.header.setSectionsClickable(False)
        self.note = label(role="caption", wrap=True)
        fill(self.content, (self.grid, 1), self.note)
        on_language(self, self._show_texts)

    def show_retry(self, retry: WaitingRetry | None, facts: RetryFacts | None, delays_ms: Sequence[int]) -> None:
        """Show the attempts of a message; None: nothing. ``delays_ms`` are the broker's, from level 1."""
        self._retry, self._facts = retry, facts
        if retry is None or facts is None:
            self.model.set_rows([])
        else:
            self.model.set_rows(retry_ladder(facts.attempt, retry.due_ms, delays_ms, retries=facts.limit))
        self._show_texts()

    def _show_texts(self) -> None:
        retry, facts = self._retry, self._facts
        self.set_title(tr("Retry ladder"), "" if retry is None else retry.keys or retry.group)
        self.note.setText("" if retry is None or facts is None else _limit_words(retry.group, facts))
        self.model.all_texts_changed()

    def _state(self, rung: Rung) -> tuple[str, State | None]:
        attempt = 0 if self._facts is None else self._facts.attempt
        if rung.attempt < attempt:
            return tr("Failed"), State.CRITICAL
        return (tr("Next"), State.RETRY) if rung.attempt == attempt else (tr("To come"), None)


def _limit_words(group: str, facts: RetryFacts) -> str:
    count = count_text(facts.limit)
    if facts.limit_from is LimitFrom.MESSAGE:
        return tr("The message allows {count} attempts; then it becomes a dead letter.", count=count)
    if facts.limit_from is LimitFrom.GROUP:
        words = tr("{group} allows {count} attempts; then it becomes a dead letter.", group=group, count=count)
        return f"{words} {tr('A limit that a client sets itself counts more.')}"
    if facts.unknown:
        return tr("How many attempts {group} allows is not known ({reason}); the default is {count}.", group=group,
                  reason=broker_text(facts.unknown), count=count)  # fmt: skip
    return ""


class WaitingRetries(QObject):
    """Fills ``grid`` and ``ladder``, which the page lays out; reads the attempts only while it is visible."""

    def __init__(
        self,
        context: PageContext,
        reader: DeadLetterReader,
        now_ms: Callable[[], int],
        try_again: Callable[[], None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._reader = reader
        self._try_again = try_again
        self._state: ClusterState | None = None
        self._is_shown = False
        self.model: ColumnTableModel[WaitingRetry] = ColumnTableModel(
            retry_columns(context.times, now_ms), lambda one: one.physical_offset, parent=self
        )
        self.grid = said(DataGrid(self.model, context.theme), empty="No retry waits.")
        self._list_read = shown_read(context.times, "The retries could not be read.", self._try_again, self.grid)
        self.ladder = RetryLadder(context.theme, context.times)
        self.attempts = RetryReader(context.source, self)
        self.grid.selected.connect(lambda _retry: self._read_attempts())
        self.attempts.changed.connect(self._show_attempts)
        reader.retries_failed.connect(self._list_read.refused)

    @property
    def foot(self) -> str:
        """The number of retries, in a line."""
        if self._list_read.is_failed:
            return ""
        cut = tr("only the first of each delay level are listed") if self._reader.retries_are_cut else ""
        counted = cut or tr("{count} retries wait, next first", count=count_text(len(self.model.rows)))
        return " · ".join([counted, *([tr("of the brokers that answered")] if self._reader.retries_lack_brokers else [])])

    def show(self, *, is_shown: bool) -> None:
        """Set whether the part is visible."""
        self._is_shown = is_shown
        self._read_attempts()

    def state_changed(self, state: ClusterState) -> None:
        """Use the time and the delays of the levels."""
        self._state = state
        self.grid.view.viewport().update()

    def read(self) -> None:
        self._list_read.answered()
        self.model.set_rows(self._reader.retries or [])
        if self._is_shown:
            self.grid.select_first()
        self._read_attempts()

    def _read_attempts(self) -> None:
        if self._is_shown and self._state is not None:
            self.attempts.read(self.grid.selected_row)
            self._show_attempts()

    def _show_attempts(self) -> None:
        if self._state is not None:
            delays = [int(delay) for delay in self._state.delays.delay_ms]
            self.ladder.show_retry(self.grid.selected_row, self.attempts.facts, delays)
