"""Alert rules on any series, and their JSON form. Pure; `monitoring.alert_watch` judges by them.

A rule names a series as `monitoring.series.History` does (``totals.lag_messages``, ``group:billing.behind_ms``). ``*`` in the
subject matches any characters, so ``group:*.lag_messages`` watches every group except those of the broker itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from broker_core.api import UsageError
from broker_core.outside import read_json
from monitoring.delay import LATE_MS
from monitoring.series import Floats, Ints
from monitoring.state import ClusterState, are_members_known

RULES_MAX = 200
NAME_MAX = 200
MUTES_MAX = 1_000
"""Limit of muted subjects of one rule."""
FOR_MS_MAX = 24 * 3_600_000
FOREVER = -1
"""``muted_until_ms`` of a rule that stays muted until a user unmutes it."""
TOTALS = "totals"
KINDS: Mapping[str, tuple[str, ...]] = {
    "topic": ("put_rate", "got_rate", "kept_messages"),
    "group": (
        "lag_messages",
        "behind_ms",
        "got_rate",
        "members",
        "unattended_messages",
        "lost_messages",
        "beyond_messages",
    ),
    "level": ("pending", "late_ms", "overdue_ms", "late_p50_ms", "late_p99_ms", "delivered_rate"),
}
"""Figures of each kind of subject; ``totals`` has the figures of `ClusterState.totals`. ``unattended_messages`` is the lag of a
group without members, 0 of a group with members; it is not recorded, because the lag and the members are. ``lost_messages``
were deleted before the group read them; ``beyond_messages`` is how far it is beyond the ends of its queues: it has no lag then.
``late_ms`` is ``overdue_ms`` or ``late_p99_ms``, whichever is more, and not recorded either.
"""
FORMAT_VERSION = 1


class Severity(IntEnum):
    """The worst is the smallest."""

    CRITICAL = 0
    WARNING = 1
    NOTICE = 2


@dataclass(frozen=True, slots=True)
class AlertRule:
    """A condition on a series.

    Attributes:
        rule_id: Unique among the rules, for ever.
        series: See the module.
        threshold: In the unit of the series.
        for_ms: How long the condition must hold.
        muted_until_ms: ms since the epoch; 0: not muted; or `FOREVER`.
        mutes: Muted single subjects: (subject, until ms).
    """

    rule_id: str
    name: str
    series: str
    above: bool
    threshold: float
    for_ms: int
    severity: Severity = Severity.WARNING
    enabled: bool = True
    desktop: bool = True
    webhook: bool = True
    muted_until_ms: int = 0
    mutes: tuple[tuple[str, int], ...] = ()

    def is_muted(self, now_ms: int, subject: str = "") -> bool:
        """Whether the rule is muted, as a whole or for one subject."""
        if _is_ahead(self.muted_until_ms, now_ms):
            return True
        return bool(subject) and any(of == subject and _is_ahead(until_ms, now_ms) for of, until_ms in self.mutes)

    def muted(self, subject: str, until_ms: int, now_ms: int) -> AlertRule:
        """This rule with a mute added, or removed with ``until_ms`` 0; without a subject the mute of the whole rule.

        Raises:
            UsageError: Too many subjects are muted.
        """
        kept = [mute for mute in self.mutes if mute[0] != subject and _is_ahead(mute[1], now_ms)]
        if not subject:
            return replace(self, muted_until_ms=until_ms, mutes=tuple(kept) if until_ms else ())
        if len(kept) >= MUTES_MAX:
            raise UsageError(f"{MUTES_MAX:,} subjects of the rule “{self.name}” are muted; mute the whole rule instead")
        return replace(self, mutes=(*kept, (subject, until_ms)) if until_ms else tuple(kept))

    def holds(self, value: float) -> bool:
        """Whether the condition holds for a value; false for NaN."""
        return value > self.threshold if self.above else value < self.threshold


DEFAULT_RULES = (
    AlertRule("lag", "Lag of a group", "group:*.lag_messages", True, 15_000, 60_000, Severity.CRITICAL),
    AlertRule("behind", "A group is far behind", "group:*.behind_ms", True, 600_000, 60_000),
    AlertRule("nobody", "Nobody consumes", "group:*.unattended_messages", True, 0, 60_000),
    AlertRule("beyond", "Position beyond the end", "group:*.beyond_messages", True, 0, 60_000, Severity.CRITICAL),
    AlertRule("lost", "Messages lost unread", "group:*.lost_messages", True, 0, 60_000),
    AlertRule("dead-letters", "Dead letters", "topic:%DLQ%*.kept_messages", True, 0, 0),
    AlertRule("given-up", "Transactions given up", "totals.transactions_given_up", True, 0, 0),
    AlertRule("late", "Delayed messages are late", "level:*.late_ms", True, LATE_MS, 30_000),
    AlertRule("disk", "The disk fills up", "totals.disk_used_percent", True, 70, 60_000),
    AlertRule("disk-full", "The disk is nearly full", "totals.disk_used_percent", True, 85, 0, Severity.CRITICAL),
    AlertRule("put", "Puts are slow", "totals.put_p99_ms", True, 500, 60_000),
)
"""The rules of a new cluster. A user may change, mute, disable and delete them."""
_WATCHED_BEFORE = {"late": "level:*.late_p99_ms"}
"""Series that shipped rules watched in an older Orbit."""


def renewed(rule: AlertRule) -> AlertRule:
    """A stored rule with the series of today, if it is a shipped one that still watches the series of an older Orbit."""
    if _WATCHED_BEFORE.get(rule.rule_id) != rule.series:
        return rule
    return replace(rule, series=next(one.series for one in DEFAULT_RULES if one.rule_id == rule.rule_id))


def subjects_of(state: ClusterState, kind: str, pattern: str) -> tuple[list[str], Ints]:
    """Subjects that a pattern matches, and their rows (int64). A pattern with ``*`` leaves out the broker's own groups."""
    if kind == "level":
        names: Sequence[str] = [str(level) for level in state.delays.level.tolist()]
    else:
        names = state.catalog.topics if kind == "topic" else state.catalog.groups
    left_out = state.catalog.group_is_system if kind == "group" and "*" in pattern else []
    wanted = [
        row
        for row, name in enumerate(names)
        if (pattern == "*" or fnmatchcase(name, pattern)) and not (left_out and left_out[row])
    ]
    return [names[row] for row in wanted], np.array(wanted, np.int64)


def split_series(series: str) -> tuple[str, str, str]:
    """Kind, pattern of subjects, and figure; raises `UsageError` if the text names no series."""
    subject, dot, figure = series.rpartition(".")
    kind, colon, pattern = subject.partition(":")
    if dot and figure and subject == TOTALS:
        return TOTALS, "", figure
    if dot and colon and pattern and figure in KINDS.get(kind, ()):
        return kind, pattern, figure
    raise UsageError(f"“{series}” names no series, such as totals.lag_messages or group:*.lag_messages", series=series)


_UNITS = (("_ms", "ms"), ("_s", "s"), ("_percent", "%"), ("_byte_rate", "B/s"), ("_rate", "/s"), ("_bytes", "B"))
"""By the end of a figure's name; all other figures are counts."""
_COUNTED = (
    ("_messages", "messages"), (".pending", "messages"), (".dead_letters", "messages"), (".members", "members"),
    (".connections", "connections"), (".producers", "clients"), (".consumers", "clients"),
    *((f".transactions_{state}", "transactions") for state in ("pending", "checking", "waiting", "given_up", "expired")),
)  # fmt: skip


def unit_of(series: str) -> str:
    return next((unit for ending, unit in _UNITS if series.endswith(ending)), "")


def counted_of(series: str) -> str:
    """What a series without a unit counts, in the plural; empty where that is not known."""
    return next((things for ending, things in _COUNTED if series.endswith(ending)), "")


def rule_about(rules: Iterable[AlertRule], series: str) -> AlertRule | None:
    """The enabled rule on a series that fires first: the lowest upper limit, else the highest lower limit."""
    kind, subject, figure = split_series(series)
    watching = [rule for rule in rules if rule.enabled and _is_about(rule, kind, subject, figure)]
    above = [rule for rule in watching if rule.above]
    if above:
        return min(above, key=lambda rule: rule.threshold)
    return max(watching, key=lambda rule: rule.threshold, default=None)


def _is_about(rule: AlertRule, kind: str, subject: str, figure: str) -> bool:
    of_kind, pattern, of_figure = split_series(rule.series)
    return (of_kind, of_figure) == (kind, figure) and (kind == TOTALS or fnmatchcase(subject, pattern))


def total_of(state: ClusterState, figure: str) -> float:
    """A figure of the whole cluster; NaN unknown."""
    if figure == "consumers" and state.is_from_outside and not are_members_known(state.group_members).all():
        # The members of some groups are not known: a rule must not take a part for the sum.
        return math.nan
    return state.totals.get(figure, math.nan)


def figures_of(state: ClusterState, kind: str, figure: str) -> Floats:
    """A figure of all subjects of a kind (float64, NaN unknown). A figure of which only some queues are known is unknown."""
    if kind == "topic":
        if figure == "kept_messages":
            return known(state.topic_kept_messages)
        rates = state.topic_put_rate if figure == "put_rate" else state.topic_got_rate
        return np.where(state.topics_in_part, np.nan, rates)
    if kind == "level":
        return known(getattr(state.delays, figure))
    match figure:
        case "members":
            return members_known(state)
        case "lost_messages" | "beyond_messages":
            return _standing_of_groups(state, figure)
        case "unattended_messages":
            members, lag = members_known(state), _no_lag_beyond(state, state.group_lag_messages)
            return np.where((members > 0) | (lag == 0), 0.0, np.where(np.isnan(members), np.nan, lag))
        case "got_rate":
            return np.where(state.groups_in_part, np.nan, state.group_got_rate)
        case _:
            return _no_lag_beyond(state, known(getattr(state, f"group_{figure}")))


def _standing_of_groups(state: ClusterState, figure: str) -> Floats:
    of_groups = state.group_standings
    values = of_groups.lost if figure == "lost_messages" else of_groups.beyond
    # What is known of a part is an alarm; that nothing is wrong needs the whole.
    return np.where(state.groups_in_part & ~(values > 0), np.nan, values)


def _no_lag_beyond(state: ClusterState, values: Floats) -> Floats:
    """A lag for rules: 0 for a group beyond the end, about which ``beyond_messages`` tells; no rule waits for its lag."""
    return np.where(state.group_standings.beyond > 0, 0.0, values)


def members_known(state: ClusterState) -> Floats:
    """Members of each group (float64, NaN unknown); 0 for an offline group."""
    return np.where(are_members_known(state.group_members), np.maximum(state.group_members, 0), np.nan).astype(np.float64)


def known(column: NDArray[Any]) -> Floats:
    """A column as float64 with NaN for unknown."""
    if column.dtype.kind == "i":
        return np.where(column < 0, np.nan, column).astype(np.float64)
    values: Floats = column
    return values


def check_rule(rule: AlertRule) -> None:
    """Check that a rule is valid; else a `UsageError` names the fault."""
    split_series(rule.series)
    if not rule.name.strip() or len(rule.name) > NAME_MAX:
        raise UsageError(f"a rule has a name of 1 to {NAME_MAX} characters")
    if not math.isfinite(rule.threshold):
        raise UsageError("the threshold is no number")
    if not 0 <= rule.for_ms <= FOR_MS_MAX:
        raise UsageError(f"a condition holds for 0 to {FOR_MS_MAX // 1_000:,} s, not {rule.for_ms / 1_000:,.0f} s")


def _is_ahead(until_ms: int, now_ms: int) -> bool:
    return until_ms == FOREVER or now_ms < until_ms


# ---- as text -----------------------------------------------------------------------------------------------------------


def rules_to_json(rules: Iterable[AlertRule]) -> str:
    """Rules as text for the worker channel and the database."""
    entries = [{**asdict(rule), "severity": rule.severity.name} for rule in rules]
    return json.dumps({"version": FORMAT_VERSION, "rules": entries}, ensure_ascii=False)


def rules_from_json(text: str) -> list[AlertRule]:
    """Parse rules.

    Raises:
        UsageError: The text is invalid, or a rule in it.
    """
    try:
        document = read_json(text)
        if document.get("version", FORMAT_VERSION) > FORMAT_VERSION:
            raise UsageError(f"these alert rules have format {document['version']}; this Orbit knows {FORMAT_VERSION}")
        rules = [_rule(entry) for entry in document["rules"][:RULES_MAX]]
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"these are no alert rules: {error}") from error
    for rule in rules:
        check_rule(rule)
    if len({rule.rule_id for rule in rules}) != len(rules):
        raise UsageError("two alert rules have the same id")
    return rules


def _rule(entry: Mapping[str, Any]) -> AlertRule:
    return AlertRule(
        rule_id=str(entry["rule_id"]),
        name=str(entry["name"]),
        series=str(entry["series"]),
        above=bool(entry["above"]),
        threshold=float(entry["threshold"]),
        for_ms=int(entry["for_ms"]),
        severity=Severity[entry.get("severity", "WARNING")],
        enabled=bool(entry.get("enabled", True)),
        desktop=bool(entry.get("desktop", True)),
        webhook=bool(entry.get("webhook", True)),
        muted_until_ms=int(entry.get("muted_until_ms", 0)),
        mutes=tuple((str(subject), int(until_ms)) for subject, until_ms in entry.get("mutes", ())),
    )
