"""The panel of open alerts on the Overview, worst first, with one button each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QResizeEvent
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from gui.operations.alert_center import LOOK_MS, SEVERITY_STATES, OpenAlert
from gui.theme.manager import ThemeManager
from gui.views.alerts.mute_menu import add_mute_times
from gui.views.alerts.words import SEVERITY_NAMES, VERBS, alert_place, alert_texts
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, column, fill, label, row, show_text
from gui.widgets.chip import Chip
from gui.widgets.panel import HEAD_HEIGHT, Panel
from gui.widgets.popups import new_menu, popup_below
from gui.widgets.said import on_language, push_button
from gui.widgets.saved_menu import menu_text
from gui.words.broker_words import broker_text
from gui.words.plain_text import tip_text
from gui.words.text import duration_text, tr
from monitoring.state import ClusterState
from monitoring.unjudged_rules import NOTHING, Unjudged, UnjudgedWatch

ROWS_SHOWN, ROWS_KEPT = 4, 2
"""Maximum of rows, and the rows beside charts in a low window."""
LACKS_SHOWN = 4
"""Lines with what could not be judged; the tool tip has all."""
BUTTON_WIDTH_MIN = 62
"""Equal width of short verbs."""
MUTES_SHOWN = 12
"""Alerts in the menu of mutes."""


class AttentionPanel(Panel):
    """Shows the open alerts of the `AlertCenter`."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._context = context
        self._alerts: list[OpenAlert] = []
        self._now_ms = 0
        self._rows_kept = ROWS_KEPT
        self._judged_ms = -LOOK_MS
        self._state: ClusterState | None = None
        self._unjudged_watch = UnjudgedWatch()
        self._unjudged = NOTHING
        self.mute_button = push_button("Mute…", self._open_mute_menu, role="link")
        self.add_action(self.mute_button)
        self.rows = [_Row(context.theme, self._open, self._open_row_menu) for _ in range(ROWS_SHOWN)]
        # Not wrapped: a label with a height for its width makes the page use the preferred height of its charts.
        self.nothing = label(role="secondary")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.content.setSpacing(0)
        self._row_height = self.rows[0].sizeHint().height()
        fill(self.content, *self.rows)
        self.lacks = [ElidedLabel(role="caption") for _ in range(LACKS_SHOWN)]
        """What could not be judged, where nothing is open."""
        fill(self.content, 1, self.nothing)
        for line in self.lacks:
            line.setAlignment(Qt.AlignmentFlag.AlignCenter)
            self.content.addWidget(line)
        self.content.addStretch(1)
        context.alerts.changed.connect(self._alerts_changed)
        on_language(self, self._show)

    def show_state(self, state: ClusterState) -> None:
        self._now_ms = state.taken_ms
        self._state = state
        # A look reads all names, so it is as rare as the requests for alerts.
        if not 0 <= self._now_ms - self._judged_ms < LOOK_MS:
            self._look()
        self._show()

    def _alerts_changed(self) -> None:
        self._look()
        self._show()

    def _look(self) -> None:
        """Find what the rules cannot judge."""
        self._judged_ms = self._now_ms
        if self._state is not None:
            found = self._unjudged_watch.look(self._context.alerts.rules, self._state)
            # A figure that an attached cluster never reports is no news; the page of the rules names it.
            self._unjudged = found if found.is_news else NOTHING

    def keep_rows(self, count: int) -> None:
        """Reserve the height of so many rows; more are shown where there is room."""
        self._rows_kept = count
        self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), self._frame_height + self._rows_kept * self._row_height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_rows()

    @property
    def _frame_height(self) -> int:
        margins = self.content.contentsMargins()
        return HEAD_HEIGHT + 2 + margins.top() + margins.bottom()

    def _show_rows(self) -> None:
        """Show as many alerts as fit; the title has their number."""
        room = max(1, (self.height() - self._frame_height) // self._row_height)
        shown = self._alerts[: min(room, ROWS_SHOWN)]
        for line, alert in zip(self.rows, [*shown, *[None] * ROWS_SHOWN], strict=False):
            line.show_alert(alert, self._now_ms)
        # The glyph and the colour of a chip say what its word says, and the ends of the lines are the figure and what to do.
        margins = self.content.contentsMargins()
        width = self.contentsRect().width() - margins.left() - margins.right()
        is_tight = any(line.whole_width > width for line in self.rows[: len(shown)])
        for line in self.rows:
            line.chip.set_brief(is_brief=is_tight)

    def _show(self) -> None:
        center = self._context.alerts
        self._alerts = center.open_alerts()
        facts = [tr("{count} open", count=len(self._alerts))] if self._alerts else []
        facts += [tr("{count} muted", count=center.muted)] if center.muted else []
        lacks = self._lack_lines() if center.is_read else []
        facts += [tr("not all could be judged")] if lacks else []
        self.setToolTip(tip_text("\n".join(lacks)))
        self.set_title(tr("Needs attention"), ", ".join(facts))
        self.mute_button.setVisible(bool(self._alerts))
        self.nothing.setText(self._quiet_words())
        self.nothing.setVisible(not self._alerts)
        self._show_rows()
        self._show_lacks([] if self._alerts else lacks)

    def _quiet_words(self) -> str:
        center = self._context.alerts
        if center.problem and not center.is_read:
            return tr("The alert rules are not known.")
        if not center.is_read:
            return tr("Reading…")
        return tr("Of what is known, nothing needs attention.") if self._lack_lines() else tr("Nothing needs attention.")

    def _lack_lines(self) -> list[str]:
        """What the rules could not judge, a line a reason; empty where they judged everything."""
        problem = self._context.alerts.problem
        return [*([problem] if problem else []), *unjudged_lines(self._unjudged)]

    def _show_lacks(self, lines: Sequence[str]) -> None:
        shown = list(lines[:LACKS_SHOWN])
        if len(lines) > LACKS_SHOWN:
            shown[-1] = tr("{count} more reasons", count=len(lines) - LACKS_SHOWN + 1)
        for line, words in zip(self.lacks, [*shown, *[""] * LACKS_SHOWN], strict=False):
            show_text(line, words)

    def _open(self, alert: OpenAlert) -> None:
        page_id, arguments = alert_place(alert)
        self._context.navigate(page_id, **arguments)

    def _mute(self, alert: OpenAlert, length_ms: int) -> None:
        self._context.alerts.mute(alert.rule.rule_id, length_ms, alert.finding.subject)

    def mute_menu(self) -> QMenu:
        """All open alerts, each with the lengths of a mute."""
        menu = new_menu(self)
        for alert in self._alerts[:MUTES_SHOWN]:
            add_mute_times(menu.addMenu(menu_text(alert_texts(alert)[0])), partial(self._mute, alert))
        menu.addSeparator()
        menu.addAction(tr("All alerts and mutes…"), lambda: self._context.navigate("alerts"))
        return menu

    def row_menu(self, alert: OpenAlert) -> QMenu:
        menu = new_menu(self)
        add_mute_times(menu, partial(self._mute, alert))
        menu.addSeparator()
        menu.addAction(tr("Change the rule…"), lambda: self._context.navigate("alerts", rule=alert.rule.rule_id))
        return menu

    def _open_mute_menu(self) -> None:
        popup_below(self.mute_menu(), self.mute_button)

    def _open_row_menu(self, alert: OpenAlert, at: QPoint) -> None:
        self.row_menu(alert).popup(at)


def unjudged_lines(missing: Unjudged) -> list[str]:
    """What could not be judged, in the language of the window."""
    lines = [f"{tr(part)}: {broker_text(reason)}" for part, reason in missing.away.items()]
    if missing.rules:
        lines.append(tr("Not known: {names}", names=", ".join(tr(rule.name) for rule in missing.rules)))
    counted = [tr(_UNREAD[kind], count=count) for kind, count in missing.unread.items()]
    if counted:
        lines.append(tr("Not read: {names}", names=", ".join(counted)))
    return lines


_UNREAD = {"group": "{count} groups", "topic": "{count} topics", "level": "{count} delay levels"}


class _Row(QWidget):
    """Chip, two lines and button of one alert. Its age is on the second line, because the first ends with the figure."""

    def __init__(
        self, theme: ThemeManager, opened: Callable[[OpenAlert], None], menu_asked: Callable[[OpenAlert, QPoint], None]
    ) -> None:
        super().__init__()
        self._opened = opened
        self._menu_asked = menu_asked
        self._alert: OpenAlert | None = None
        self.chip = Chip(theme)
        self.title = ElidedLabel(role="strong", mode=Qt.TextElideMode.ElideMiddle)
        self.reason = ElidedLabel(role="caption")
        self.age = ""
        """Time since the alert opened."""
        self.button = QPushButton()
        self.button.setProperty("role", "small")
        self.button.setMinimumWidth(BUTTON_WIDTH_MIN)
        self.button.clicked.connect(lambda _checked=False: self._clicked())
        self._line = row(self.chip, (column(self.title, self.reason, spacing=0), 1), self.button, margins=(0, 4, 0, 4))
        self.setLayout(self._line)

    def _clicked(self) -> None:
        if self._alert is not None:
            self._opened(self._alert)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self._alert is not None:
            self._menu_asked(self._alert, event.globalPos())

    def show_alert(self, alert: OpenAlert | None, now_ms: int) -> None:
        self._alert = alert
        self.setVisible(alert is not None)
        if alert is None:
            return
        severity = alert.rule.severity
        self.chip.set(tr(SEVERITY_NAMES[severity]), SEVERITY_STATES[severity])
        title, reason = alert_texts(alert)
        self.title.setText(title)
        self.age = duration_text(max(0, now_ms - alert.finding.since_ms))
        self.reason.setText(tr("for {time} · {reason}", time=self.age, reason=reason))
        self.setToolTip(tip_text(f"{title}\n{reason}"))
        self.button.setText(tr(VERBS.get(alert_place(alert)[0], "Show")))

    @property
    def whole_width(self) -> int:
        """Width in which nothing of the two lines is cut, px."""
        beside = self.button.sizeHint().expandedTo(self.button.minimumSize()).width() + 2 * self._line.spacing()
        return self.chip.whole_width + max(self.title.sizeHint().width(), self.reason.sizeHint().width()) + beside
