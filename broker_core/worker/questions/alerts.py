"""Alert rules and what they found; both are kept beside the history. `monitoring.alert_rules` defines a rule."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Question, question

# ---- answers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AlertPage:
    """What the rules found, as of the newest sample. Parallel lists; unknown values are NaN.

    Attributes:
        rules: As `PutAlertRules.rules`; empty when the window has them.
        looked_ms: Time of the sample; -1: there was none.
        found_rule: One item a subject for which a condition holds, those that fire first, at most 1,000.
        found_left_out: Subjects beyond those.
        resolved_rule: Rules whose newest change is a resolved condition.
        change_id: Changes after the requested one, oldest first, the newest 100 of them; 0 or more.
        change_rule: The rule at that time, as `PutAlertRules.rules`.
        changes_left_out: Older changes that no window has shown.
        posts: Attempts to reach the web hook that ended since the start.
        unjudged_rule: Rules that cannot be judged, or not for all their subjects.
        unjudged_cause: Why: `monitoring.unjudged_rules.Cause`.
        unjudged_parts: Parts of the cluster that are away, where that is the reason.
        post_status: Of the newest answer; -1 without one.
    """

    revision: int
    rules: str
    webhook: str
    looked_ms: int
    found_rule: list[str]
    found_subject: list[str]
    found_value: list[float]
    found_since_ms: list[int]
    found_firing: list[bool]
    found_left_out: int
    resolved_rule: list[str]
    resolved_ms: list[int]
    change_id: list[int]
    change_at_ms: list[int]
    change_rule: list[str]
    change_subject: list[str]
    change_value: list[float]
    change_firing: list[bool]
    changes_left_out: int
    posts: int = 0
    post_status: int = -1
    post_reason: str = ""
    post_took_ms: float = 0.0
    post_given_up: bool = False
    """Whether the newest was the last attempt, and failed."""
    judged_here: bool = True
    """Whether this process judges; otherwise another one on the same folder does."""
    unjudged_rule: list[str] = field(default_factory=list)
    unjudged_cause: list[str] = field(default_factory=list)
    unjudged_parts: list[list[str]] = field(default_factory=list)
    unjudged_since_ms: list[int] = field(default_factory=list)


# ---- questions ---------------------------------------------------------------------------------------------------------


@question(acts=False)
class ReadAlerts(Question[AlertPage]):
    """Rules, what they found, and changes that were not shown yet.

    Attributes:
        revision: Of the rules that the window has; the answer leaves them out while they are the same.
        after: The newest change that the window has; -1: those that no window has shown yet.
    """

    revision: int = -1
    after: int = -1


@question(acts=False)
class PutAlertRules(Question[Done]):
    """Add rules, or replace those of their ids; mutes stay. All or none."""

    rules: str
    """As `monitoring.alert_rules.rules_to_json` writes them."""


@question(acts=False)
class RemoveAlertRule(Question[Done]):
    """Drop a rule."""

    rule_id: str


@question(acts=False)
class MuteAlert(Question[Done]):
    """Mute a rule until a time, for all subjects or for one."""

    rule_id: str
    until_ms: int
    """ms since the epoch; 0 ends the mute, -1 mutes until then."""
    subject: str = ""


@question(acts=False)
class SetAlertWebhook(Question[Done]):
    """Set the address of the web hook; empty for none."""

    url: str


@question(acts=False)
class TryAlertWebhook(Question[Done]):
    """Send a made-up alert; the following pages have the result."""


@question(acts=False)
class MarkAlertsTold(Question[Done]):
    """The window has shown all changes up to this one."""

    change_id: int


AlertCommand = PutAlertRules | RemoveAlertRule | MuteAlert | SetAlertWebhook | TryAlertWebhook | MarkAlertsTold
AlertQuery = ReadAlerts | AlertCommand
