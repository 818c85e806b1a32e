"""`AlertCenter`: watches the rules for as long as the window lives, and tells of what they find.

A change goes to the window's toasts, through them to the desktop, to the web hook and into the history of events, as its
rule says.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRunnable, QSettings, QThreadPool, QTimer, Signal

from broker_core.api import NoteEvent, OrbitError, UsageError
from gui.operations.files import replace_file
from gui.text import UNKNOWN, tr
from gui.theme.tokens import State
from monitoring.alert_rules import (
    DEFAULT_RULES,
    AlertChange,
    AlertRule,
    AlertState,
    AlertWatch,
    check_rule,
    rules_from_json,
    rules_to_json,
)
from monitoring.alerts import Severity
from monitoring.sources.base import ClusterSource, SourceStatus
from monitoring.webhook import ATTEMPTS_MAX, RETRY_MS, WebhookResult, check_url, payload, post

if TYPE_CHECKING:
    from broker_core.api import Occurred
    from gui.views.page import Notify
    from monitoring.state import ClusterState

logger = logging.getLogger(__name__)

LOOK_MS = 1_000
"""Least time between two looks; states come ten times a second."""
WAITING_MAX = 100
"""Posts to the web hook that wait; the oldest is dropped for a newer one."""
WEBHOOK_KEY = "alerts/webhook"
_STATES = {Severity.CRITICAL: State.CRITICAL, Severity.WARNING: State.WARNING, Severity.NOTICE: State.INFO}


@dataclass(frozen=True, slots=True)
class Post:
    """Something to be told to the web hook."""

    url: str
    body: bytes
    attempt: int = 1


class AlertCenter(QObject):
    """Listens to a source (`monitoring.sources.base.ClusterListener`). Belongs to the GUI thread.

    Signals:
        changed: Rules or their states changed.
        posted: An attempt to reach the web hook is over; carries its `WebhookResult`.
    """

    changed = Signal()
    posted = Signal(object)

    def __init__(
        self,
        source: ClusterSource,
        settings: QSettings,
        notify: Notify,
        parent: QObject | None = None,
        *,
        send: Callable[[str, bytes], WebhookResult] = post,
    ) -> None:
        super().__init__(parent)
        self._source = source
        self._settings = settings
        self._notify = notify
        self._send = send
        self._path = Path(settings.fileName()).with_name("alerts.json")
        self._looked_ms = -1
        self._waiting: deque[Post] = deque(maxlen=WAITING_MAX)
        self._posting = False
        self.last_post: WebhookResult | None = None
        self.problem = ""
        """Why the rules of the file are not used; empty while they are."""
        self.now_ms = 0
        self._watch = AlertWatch(self._read())
        source.add_listener(self)

    def close(self) -> None:
        """Watch no more, e.g. because the window shows another cluster."""
        self._source.remove_listener(self)
        self.deleteLater()

    # ---- rules ---------------------------------------------------------------------------------------------------------

    @property
    def rules(self) -> tuple[AlertRule, ...]:
        return self._watch.rules

    @property
    def watch(self) -> AlertWatch:
        """What the rules found, to look at."""
        return self._watch

    @property
    def firing(self) -> int:
        """Rules that fire and are not muted."""
        return sum(self._watch.state_of(rule, self.now_ms) is AlertState.FIRING for rule in self.rules)

    def put(self, rule: AlertRule) -> None:
        """Add a rule, or replace the one of its id.

        Raises:
            UsageError: It makes no sense.
        """
        check_rule(rule)
        known = [one.rule_id for one in self.rules]
        rules = [rule if one.rule_id == rule.rule_id else one for one in self.rules]
        self._set(rules if rule.rule_id in known else [*rules, rule])

    def remove(self, rule_id: str) -> None:
        """Drop a rule."""
        self._set(rule for rule in self.rules if rule.rule_id != rule_id)

    def mute(self, rule_id: str, until_ms: int) -> None:
        """Have a rule tell nobody until a moment; 0 ends that, `FOREVER`."""
        self._set(replace(rule, muted_until_ms=until_ms) if rule.rule_id == rule_id else rule for rule in self.rules)

    def _set(self, rules: Iterable[AlertRule]) -> None:
        self._watch.set_rules(rules)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, rules_to_json(self.rules).encode())
            self.problem = ""
        except OSError as error:
            self.problem = tr("The rules are not kept: {path} cannot be written ({reason}).", path=str(self._path),
                              reason=error.strerror or str(error))  # fmt: skip
        self.changed.emit()

    def _read(self) -> Iterable[AlertRule]:
        try:
            return rules_from_json(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return DEFAULT_RULES
        except (OSError, UsageError, UnicodeDecodeError) as error:
            logger.warning("the alert rules of %s are not used: %s", self._path, error)
            self._set_aside()
            self.problem = tr("The rules of {path} cannot be read; the usual ones are used.", path=str(self._path))
            return DEFAULT_RULES

    def _set_aside(self) -> None:
        try:
            self._path.replace(self._path.with_suffix(".json.damaged"))
        except OSError as error:
            logger.warning("%s stays where it is: %s", self._path, error)

    # ---- ways to tell --------------------------------------------------------------------------------------------------

    @property
    def webhook(self) -> str:
        """Address that is told; empty for none."""
        return str(self._settings.value(WEBHOOK_KEY, ""))

    def set_webhook(self, url: str) -> None:
        """Tell another address; empty for none.

        Raises:
            UsageError: It cannot be used.
        """
        if url.strip():
            check_url(url)
        self._settings.setValue(WEBHOOK_KEY, url.strip())
        self.changed.emit()

    def try_webhook(self) -> None:
        """Send a made-up alert, to see whether the address answers."""
        rule = AlertRule("test", tr("Test of the web hook"), "totals.lag_messages", True, 0, 0, Severity.NOTICE)
        self._post(Post(self.webhook, payload(AlertChange(rule, "", 1.0, True, self.now_ms), cluster=self._source.name)))

    # ---- what the source says ------------------------------------------------------------------------------------------

    def state_changed(self, state: ClusterState) -> None:
        """Look at new figures, at most once a second."""
        if 0 <= state.taken_ms - self._looked_ms < LOOK_MS:
            return
        self._looked_ms = self.now_ms = state.taken_ms
        changes = self._watch.look(state)
        for change in changes:
            if not change.rule.is_muted(state.taken_ms):
                self._tell(change)
        if changes:
            self.changed.emit()

    def status_changed(self, status: SourceStatus, reason: OrbitError | None) -> None:
        """Nothing fires or ceases while the broker is away."""

    def stage_changed(self, text: str, done: int, total: int) -> None:
        """Of no interest here."""

    def occurred(self, event: Occurred) -> None:
        """Of no interest here: rules look at figures."""

    # ---- telling -------------------------------------------------------------------------------------------------------

    def _tell(self, change: AlertChange) -> None:
        text = change_text(change)
        # What alarms is told by the desktop, too, while nobody looks at the window; see `gui.main_window.notices`.
        alarm = _STATES[change.rule.severity] if change.rule.desktop else State.INFO
        self._notify(text, state=alarm if change.is_firing else State.HEALTHY)
        if change.rule.webhook and self.webhook:
            self._post(Post(self.webhook, payload(change, cluster=self._source.name)))
        if self._source.status is SourceStatus.READY:
            pending = self._source.note_event(NoteEvent("alert", change.subject, english_text(change)))
            pending.then(lambda _done: None, lambda error: logger.warning("an alert is not in the history: %s", error))

    def _post(self, wanted: Post) -> None:
        self._waiting.append(wanted)
        self._post_next()

    def _post_next(self) -> None:
        if self._posting or not self._waiting:
            return
        self._posting = True
        wanted = self._waiting.popleft()
        call = _PostCall(self)
        call.done.connect(lambda result: self._posted(wanted, result))
        call.done.connect(lambda _result: call.deleteLater())
        QThreadPool.globalInstance().start(_PostRunnable(call, self._send, wanted))

    def _posted(self, wanted: Post, result: WebhookResult) -> None:
        self._posting = False
        self.last_post = result
        self.posted.emit(result)
        if not result.succeeded and result.is_worth_a_retry and wanted.attempt < ATTEMPTS_MAX:
            again = replace(wanted, attempt=wanted.attempt + 1)
            QTimer.singleShot(RETRY_MS[wanted.attempt - 1], self, lambda: self._post(again))
        elif not result.succeeded:
            text = tr("The web hook was not told: {reason}", reason=post_text(result))
            self._notify(text, state=State.WARNING)
        self._post_next()


class _PostCall(QObject):
    done = Signal(object)


class _PostRunnable(QRunnable):
    def __init__(self, call: _PostCall, send: Callable[[str, bytes], WebhookResult], wanted: Post) -> None:
        super().__init__()
        self._call = call
        self._send = send
        self._wanted = wanted

    def run(self) -> None:
        try:
            result = self._send(self._wanted.url, self._wanted.body)
        except OrbitError as error:
            result = WebhookResult(-1, error.message, 0.0)
        self._call.done.emit(result)


def post_text(result: WebhookResult) -> str:
    """How an attempt went, in words."""
    if result.status < 0:
        return result.reason
    return tr("{status} {reason} in {time} ms", status=result.status, reason=result.reason, time=f"{result.took_ms:.0f}")


def number_text(value: float) -> str:
    """A value or a threshold of any series."""
    return UNKNOWN if value != value else f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.4g}"  # noqa: PLR0124  NaN


def change_text(change: AlertChange) -> str:
    """What happened, in the language of the window."""
    name = f"{tr(change.rule.name)}: {change.subject}" if change.subject else tr(change.rule.name)
    value, limit = number_text(change.value), number_text(change.rule.threshold)
    if not change.is_firing:
        return tr("{alert} is over, now {value}", alert=name, value=value)
    if change.rule.above:
        return tr("{alert}: {value}, above {limit}", alert=name, value=value, limit=limit)
    return tr("{alert}: {value}, below {limit}", alert=name, value=value, limit=limit)


def english_text(change: AlertChange) -> str:
    """As the history keeps it."""
    rule, value = change.rule, number_text(change.value)
    name = f"{rule.name}: {change.subject}" if change.subject else rule.name
    if not change.is_firing:
        return f"{name} is over, now {value}"
    return f"{name}: {value}, {'above' if rule.above else 'below'} {number_text(rule.threshold)}"
