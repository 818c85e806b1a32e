"""Names of alerts, their states and series, and the pages that show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker_core.api import UsageError
from broker_core.api import names as reserved
from gui.operations.alert_center import OpenAlert, subject_text
from gui.theme.tokens import State
from gui.words.amounts import full_value_text, value_text
from gui.words.text import count_text, duration_text, tr
from monitoring.alert_rules import KINDS, TOTALS, AlertRule, Severity, split_series
from monitoring.alert_watch import AlertState
from monitoring.missing_figures import CAUSE_TEXTS
from monitoring.state import ClusterState
from monitoring.unjudged_rules import Lack

STATE_NAMES = {
    AlertState.OK: "OK",
    AlertState.PENDING: "Pending",
    AlertState.FIRING: "Firing",
    AlertState.MUTED: "Muted",
    AlertState.RESOLVED: "Resolved",
    AlertState.UNJUDGED: "Not judged",
    AlertState.OFF: "Off",
}
STATE_COLOURS = {
    AlertState.OK: State.HEALTHY,
    AlertState.PENDING: State.PENDING,
    AlertState.FIRING: State.CRITICAL,
    AlertState.MUTED: State.IDLE,
    AlertState.RESOLVED: State.HEALTHY,
    AlertState.UNJUDGED: State.CHECKING,
    AlertState.OFF: State.IDLE,
}
SEVERITY_NAMES = {Severity.CRITICAL: "Critical", Severity.WARNING: "Warning", Severity.NOTICE: "Notice"}


def condition_text(rule: AlertRule) -> str:
    """``> 15,000 for 60 s``, ``> 10 min for 60 s``."""
    limit = f"{'>' if rule.above else '<'} {value_text(rule.series, rule.threshold)}"
    return tr("{condition} for {time}", condition=limit, time=duration_text(rule.for_ms)) if rule.for_ms else limit


def condition_words(rule: AlertRule) -> str:
    """``above 15,000 for 60 s``."""
    limit = value_text(rule.series, rule.threshold)
    words = tr("above {limit}", limit=limit) if rule.above else tr("below {limit}", limit=limit)
    return tr("{condition} for {time}", condition=words, time=duration_text(rule.for_ms)) if rule.for_ms else words


FIGURES = {
    ("topic", "put_rate"): "Messages in",
    ("topic", "got_rate"): "Messages delivered",
    ("topic", "kept_messages"): "Kept messages",
    ("group", "lag_messages"): "Lag",
    ("group", "behind_ms"): "Age of the lag",
    ("group", "got_rate"): "Messages delivered",
    ("group", "members"): "Members online",
    ("group", "unattended_messages"): "Lag that nobody consumes",
    ("group", "lost_messages"): "Messages lost unread",
    ("group", "beyond_messages"): "Messages beyond the end",
    ("level", "pending"): "Delayed messages",
    ("level", "late_ms"): "Lateness",
    ("level", "overdue_ms"): "Overdue time",
    ("level", "late_p50_ms"): "Lateness p50",
    ("level", "late_p99_ms"): "Lateness p99",
    ("level", "delivered_rate"): "Delivered messages",
    (TOTALS, "lag_messages"): "Lag",
    (TOTALS, "put_rate"): "Messages in",
    (TOTALS, "got_rate"): "Messages delivered",
    (TOTALS, "put_p50_ms"): "Put latency p50",
    (TOTALS, "put_p99_ms"): "Put latency p99",
    (TOTALS, "disk_used_percent"): "Disk used",
    (TOTALS, "store_bytes"): "Size of the store",
    (TOTALS, "dead_letters"): "Dead letters",
    (TOTALS, "transactions_given_up"): "Transactions given up",
    (TOTALS, "transactions_pending"): "Undecided transactions",
    (TOTALS, "connections"): "Connections",
    (TOTALS, "producers"): "Producers",
    (TOTALS, "consumers"): "Consumers",
}
"""Kind and figure of a series → English title."""
_EVERY = {"topic": "every topic", "group": "every group", "level": "every delay level"}


def series_words(series: str) -> str:
    """A series in words: ``Lag: group billing``; an unknown or invalid one unchanged."""
    try:
        kind, subject, figure = split_series(series)
    except UsageError:
        return series
    title = FIGURES.get((kind, figure))
    if title is None:
        return series
    if kind == TOTALS:
        return tr(title)
    if figure == "kept_messages" and subject.startswith(reserved.DLQ_PREFIX):
        title, kind, subject = "Dead letters", "group", subject.removeprefix(reserved.DLQ_PREFIX)
    names = {"topic": "topic {name}", "group": "group {name}", "level": "level {name}"}
    return f"{tr(title)}: {tr(_EVERY[kind]) if subject == '*' else tr(names[kind], name=subject)}"


def known_series(state: ClusterState | None) -> list[str]:
    """Series to choose from: figures of the broker, of every topic, group and level, and of each topic and group by name."""
    wide = [f"{kind}:*.{figure}" for kind, figures in KINDS.items() for figure in figures]
    if state is None:
        return wide
    catalog = state.catalog
    single = [f"group:{name}.{figure}" for name in catalog.groups[:200] for figure in KINDS["group"]]
    single += [f"topic:{name}.{figure}" for name in catalog.topics[:200] for figure in KINDS["topic"]]
    return [*(f"totals.{name}" for name in sorted(state.totals)), *wide, *single]


def cause_text(lack: Lack) -> str:
    """Why a rule cannot be judged."""
    return tr(CAUSE_TEXTS[lack.cause], **({"parts": ", ".join(map(tr, lack.parts))} if lack.parts else {}))


_PAGES_OF_TOTALS = (
    ("disk_", "store"), ("put_", "store"), ("store_", "store"), ("flush_", "store"), ("commit_log", "store"),
    ("transactions_", "transactions"), ("atomic_", "transactions"), ("lag_", "consumers"), ("connections", "clients"),
    ("producers", "clients"), ("consumers", "clients"),
)  # fmt: skip
"""Prefix of a broker figure → page that shows it."""
VERBS = {"dead_letters": "Inspect", "transactions": "Review"}
"""Button of an alert, by page; “Show” for all others."""


def alert_texts(alert: OpenAlert) -> tuple[str, str]:
    rule, value = alert.rule, alert.finding.value
    kind, _pattern, figure = split_series(rule.series)
    subject = subject_of(alert)
    count = count_text(value)
    reason = tr("{condition} · rule “{rule}”", rule=tr(rule.name), condition=condition_words(rule))
    titles: Mapping[tuple[str, str], Callable[[], str]] = {
        ("group", "lag_messages"): lambda: tr("{group} lags by {count} messages", group=subject, count=count),
        ("group", "unattended_messages"): lambda: tr("Nobody consumes for {group}", group=subject),
        ("group", "beyond_messages"): lambda: tr("{group} is beyond the end", group=subject),
        ("group", "lost_messages"): lambda: tr("{group} lost {count} messages unread", group=subject, count=count),
        ("group", "behind_ms"): lambda: tr("{group} is {time} behind", group=subject, time=duration_text(value)),
        ("level", "late_ms"): lambda: tr("Delay level {level} is late", level=subject),
        (TOTALS, "transactions_given_up"): lambda: tr("{count} transactions given up", count=count),
        (TOTALS, "disk_used_percent"): lambda: tr("Disk {share} used", share=f"{value:.0f} %"),
        (TOTALS, "put_p99_ms"): lambda: tr("Puts take {time}", time=value_text(rule.series, value)),
    }
    title = titles.get((kind, figure)) if rule.above else None
    if is_about_dead_letters(rule):
        title = lambda: tr("{group}: {count} dead letters", group=subject, count=count)  # noqa: E731  as those in the table
    if title is None:
        about = subject_text(rule, subject)
        name = f"{tr(rule.name)}: {about}" if about else tr(rule.name)
        return f"{name}: {full_value_text(rule.series, value)}", reason
    reasons = {
        ("group", "unattended_messages"): lambda: tr("{count} wait, no client is online", count=count),
        ("group", "beyond_messages"): lambda: tr("{count} past the last message: reset it", count=count),
        ("group", "lost_messages"): lambda: tr("They were deleted before the group read them"),
        ("level", "late_ms"): lambda: tr("{late} after the time they were due", late=value_text(rule.series, value)),
        (TOTALS, "transactions_given_up"): lambda: tr("No producer decided them in time"),
        (TOTALS, "disk_used_percent"): lambda: tr("Messages are refused when it is full"),
    }
    special = reasons.get((kind, figure))
    return title(), special() if special is not None else reason


def is_about_dead_letters(rule: AlertRule) -> bool:
    kind, pattern, figure = split_series(rule.series)
    return kind == "topic" and pattern.startswith(reserved.DLQ_PREFIX) and figure == "kept_messages" and rule.above


def subject_of(alert: OpenAlert) -> str:
    """Subject of an alert; for a dead letter topic its group."""
    return alert.finding.subject.removeprefix(reserved.DLQ_PREFIX)


def alert_place(alert: OpenAlert) -> tuple[str, dict[str, object]]:
    """Page that shows the cause, with arguments."""
    kind, _pattern, figure = split_series(alert.rule.series)
    subject = alert.finding.subject
    if subject.startswith(reserved.DLQ_PREFIX):
        return "dead_letters", {"group": subject_of(alert)}
    if kind == TOTALS:
        page_id = next((page for start, page in _PAGES_OF_TOTALS if figure.startswith(start)), "")
        return (page_id, {}) if page_id else ("alerts", {"rule": alert.rule.rule_id})
    match kind:
        case "group":
            return "consumers", {"group": subject}
        case "topic":
            return "topic", {"topic": subject}
        case _:
            return "delay", {}
