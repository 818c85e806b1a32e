"""`LackWatch`: rules that cannot be judged, since when, and when to report it. Pure: no clock, no file, no language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from monitoring.alert_rules import AlertRule
from monitoring.unjudged_rules import Cause, Lack

UNJUDGED_EVENT = "unjudged"
"""Kind of the events that report it."""
PATIENCE_MS = 10_000
"""How long a judged rule may be unjudged without notice, because some figures are read one round later."""
TOLD_AFTER_MS = 60_000
"""How long a rule must be unjudged before an event reports it."""


@dataclass(frozen=True, slots=True)
class KeptLack:
    """Why a rule cannot be judged, since when (ms since the epoch), and whether that was reported."""

    lack: Lack
    since_ms: int
    is_told: bool = False


@dataclass(frozen=True, slots=True)
class LackChange:
    """A rule could not be judged for a while, or can be again: an event to record."""

    rule: AlertRule
    lack: Lack | None
    """None: it is judged again."""


class LackWatch:
    """Follows the results of `monitoring.unjudged_rules` for successive states; bounded by the rules."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptLack] = {}
        self._judged: set[str] = set()
        """Rules that were judged in full since the start."""
        self.touched: set[str] = set()
        """Ids of rules whose lack changed since the owner last cleared this set."""

    def restore(self, kept: Mapping[str, KeptLack]) -> None:
        """Continue from the lacks of an earlier watch."""
        self._kept = dict(kept)

    def forget(self, rule_ids: Iterable[str]) -> None:
        """Drop the lacks of rules that now watch another series."""
        for rule_id in rule_ids:
            self._judged.discard(rule_id)
            if rule_id in self._kept:
                self._drop(rule_id)

    def kept(self, rule_id: str) -> KeptLack | None:
        return self._kept.get(rule_id)

    def standing(self, now_ms: int) -> dict[str, KeptLack]:
        """The lacks to show, by rule id, without those that may be over in a moment."""
        return {rule_id: one for rule_id, one in self._kept.items() if not self._may_pass(rule_id, one, now_ms)}

    def look(self, rules: Iterable[AlertRule], lacks: Mapping[str, Lack], now_ms: int) -> list[LackChange]:
        """Take the rules that cannot be judged now; returns the changes to report."""
        watched = {rule.rule_id: rule for rule in rules if rule.enabled}
        for rule_id in [rule_id for rule_id in self._kept if rule_id not in watched]:
            self._drop(rule_id)
        self._judged &= watched.keys()
        told = [self._look_at(rule, lacks.get(rule_id), now_ms) for rule_id, rule in watched.items()]
        return [change for change in told if change is not None]

    def _look_at(self, rule: AlertRule, lack: Lack | None, now_ms: int) -> LackChange | None:
        rule_id, known = rule.rule_id, self._kept.get(rule.rule_id)
        if lack is None:
            self._judged.add(rule_id)
            if known is None:
                return None
            self._drop(rule_id)
            return LackChange(rule, None) if known.is_told else None
        # A clock set back must not make it begin in the future.
        since_ms = now_ms if known is None else min(known.since_ms, now_ms)
        was_told = known is not None and known.is_told
        # A figure that no connection from outside can read causes no event; the page shows it.
        is_news = lack.cause is not Cause.INSIDE_ONLY and now_ms - since_ms >= TOLD_AFTER_MS
        one = KeptLack(lack, since_ms, was_told or is_news)
        if one != known:
            self._kept[rule_id] = one
            self.touched.add(rule_id)
        return LackChange(rule, lack) if one.is_told and not was_told else None

    def _drop(self, rule_id: str) -> None:
        del self._kept[rule_id]
        self.touched.add(rule_id)

    def _may_pass(self, rule_id: str, one: KeptLack, now_ms: int) -> bool:
        return one.lack.cause is Cause.UNREAD and rule_id in self._judged and now_ms - one.since_ms < PATIENCE_MS


# ---- in words ----------------------------------------------------------------------------------------------------------

CAUSE_TEXTS = {
    Cause.INSIDE_ONLY: "only Orbit's broker reports it",
    Cause.NOT_TOLD: "the brokers do not tell it",
    Cause.AWAY: "no full answer of {parts}",
    Cause.UNREAD: "not all of it is read yet",
    Cause.UNLISTED: "the brokers list no client of some groups, and proxies cannot be asked",
    Cause.ABSENT: "there is nothing of this name",
}


def lack_texts(changes: Iterable[LackChange]) -> list[str]:
    """The texts of the changes of one moment in the history of events; rules with the same cause share one."""
    rules: dict[Lack | None, list[str]] = {}
    for change in changes:
        rules.setdefault(change.lack, []).append(change.rule.name)
    return [_lack_text(lack, names) for lack, names in rules.items()]


def _lack_text(lack: Lack | None, names: Sequence[str]) -> str:
    found = ", ".join(names)
    cause = "" if lack is None else CAUSE_TEXTS[lack.cause].format(parts=", ".join(lack.parts))
    if len(names) > 1:
        # The cause comes first: a table cuts the end of a long line.
        return f"{len(names)} rules " + (f"cannot be judged: {cause} ({found})" if cause else f"are judged again ({found})")
    return f"{found} cannot be judged: {cause}" if cause else f"{found} is judged again"
