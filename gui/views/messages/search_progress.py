"""`SearchProgress`: plan, progress and result of a search; `SearchBound`: only the newest or oldest so many messages."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox

from broker_core.worker.questions.searches import FoundBound
from gui.operations.search import SearchRun, SearchState
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.widgets.basic import ElidedLabel, IconButton, column, label, row, show_text
from gui.widgets.chip import Chip
from gui.widgets.panel import Panel
from gui.widgets.progress_line import ProgressLine
from gui.widgets.said import on_language, said, said_button, said_label
from gui.words.broker_words import broker_text
from gui.words.error_words import error_text
from gui.words.text import KnownTexts, TimeZoneChoice, count_text, duration_text, tr

BOUND_COUNTS = (1_000, 10_000, 100_000)


class SearchBound(QComboBox):
    """All messages, the newest so many, or the oldest; see `broker_core.worker.questions.searches.FindBound`."""

    def __init__(self) -> None:
        super().__init__()
        said(self, name="Messages searched", tip="Which messages are searched, by the time of storing")
        for count, oldest in ((0, False), *((count, oldest) for oldest in (False, True) for count in BOUND_COUNTS)):
            self.addItem("", (count, oldest))
        on_language(self, self._write)

    @property
    def messages(self) -> int:
        """How many messages; 0: all."""
        return int(self.currentData()[0])

    @property
    def oldest(self) -> bool:
        return bool(self.currentData()[1])

    def choose(self, count: int, *, oldest: bool = False) -> None:
        """Choose as the user would."""
        self.setCurrentIndex(next(place for place in range(self.count()) if self.itemData(place) == (count, oldest)))
        self.activated.emit(self.currentIndex())

    def _write(self) -> None:
        for place in range(self.count()):
            count, oldest = self.itemData(place)
            words = tr("Oldest {count}", count=count_text(count)) if oldest else tr("Newest {count}", count=count_text(count))
            self.setItemText(place, words if count else tr("All messages"))


def bound_words(found: FoundBound, times: TimeZoneChoice, *, oldest: bool) -> str:
    """Which messages are searched."""
    count, at = count_text(found.messages), times.full(found.at_ms)
    if oldest:
        return tr("the oldest {count} messages, stored before {time}", count=count, time=at)
    return tr("the newest {count} messages, stored from {time} on", count=count, time=at)


RATE_INTERVAL_MS = 500
_WORDS = {
    SearchState.PLANNING: "Planning",
    SearchState.RUNNING: "Scanning",
    SearchState.PAUSED: "Paused",
    SearchState.COMPLETE: "Complete",
    SearchState.PARTIAL: "Partial",
    SearchState.FAILED: "Failed",
}
_STATES = {
    SearchState.COMPLETE: State.HEALTHY,
    SearchState.PARTIAL: State.WARNING,
    SearchState.FAILED: State.CRITICAL,
    SearchState.PAUSED: State.IDLE,
    SearchState.RUNNING: State.PENDING,
    SearchState.PLANNING: State.PENDING,
}
_PLANS = KnownTexts(
    "scan of the log, {size}, about {count} M messages",
    "scan of the log, {size}, about {count} messages",
    "scan of the log, {size}, about 1 message",
    "scan of a part of the log, {size}, about {count} M messages",
    "scan of a part of the log, {size}, about {count} messages",
    "scan of a part of the log, {size}, about 1 message",
    "scan of {queues} queues, {count} M messages",
    "scan of {queues} queues, {count} messages",
    "scan of {queues} queues, 1 message",
    "scan of 1 queue, {count} M messages",
    "scan of 1 queue, {count} messages",
    "scan of 1 queue, 1 message",
    "index lookup of {keys} keys in {topics} topics",
    "index lookup of 1 key in {topics} topics",
    "index lookup of {keys} keys in 1 topic",
    "index lookup of 1 key in 1 topic",
    "scan of {size} that the index does not cover",
    "lookup of {count} keys in {topics_count} topics",
    "scan of {count} queues in {topics_count} topics, {messages_count} messages",
    "{count} records read by id",
    "1 record read by id",
    "no queue of the store can hold a match",
    "queues and index are left aside: the store is in use, or was not closed in good order",
    "queues and index are left aside: the store has queues of a kind that RocketMQ 5 alone reads",
    "queues and index are left aside: the store has no consume queues",
    "queues are left aside: topic {topic} has none",
)


class SearchProgress(Panel):
    """See the module. Its timer runs only while a search runs and it is visible."""

    def __init__(self, theme: ThemeManager, run: SearchRun) -> None:
        super().__init__()
        self._run = run
        self.word = label(role="strong")
        self.counts = label()
        self.speed = label(role="caption")
        self.verdict = Chip(theme)
        self.plan = ElidedLabel(role="caption")
        self.reason = label(role="warning", wrap=True)
        self.promise = said_label("Reading does not move any consumer position", "caption")
        self.line = ProgressLine(theme)
        self.pause_button = IconButton(theme, "pause", " ", role="small", on_click=self._pause_or_go_on)
        self.cancel_button = said_button(theme, "stop", "Stop", role="small", on_click=run.cancel)
        first = row(self.word, self.counts, self.speed, 1, self.verdict, self.pause_button, self.cancel_button, spacing=14)
        lines = column(first, self.line, row((self.plan, 1), self.promise, spacing=14), self.reason, spacing=6)
        self.content.setContentsMargins(12, 8, 12, 8)
        self.content.addLayout(lines)
        self._timer = QTimer(self)
        self._timer.setInterval(RATE_INTERVAL_MS)
        self._timer.timeout.connect(self._show_speed)
        run.changed.connect(self.show_run)
        on_language(self, self.show_run)

    def show_run(self) -> None:
        run = self._run
        self.setVisible(run.state is not SearchState.NONE)
        self.word.setText(tr(_WORDS.get(run.state, "")))
        self.counts.setText(
            tr(
                "{scanned} of {total} messages, {hits} hits",
                scanned=count_text(run.scanned),
                total=count_text(run.total),
                hits=count_text(run.hits),
            )
        )
        running = run.state is SearchState.RUNNING
        if running and self.isVisible():
            self._timer.start()
        elif not running:
            self._timer.stop()
        self._show_speed()
        self._show_verdict()
        steps = [f"{place} {_PLANS.text(step)}" for place, step in enumerate(run.plan, start=1)]
        self.plan.setText(f"{tr('Plan')}   {'  →  '.join(steps)}" if steps else "")
        show_text(self.reason, self._reason_text())
        self.line.set_share(self._share())
        self.pause_button.setVisible(run.state in (SearchState.RUNNING, SearchState.PAUSED))
        self.pause_button.set_glyph("play" if run.state is SearchState.PAUSED else "pause")
        self.pause_button.setText(tr("Go on") if run.state is SearchState.PAUSED else tr("Pause"))
        self.cancel_button.setVisible(not run.is_over)

    def _share(self) -> float | None:
        run = self._run
        if run.state is SearchState.PLANNING:
            return None
        if run.state is SearchState.COMPLETE:
            return 1.0
        return min(1.0, run.scanned / run.total) if run.total else 0.0

    def _show_verdict(self) -> None:
        state = self._run.state
        text = {SearchState.COMPLETE: tr("Complete"), SearchState.PARTIAL: tr("Partial"), SearchState.FAILED: tr("Failed")}.get(
            state, tr("Partial until done")
        )
        self.verdict.set(text, _STATES.get(state, State.PLAIN))

    def _show_speed(self) -> None:
        run = self._run
        if run.state is not SearchState.RUNNING or run.rate is None:
            self.speed.setText("")
            return
        left = run.seconds_left
        words = [tr("{rate}/s", rate=count_text(round(run.rate)))]
        if left is not None:
            words.append(tr("{duration} left", duration=duration_text(left * 1_000)))
        self.speed.setText("   ".join(words))

    def _reason_text(self) -> str:
        run = self._run
        if run.error is not None and run.state is SearchState.FAILED:
            return error_text(run.error)
        notes = list(map(broker_text, run.notes))
        if run.state is SearchState.PARTIAL:
            notes.insert(0, tr("Partial, because {reasons}", reasons=tr("; ").join(map(broker_text, run.reasons))))
        return tr("; ").join(notes)

    def _pause_or_go_on(self) -> None:
        (self._run.resume if self._run.state is SearchState.PAUSED else self._run.pause)()
