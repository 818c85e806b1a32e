"""`AlertCenter`: the alerts of the shown cluster, read once a second, and the window's commands for the rules.

The worker keeps and judges the rules (`monitoring.alert_keeper`), also while no window is open. The window reports alerts that
fired or ended, through its toasts and the desktop; those of before its start it reports once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError
from broker_core.api import names as reserved
from broker_core.worker.questions.alerts import (
    AlertPage,
    MarkAlertsTold,
    MuteAlert,
    PutAlertRules,
    ReadAlerts,
    RemoveAlertRule,
    SetAlertWebhook,
    TryAlertWebhook,
)
from broker_core.worker.questions.lifecycle import Done
from gui.operations.actions import Notify
from gui.operations.queries import LatestQuery
from gui.operations.requests import ReadAnswer
from gui.theme.tokens import State
from gui.words.amounts import full_value_text, value_text
from gui.words.error_words import kept_line
from gui.words.text import Words, duration_text, said, tr
from monitoring.alert_rules import FOREVER, AlertRule, Severity, check_rule, rules_from_json, rules_to_json, split_series
from monitoring.alert_watch import AlertChange, AlertFinding, AlertState, state_of
from monitoring.lag_limits import SHIPPED, LagLimits
from monitoring.missing_figures import KeptLack
from monitoring.sources.base import ClusterSource, Pending, SourceStatus
from monitoring.unjudged_rules import Cause, Lack
from monitoring.webhook import WebhookResult

if TYPE_CHECKING:
    from broker_core.worker.questions.alerts import AlertCommand
    from broker_core.worker.questions.figures import Occurred
    from monitoring.state import ClusterState

LOOK_MS = 1_000
"""Least time between two requests; states arrive ten times a second."""
STALE_MS = 30_000
"""Older judgements are reported as such: another process may record this cluster, and have ended."""
TOLD_SINGLY = 4
"""Changes of one answer that are reported singly; more would flood the window."""
SEVERITY_STATES = {Severity.CRITICAL: State.CRITICAL, Severity.WARNING: State.WARNING, Severity.NOTICE: State.INFO}


@dataclass(frozen=True, slots=True)
class OpenAlert:
    """Something that fires and is not muted."""

    rule: AlertRule
    finding: AlertFinding


class AlertCenter(QObject):
    """Listens to a source (`monitoring.sources.base.ClusterListener`). Belongs to the GUI thread.

    Signals:
        changed: Rules or findings changed, or could not be read.
        posted: Attempts to reach the web hook ended.
    """

    changed = Signal()
    posted = Signal()

    def __init__(
        self,
        source: ClusterSource,
        notify: Notify,
        parent: QObject | None = None,
        *,
        show: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin to listen; ``show`` opens the Alerts page."""
        super().__init__(parent)
        self._source = source
        self._notify = notify
        self._show = show
        self._query: LatestQuery[AlertPage] = LatestQuery(self)
        self.rules: tuple[AlertRule, ...] = ()
        self.lag_limits = SHIPPED
        """Limits above which the lag of groups is coloured."""
        self.is_read = False
        """Whether the rules are known."""
        self._problem: Words = ""
        self.judged_here = True
        """Whether the worker of this window judges; otherwise another process that records the same cluster does."""
        self.webhook = ""
        self.last_post: WebhookResult | None = None
        self.now_ms = 0
        self._findings: dict[str, list[AlertFinding]] = {}
        self._resolved: dict[str, int] = {}
        self._lacks: dict[str, KeptLack] = {}
        self._page: AlertPage | None = None
        self._revision, self._after, self._posts = -1, -1, -1
        self._asked_ms = -LOOK_MS
        self._since_ms = -1
        source.add_listener(self)

    def close(self) -> None:
        """Stop listening, e.g. because the window shows another cluster."""
        self._query.cancel()
        self._source.remove_listener(self)
        self.deleteLater()

    # ---- what is known -------------------------------------------------------------------------------------------------

    @property
    def firing(self) -> int:
        """Number of open alerts; one rule may have several."""
        return len(self.open_alerts())

    def state_of(self, rule: AlertRule) -> AlertState:
        resolved_ms, lacks = self._resolved.get(rule.rule_id, 0), rule.rule_id in self._lacks
        return state_of(rule, self.findings(rule.rule_id), self.now_ms, resolved_ms, is_judged=not lacks)

    def lack(self, rule_id: str) -> KeptLack | None:
        """Why a rule cannot be judged, in whole or in part."""
        return self._lacks.get(rule_id)

    def findings(self, rule_id: str) -> Sequence[AlertFinding]:
        """Subjects that meet the condition of a rule, firing ones first."""
        return self._findings.get(rule_id, ())

    def open_alerts(self) -> list[OpenAlert]:
        """All firing alerts that are not muted: worst first, then longest."""
        found = [
            OpenAlert(rule, one)
            for rule in self.rules
            if rule.enabled
            for one in self.findings(rule.rule_id)
            if one.is_firing and not rule.is_muted(self.now_ms, one.subject)
        ]
        return sorted(found, key=lambda one: (one.rule.severity, one.finding.since_ms, one.finding.subject))

    @property
    def has_dead_letters(self) -> bool:
        """Whether an open alert is about dead letters."""
        return any(one.finding.subject.startswith(reserved.DLQ_PREFIX) for one in self.open_alerts())

    @property
    def worst_state(self) -> State:
        """Colour of the worst open alert; healthy without one."""
        alerts = self.open_alerts()
        return SEVERITY_STATES[alerts[0].rule.severity] if alerts else State.HEALTHY

    @property
    def muted(self) -> int:
        """Number of subjects that fire and are muted."""
        return sum(
            one.is_firing and rule.is_muted(self.now_ms, one.subject)
            for rule in self.rules
            if rule.enabled
            for one in self.findings(rule.rule_id)
        )

    # ---- commands ------------------------------------------------------------------------------------------------------

    def put(self, rule: AlertRule) -> None:
        """Add a rule, or replace the one with its id.

        Raises:
            UsageError: The rule is not valid.
        """
        check_rule(rule)
        self._order(PutAlertRules(rules_to_json([rule])))

    def remove(self, rule_id: str) -> Pending[Done]:
        """Remove a rule; the answer arrives when it is gone."""

        def removed(done: Done) -> Done:
            self.ask()
            return done

        return ReadAnswer(self._source.ask(RemoveAlertRule(rule_id)), removed)

    def mute(self, rule_id: str, length_ms: int, subject: str = "") -> None:
        """Mute a rule for a time, for all subjects or one; 0 ends the mute, or `FOREVER`."""
        until_ms = length_ms if length_ms in (0, FOREVER) else self.now_ms + length_ms
        self._order(MuteAlert(rule_id, until_ms, subject))

    def set_webhook(self, url: str) -> None:
        """Set the address of the web hook; empty for none."""
        self._order(SetAlertWebhook(url.strip()))

    def try_webhook(self) -> None:
        """Send a made-up alert to test the address."""
        self._order(TryAlertWebhook())

    def _order(self, command: AlertCommand) -> None:
        self._source.ask(command).then(lambda _done: self.ask(), self._refused)

    def _refused(self, error: OrbitError) -> None:
        self._notify(kept_line(error), state=State.CRITICAL)
        self.ask()

    # ---- what the source says ------------------------------------------------------------------------------------------

    def state_changed(self, state: ClusterState) -> None:
        """Read the alerts for new figures, at most once a second."""
        self.now_ms = state.taken_ms
        if self._since_ms < 0:
            self._since_ms = state.taken_ms
        if not 0 <= state.taken_ms - self._asked_ms < LOOK_MS and not self._query.waiting:
            self.ask()

    def status_changed(self, status: SourceStatus, _reason: OrbitError | None) -> None:
        """Keep the known alerts while the broker is away; a new worker is asked for all of them."""
        if status is not SourceStatus.READY:
            self._query.cancel()
            self._revision, self._after, self._posts, self._since_ms = -1, -1, -1, -1
            self._asked_ms = -LOOK_MS

    def stage_changed(self, text: str, done: int, total: int) -> None:
        """Ignored."""

    def occurred(self, event: Occurred) -> None:
        """Ignored: the answers contain the alerts."""

    # ---- answers -------------------------------------------------------------------------------------------------------

    @property
    def problem(self) -> str:
        """Why the rules are not judged or read; empty for no problem."""
        return said(self._problem)

    def ask(self) -> None:
        if self._source.status is SourceStatus.READY:
            self._asked_ms = self.now_ms
            self._query.ask(self._source.ask(ReadAlerts(self._revision, self._after)), self._take, self._not_read)

    def _not_read(self, error: OrbitError) -> None:
        told = kept_line(error)
        before, self._problem = self.problem, lambda: tr("The alert rules are not read: {reason}", reason=told())
        if before != self.problem:
            self.changed.emit()

    def _take(self, page: AlertPage) -> None:
        before, self._page = self._page, page
        problem = self.problem
        if page.rules:
            self.rules = tuple(rules_from_json(page.rules))
            self.lag_limits = LagLimits(self.rules)
        self._revision = page.revision
        self.is_read, self._problem = True, self._stale_words(page)
        self._take_findings(page)
        self.judged_here = page.judged_here
        self.webhook = page.webhook
        self._take_posts(page)
        if page.change_id:
            self._after = page.change_id[-1]
            self._source.ask(MarkAlertsTold(self._after)).then(lambda _done: None, self._refused)
            self._tell(_changes(page), page.changes_left_out)
        if before is None or _shown_of(before) != _shown_of(page) or problem != self.problem:
            self.changed.emit()

    def _stale_words(self, page: AlertPage) -> Words:
        age_ms = self.now_ms - page.looked_ms
        if page.looked_ms < 0 or age_ms <= STALE_MS:
            return ""
        words = "The rules were last judged {time} ago: the process that records this cluster does not run, or is too slow."
        return lambda: tr(words, time=duration_text(age_ms))

    def _take_findings(self, page: AlertPage) -> None:
        self._findings = {}
        columns = (page.found_rule, page.found_subject, page.found_value, page.found_since_ms, page.found_firing)
        for rule_id, subject, value, since_ms, is_firing in zip(*columns, strict=True):
            self._findings.setdefault(rule_id, []).append(AlertFinding(subject, value, since_ms, is_firing))
        self._resolved = dict(zip(page.resolved_rule, page.resolved_ms, strict=True))
        lacks = zip(page.unjudged_rule, page.unjudged_cause, page.unjudged_parts, page.unjudged_since_ms, strict=True)
        self._lacks = {
            rule_id: KeptLack(Lack(Cause(cause), tuple(parts)), since_ms) for rule_id, cause, parts, since_ms in lacks
        }

    def _take_posts(self, page: AlertPage) -> None:
        before, self._posts = self._posts, page.posts
        if not page.posts or page.posts == before:
            return
        self.last_post = WebhookResult(page.post_status, page.post_reason, page.post_took_ms)
        self.posted.emit()
        if page.post_given_up and before >= 0:
            post = self.last_post
            self._notify(lambda: tr("The web hook was not called: {reason}", reason=post_text(post)), state=State.WARNING)

    # ---- telling -------------------------------------------------------------------------------------------------------

    def _tell(self, changes: Sequence[AlertChange], left_out: int) -> None:
        meanwhile = [change for change in changes if change.at_ms < self._since_ms]
        if meanwhile:
            self._tell_meanwhile(meanwhile, left_out)
        fresh = [change for change in changes if change.at_ms >= self._since_ms]
        fresh.sort(key=lambda change: (not change.is_firing, change.rule.severity))
        for change in fresh[:TOLD_SINGLY]:
            self._notify(partial(change_words, change), state=_state(change))
        rest = fresh[TOLD_SINGLY:]
        if rest:
            self._tell_count(partial(tr, "{count} more alerts began or ended", count=len(rest)), rest)

    def _tell_meanwhile(self, changes: Sequence[AlertChange], left_out: int) -> None:
        self._tell_count(partial(_meanwhile_text, changes, left_out), changes)

    def _tell_count(self, words: Words, changes: Sequence[AlertChange]) -> None:
        worst = min((_state(change) for change in changes if change.is_firing), key=_URGENCY.index, default=State.INFO)
        self._notify(words, state=worst, action=lambda: tr("Show"), on_action=self._show)


def _meanwhile_text(changes: Sequence[AlertChange], left_out: int) -> str:
    if len(changes) == 1 and not left_out:
        return tr("While no window was open: {alert}", alert=change_words(changes[0]))
    fired = sum(change.is_firing for change in changes)
    text = tr("While no window was open {fired} alerts fired and {over} ended", fired=fired, over=len(changes) - fired)
    return text + (tr("; {count} older changes are in the events", count=left_out) if left_out else "")


_URGENCY = [State.CRITICAL, State.WARNING, State.INFO, State.HEALTHY]


def _changes(page: AlertPage) -> list[AlertChange]:
    columns = (page.change_rule, page.change_subject, page.change_value, page.change_firing, page.change_at_ms)
    return [
        AlertChange(rules_from_json(rule)[0], subject, value, is_firing, at_ms)
        for rule, subject, value, is_firing, at_ms in zip(*columns, strict=True)
    ]


def _shown_of(page: AlertPage) -> tuple[object, ...]:
    """The visible part of a page; values change all the time and are painted at the live cadence."""
    judged = (page.revision, page.judged_here, page.webhook)
    lacks = (page.unjudged_rule, page.unjudged_cause, page.unjudged_parts)
    return (*judged, page.found_rule, page.found_subject, page.found_firing, page.resolved_ms, page.posts, *lacks)


def _state(change: AlertChange) -> State:
    """State of a change's notice; the desktop shows alarming ones too (`gui.main_window.notices`)."""
    if not change.is_firing:
        return State.HEALTHY
    return SEVERITY_STATES[change.rule.severity] if change.rule.desktop else State.INFO


def post_text(result: WebhookResult) -> str:
    """Outcome of an attempt, in words."""
    if result.status < 0:
        return result.reason
    return tr("{status} {reason} in {time} ms", status=result.status, reason=result.reason, time=f"{result.took_ms:.0f}")


def subject_text(rule: AlertRule, subject: str) -> str:
    """Subject of a finding in words: a delay level needs a word, a dead letter topic is its group."""
    is_level = bool(subject) and split_series(rule.series)[0] == "level"
    return tr("level {level}", level=subject) if is_level else subject.removeprefix(reserved.DLQ_PREFIX)


def change_words(change: AlertChange) -> str:
    """A change of an alert, in the language of the window."""
    subject = subject_text(change.rule, change.subject)
    name = f"{tr(change.rule.name)}: {subject}" if subject else tr(change.rule.name)
    series = change.rule.series
    value, limit = full_value_text(series, change.value), value_text(series, change.rule.threshold)
    if not change.is_firing:
        return tr("No longer: {alert}; now {value}", alert=name, value=value)
    if change.rule.above:
        return tr("{alert}: {value}, above {limit}", alert=name, value=value, limit=limit)
    return tr("{alert}: {value}, below {limit}", alert=name, value=value, limit=limit)
