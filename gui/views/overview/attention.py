"""The panel of the Overview that says what needs attention, worst first, with one button each."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.text import count_text, duration_text, milliseconds_text, percent_text, tr
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.page import PageContext
from gui.views.registry import PAGES
from gui.widgets.basic import ElidedLabel, IconButton, label
from gui.widgets.chip import Chip
from gui.widgets.panel import Panel
from monitoring.alerts import Alert, AlertBoard, Rule, Severity
from monitoring.state import ClusterState

ROWS_SHOWN = 4

_SEVERITIES = {
    Severity.CRITICAL: ("Critical", State.CRITICAL),
    Severity.WARNING: ("Warning", State.WARNING),
    Severity.NOTICE: ("Notice", State.INFO),
}


def alert_texts(alert: Alert) -> tuple[str, str]:
    """What is wrong, and why it matters."""
    count, subject = count_text(alert.value), alert.subject
    match alert.rule:
        case Rule.LAG:
            return tr("{group} lags by {count}", group=subject, count=count), tr("More than 15,000 messages for a minute")
        case Rule.NOBODY_CONSUMES:
            return tr("Nobody consumes for {group}", group=subject), tr(
                "{count} messages wait, no client is online", count=count
            )
        case Rule.DEAD_LETTERS:
            return tr("{group}: {count} dead letters", group=subject, count=count), tr("All attempts failed; they are kept")
        case Rule.TRANSACTIONS_GIVEN_UP:
            return tr("{count} transactions given up", count=count), tr("No producer decided them in time")
        case Rule.LATE_DELIVERY:
            late = milliseconds_text(alert.value)
            return tr("Delay level {level} is late", level=subject), tr("p99 {late} after the time they were due", late=late)
        case Rule.DISK:
            share = percent_text(alert.value, 0)
            return tr("Disk {share} used", share=share), tr("Messages are refused when it is full")


def alert_place(alert: Alert) -> tuple[str, dict[str, object]] | None:
    """Page that shows it, with arguments; None when this window has none."""
    places: dict[Rule, tuple[str, dict[str, object]]] = {
        Rule.LAG: ("consumers", {"group": alert.subject}),
        Rule.NOBODY_CONSUMES: ("consumers", {"group": alert.subject}),
        Rule.DEAD_LETTERS: ("dead_letters", {"group": alert.subject}),
        Rule.TRANSACTIONS_GIVEN_UP: ("transactions", {}),
        Rule.LATE_DELIVERY: ("delay", {}),
        Rule.DISK: ("store", {}),
    }
    place = places.get(alert.rule)
    known = {entry.page_id for entry in PAGES}
    return place if place is not None and place[0] in known else None


class AttentionPanel(Panel):
    """Shows what an `AlertBoard` finds."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._context = context
        self._board = AlertBoard()
        self._alerts: list[Alert] = []
        self._now_ms = 0
        self.rows = [_Row(context.theme, self._open) for _ in range(ROWS_SHOWN)]
        # Not wrapped: one label with a height for its width, and the page takes the height that charts would like to have.
        self.nothing = label(role="secondary")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.content.setSpacing(0)
        for row in self.rows:
            self.content.addWidget(row)
        self.content.addWidget(self.nothing, 1)
        self.content.addStretch(1)
        self.retranslate()

    def show_state(self, state: ClusterState) -> None:
        """Apply the rules to a state and show what they find."""
        self._now_ms = state.taken_ms
        self._alerts = self._board.look(state)
        self._show()

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.nothing.setText(tr("Nothing needs attention."))
        self._show()

    def _show(self) -> None:
        self.set_title(tr("Needs attention"), tr("{count} open", count=len(self._alerts)) if self._alerts else "")
        self.nothing.setVisible(not self._alerts)
        for row, alert in zip(self.rows, [*self._alerts[:ROWS_SHOWN], *[None] * ROWS_SHOWN], strict=False):
            row.show_alert(alert, self._now_ms)

    def _open(self, alert: Alert) -> None:
        place = alert_place(alert)
        if place is not None:
            self._context.navigate(place[0], **place[1])


class _Row(QWidget):
    """Chip, two lines, age and button of one alert."""

    def __init__(self, theme: ThemeManager, opened: Callable[[Alert], None]) -> None:
        super().__init__()
        self._opened = opened
        self._alert: Alert | None = None
        self.chip = Chip(theme)
        self.title = ElidedLabel(role="strong")
        self.reason = ElidedLabel(role="caption")
        self.age = label(role="caption")
        self.button = IconButton(theme, "arrow-right", " ", role="link", on_click=self._clicked)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self.title)
        texts.addWidget(self.reason)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 4, 0, 4)
        line.setSpacing(8)
        line.addWidget(self.chip)
        line.addLayout(texts, 1)
        line.addWidget(self.age)
        line.addWidget(self.button)

    def _clicked(self) -> None:
        if self._alert is not None:
            self._opened(self._alert)

    def show_alert(self, alert: Alert | None, now_ms: int) -> None:
        self._alert = alert
        self.setVisible(alert is not None)
        if alert is None:
            return
        word, state = _SEVERITIES[alert.severity]
        self.chip.set(tr(word), state)
        title, reason = alert_texts(alert)
        self.title.setText(title)
        self.reason.setText(reason)
        self.setToolTip(f"{title}\n{reason}")
        self.age.setText(duration_text(max(0, now_ms - alert.since_ms)))
        self.button.setText(tr("Open"))
        self.button.setVisible(alert_place(alert) is not None)
