"""The tables of the Alerts page: rules with their states, and fired alerts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from broker_core.api import UsageError
from gui.models.table import CellKind, Column
from gui.operations.alert_center import SEVERITY_STATES, subject_text
from gui.theme.tokens import State
from gui.views.alerts.words import SEVERITY_NAMES, STATE_COLOURS, STATE_NAMES, cause_text, condition_text, series_words
from gui.views.events.words import text_of
from gui.words.amounts import value_text
from gui.words.text import TimeZoneChoice, tr
from monitoring.admin.events import EventRow
from monitoring.alert_readings import AlertReadings
from monitoring.alert_rules import TOTALS, AlertRule, figures_of, split_series, subjects_of
from monitoring.alert_watch import AlertFinding, AlertState
from monitoring.missing_figures import KeptLack
from monitoring.series import History
from monitoring.state import ClusterState

_RECORDED_AS = {"unattended_messages": ("lag_messages",), "late_ms": ("overdue_ms", "late_p99_ms")}
"""Figures without a history, and the figures of which the largest is drawn instead."""
SUBJECTS_LOOKED_UP = 100
"""Subjects of a rule whose past is read for `last_series`."""


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule with its state and findings."""

    rule: AlertRule
    state: AlertState
    findings: tuple[AlertFinding, ...]
    kept_lack: KeptLack | None = None
    """Why it cannot be judged in full."""

    @property
    def worst(self) -> str:
        """The value shown in the list; without findings, why the rule cannot be judged."""
        if not self.findings:
            return cause_text(self.kept_lack.lack) if self.kept_lack is not None else ""
        first, more = self.findings[0], len(self.findings) - 1
        about = subject_text(self.rule, first.subject)
        text = f"{about} {value_text(self.rule.series, first.value)}".strip()
        return f"{text} +{more}" if more else text

    @property
    def lack_words(self) -> str:
        """Why the rule cannot be judged, or that its findings are incomplete; empty where everything is known."""
        if self.kept_lack is None or self.state is AlertState.OFF:
            return ""
        words = "Not all of it can be judged: {reason}." if self.findings else "It cannot be judged: {reason}."
        return tr(words, reason=cause_text(self.kept_lack.lack))


def drawn_series(one: RuleRow, state: ClusterState) -> str:
    """The series drawn for a rule; of a rule over many subjects the first that fired, else the nearest to firing."""
    series = one.rule.series
    try:
        kind, pattern, figure = split_series(series)
        if kind == TOTALS:
            return series
        names, values = AlertReadings().of(one.rule, state)
    except UsageError:
        return series
    known = np.flatnonzero(~np.isnan(values))
    if "*" not in pattern:
        subject = pattern
    elif one.findings:
        subject = one.findings[0].subject
    elif len(known):
        subject = names[known[np.argmax(values[known]) if one.rule.above else np.argmin(values[known])]]
    else:
        return series
    return f"{kind}:{subject}.{_drawn(kind, subject, figure, state)}"


def last_series(rule: AlertRule, state: ClusterState, history: History) -> str:
    """The recorded series of a pattern that was nearest to firing when it was last known; the pattern where none was."""
    kind, pattern, figure = split_series(rule.series)
    subjects = subjects_of(state, kind, pattern)[0][:SUBJECTS_LOOKED_UP]
    names = [f"{kind}:{subject}.{_drawn(kind, subject, figure, state)}" for subject in subjects]
    known = {name: value for name in names if not math.isnan(value := history.series(name).last_known)}
    return (max if rule.above else min)(known, key=known.__getitem__, default=rule.series)


def _drawn(kind: str, subject: str, figure: str, state: ClusterState) -> str:
    """The recorded figure that stands for a figure of a subject."""
    recorded = _RECORDED_AS.get(figure, (figure,))
    rows = subjects_of(state, kind, subject)[1]
    if len(recorded) == 1 or not len(rows):
        return recorded[0]
    return max(recorded, key=lambda one: np.nan_to_num(figures_of(state, kind, one)[rows[0]], nan=-1.0))


def rule_columns(times: TimeZoneChoice) -> list[Column[RuleRow]]:
    def lack_tip(one: RuleRow) -> str:
        if one.kept_lack is None or not one.lack_words:
            return ""
        return one.lack_words + "\n" + tr("Since {time}", time=times.full(one.kept_lack.since_ms))

    def found_tip(one: RuleRow) -> str:
        return "\n".join(filter(None, (one.worst if one.findings else "", lack_tip(one))))

    return [
        Column("state", "State", lambda one: tr(STATE_NAMES[one.state]), sort=lambda one: one.state.value, kind=CellKind.FLAG,
               state=_state_colour, tip=lack_tip, width=100),
        Column("name", "Rule", lambda one: tr(one.rule.name), kind=CellKind.STRONG,
               tip=lambda one: series_words(one.rule.series), wants=130),
        Column("condition", "Fires", lambda one: condition_text(one.rule), dim=True, width=138, gives_way=1),
        Column("worst", "Found", lambda one: one.worst, tip=found_tip, wants=130),
        Column("severity", "Severity", lambda one: tr(SEVERITY_NAMES[one.rule.severity]), state=_severity_state, dim=True,
               sort=lambda one: int(one.rule.severity), width=74),
    ]  # fmt: skip


def _state_colour(one: RuleRow) -> State | None:
    """The colour of a state that needs attention; None for `AlertState.OK`."""
    return STATE_COLOURS[one.state] if one.state is not AlertState.OK else None


def _severity_state(one: RuleRow) -> State | None:
    return SEVERITY_STATES[one.rule.severity] if one.state is AlertState.FIRING else None


def fired_columns(times: TimeZoneChoice) -> list[Column[EventRow]]:
    return [
        Column("at", "Time", lambda one: times.full(one.at_ms), sort=lambda one: one.at_ms, dim=True, width=200),
        Column("text", "Alert", text_of),
    ]
