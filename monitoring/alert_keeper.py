"""`AlertKeeper` stores a cluster's alert rules, judges samples by them, and reports alerts, with or without a window.

It lives in the process that records the history. An alert that fires or ends becomes an event of the history, is posted to the
web hook, and is kept until a window shows it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from broker_core.api import StoreError, UsageError
from broker_core.worker.questions.alerts import (
    AlertCommand,
    AlertPage,
    AlertQuery,
    MarkAlertsTold,
    MuteAlert,
    PutAlertRules,
    ReadAlerts,
    RemoveAlertRule,
    SetAlertWebhook,
    TryAlertWebhook,
)
from broker_core.worker.questions.figures import Occurred
from broker_core.worker.questions.lifecycle import Done
from monitoring.alert_posts import PostOrder, Send, WebhookPoster
from monitoring.alert_rules import (
    DEFAULT_RULES,
    FOREVER,
    RULES_MAX,
    AlertRule,
    Severity,
    renewed,
    rules_from_json,
    rules_to_json,
)
from monitoring.alert_store import AlertStore, OvertakenError, Post, ids_from_json
from monitoring.alert_watch import AlertChange, AlertWatch, change_text, number_text
from monitoring.missing_figures import UNJUDGED_EVENT, LackWatch, lack_texts
from monitoring.state import ClusterState
from monitoring.unjudged_rules import UnjudgedWatch
from monitoring.webhook import WebhookResult, check_url, payload, post

logger = logging.getLogger(__name__)

FOUND_MAX = 1_000
CHANGES_SHOWN = 100
UNSAVED_MAX = 1_000
"""Changes kept in memory while the disk is full; beyond this the oldest are lost."""
LOGGED_MAX = 20
"""Changes of one sample that are logged one by one; more would fill the log."""
TRIES_MAX = 10
BEAT_MS = 10_000
"""Interval at which the time of the newest state is stored while a condition is pending."""
POST_AGE_MAX_MS = 3_600_000
"""Older changes are not posted after a start."""


class AlertKeeper:
    """Judges on one thread and answers on any.

    Args:
        clock: ms since the epoch.
        cluster: Name of the cluster in posts.
        judges: Whether this process judges. If another process does, this one only reads and changes the shared database.

    Raises:
        StoreError: The database cannot be opened.
    """

    def __init__(
        self, path: Path, *, clock: Callable[[], int], cluster: str = "", judges: bool = True, send: Send = post
    ) -> None:
        self._clock = clock
        self._cluster = cluster
        self._judges = judges
        self._lock = threading.Lock()
        self._store = AlertStore(path)
        self._is_closed = False
        self._revision = clock()
        self._watch = AlertWatch(self._first_rules())
        self._unjudged, self._lacks = UnjudgedWatch(), LackWatch()
        self._restore()
        self._saved_ms = self._watch.looked_ms
        self._unsaved: deque[AlertChange] = deque(maxlen=UNSAVED_MAX)
        self._events: list[Occurred] = []
        self._told_fault = ""
        self._tries: deque[PostOrder] = deque(maxlen=TRIES_MAX)
        self._posts, self._last_post, self._given_up = 0, WebhookResult(-1, "", 0.0), False
        self._poster = WebhookPoster(self._next_post, self._post_ended, send=send)
        if judges:
            self._store.give_up_posts(clock() - POST_AGE_MAX_MS)
            if self._store.next_post() is not None:
                self._poster.wake()

    def _restore(self) -> None:
        self._watch.restore(self._store.findings(), int(self._store.value("looked_ms", "-1")))
        self._lacks.restore(self._store.lacks())

    def _first_rules(self) -> list[AlertRule]:
        """The stored rules, and shipped rules that a newer Orbit added or gave another series, once."""
        while True:
            offered = ids_from_json(self._store.value("offered", "[]"))
            is_old = not self._store.value("renewed")
            rules = [renewed(rule) if is_old else rule for rule in self._store.rules()]
            new = [rule for rule in DEFAULT_RULES if rule.rule_id not in offered | {known.rule_id for known in rules}]
            if not new and not is_old:
                return rules
            rules = [*rules, *new][:RULES_MAX]
            with contextlib.suppress(OvertakenError):
                self._store.set_rules(rules, offered=_SHIPPED_IDS, renewed="yes")
                return rules

    def close(self) -> None:
        """Stop judging; pending posts are sent after the next start."""
        self._poster.close()
        with self._lock:
            if not self._is_closed:
                self._save(self._watch.looked_ms)
                self._is_closed = True
                self._store.close()

    # ---- judging -------------------------------------------------------------------------------------------------------

    def look(self, state: ClusterState) -> list[Occurred]:
        """Judge a sample; returns events for the history. Never raises for a disk that cannot be written."""
        with self._lock:
            if not self._is_closed:
                try:
                    self._follow_others()
                except sqlite3.Error as error:
                    self._tell_fault(f"the alert rules cannot be read now; those that are known go on: {error}")
                self._tell(self._watch.look(state))
                self._tell_lacks(state)
                self._save(state.taken_ms)
            return self._taken_events()

    def events(self) -> list[Occurred]:
        """Events that no sample has returned yet."""
        with self._lock:
            return self._taken_events()

    def _taken_events(self) -> list[Occurred]:
        events, self._events = self._events, []
        return events

    def _follow_others(self) -> None:
        """Load rules that another process changed, and findings if that process judges."""
        if not self._store.was_changed():
            return
        rules = self._store.rules()
        if tuple(rules) != self._watch.rules:
            self._revision += 1
            self._judge_by(rules)
        if not self._judges:
            self._restore()

    def _judge_by(self, rules: list[AlertRule]) -> None:
        """Judge by other rules; the judging process reports the end of alerts that are no longer watched."""
        before = {rule.rule_id: rule.series for rule in self._watch.rules}
        self._lacks.forget(rule.rule_id for rule in rules if before.get(rule.rule_id) != rule.series)
        over = self._watch.set_rules(rules)
        if self._judges:
            self._tell(over)
            self._save(self._watch.looked_ms)
        else:
            self._watch.touched.clear()
            self._lacks.touched.clear()

    def _tell_lacks(self, state: ClusterState) -> None:
        """Add an event for the rules that cannot be judged for one cause; it is not posted."""
        rules = self._watch.rules
        for text in lack_texts(self._lacks.look(rules, self._unjudged.look(rules, state).lacks, state.taken_ms)):
            logger.info("alert: %s", text)
            self._events.append(Occurred(UNJUDGED_EVENT, text, state.taken_ms))

    def _tell(self, changes: list[AlertChange]) -> None:
        for number, change in enumerate(changes):
            text = change_text(change)
            if number < LOGGED_MAX:
                logger.warning("alert: %s", text)
            self._unsaved.append(change)
            self._events.append(Occurred("alert", text, change.at_ms, change.subject))
        if len(changes) > LOGGED_MAX:
            logger.warning("alert: and %d more, which are in the history of events", len(changes) - LOGGED_MAX)

    def _save(self, looked_ms: int) -> None:
        """Store the changes since the last save; after a failure they are stored with the next sample."""
        touched, lacking = self._watch.touched, self._lacks.touched
        beats = self._watch.is_pending and looked_ms - self._saved_ms >= BEAT_MS
        if not (touched or lacking or self._unsaved or beats):
            return
        findings = {key: self._watch.finding(*key) for key in touched}
        posts = False
        try:
            posts = bool(self._unsaved) and bool(self._store.value("webhook"))
            lacks = {rule_id: self._lacks.kept(rule_id) for rule_id in lacking}
            self._store.save(findings, self._unsaved, looked_ms, webhook=posts, lacks=lacks)
        except sqlite3.Error as error:
            self._tell_fault(f"what the alert rules found cannot be written now: {error}")
            return
        self._told_fault = ""
        self._saved_ms = looked_ms
        touched.clear()
        lacking.clear()
        self._unsaved.clear()
        if posts:
            self._poster.wake()

    def _tell_fault(self, text: str) -> None:
        if text != self._told_fault:
            self._told_fault = text
            logger.warning("%s", text)

    # ---- questions and commands ----------------------------------------------------------------------------------------

    def answer(self, query: AlertQuery) -> AlertPage | Done:
        """Answer a question or execute a command; may block on the disk.

        Raises:
            UsageError: The question or command is invalid.
            StoreError: The database cannot be read or written.
        """
        with self._lock:
            if self._is_closed:
                raise StoreError("the alerts are closed; try again in a moment", path=str(self._store.path))
            try:
                self._follow_others()
                if isinstance(query, ReadAlerts):
                    return self._page(query)
                self._carry_out_once(query)
            except sqlite3.Error as error:
                path = self._store.path
                raise StoreError(f"the alerts {path} cannot be read or written: {error}", path=str(path)) from error
            return Done()

    def _carry_out_once(self, command: AlertCommand) -> None:
        """Execute a command on the newest rules; try again after another process changed them."""
        while True:
            try:
                return self._carry_out(command)
            except OvertakenError:
                self._follow_others()

    def _carry_out(self, command: AlertCommand) -> None:
        match command:
            case PutAlertRules(text):
                self._put(rules_from_json(text))
            case RemoveAlertRule(rule_id):
                rule = self._rule(rule_id)
                self._set([one for one in self._watch.rules if one is not rule])
                self._note("removed", rule)
            case MuteAlert(rule_id, until_ms, subject):
                self._mute(self._rule(rule_id), subject, until_ms)
            case SetAlertWebhook(url):
                if url.strip():
                    check_url(url)
                self._store.set_values(webhook=url.strip())
                self._events.append(Occurred("action", "alert.webhook: " + (url.strip() or "—"), self._clock()))
            case TryAlertWebhook():
                self._try_webhook()
            case MarkAlertsTold(change_id):
                self._store.set_values(told=str(max(change_id, self._told)))

    def _rule(self, rule_id: str) -> AlertRule:
        for rule in self._watch.rules:
            if rule.rule_id == rule_id:
                return rule
        raise UsageError("there is no such alert rule any more; another window may have deleted it", rule=rule_id)

    def _put(self, rules: list[AlertRule]) -> None:
        known = {rule.rule_id: rule for rule in self._watch.rules}
        for rule in rules:
            before = known.get(rule.rule_id, rule)
            known[rule.rule_id] = replace(rule, muted_until_ms=before.muted_until_ms, mutes=before.mutes)
        if len(known) > RULES_MAX:
            raise UsageError(f"there are {len(known)} rules, more than {RULES_MAX}; delete some first")
        added = known.keys() - {rule.rule_id for rule in self._watch.rules}
        self._set(list(known.values()))
        for rule in rules:
            self._note("added" if rule.rule_id in added else "changed", rule)

    def _mute(self, rule: AlertRule, subject: str, until_ms: int) -> None:
        muted = rule.muted(subject, until_ms, self._clock())
        self._set([muted if one is rule else one for one in self._watch.rules])
        minutes = round((until_ms - self._clock()) / 60_000)
        until = "until it is unmuted" if until_ms == FOREVER else f"for {minutes:,} min"
        self._note("muted" if until_ms else "unmuted", rule, subject, until if until_ms else "")

    def _set(self, rules: list[AlertRule]) -> None:
        self._store.set_rules(rules)
        self._revision += 1
        self._judge_by(rules)

    def _note(self, what: str, rule: AlertRule, subject: str = "", detail: str = "") -> None:
        name = f"{rule.name}: {subject}" if subject else rule.name
        limit = f"{rule.series} {'>' if rule.above else '<'} {number_text(rule.threshold)} for {rule.for_ms / 1_000:g} s"
        if not rule.enabled:
            limit += ", off"
        detail = detail or (limit if what in ("added", "changed") else "")
        text = f"alert.{what}: {name}" + (f" ({detail})" if detail else "")
        self._events.append(Occurred("action", text, self._clock(), subject))

    # ---- what a window sees --------------------------------------------------------------------------------------------

    @property
    def _told(self) -> int:
        return int(self._store.value("told", "0"))

    def _page(self, query: ReadAlerts) -> AlertPage:
        found = [(rule.rule_id, one) for rule in self._watch.rules for one in self._watch.findings(rule.rule_id)]
        found.sort(key=lambda one: not one[1].is_firing)
        shown = found[:FOUND_MAX]
        resolved = self._store.resolved_ms()
        after = query.after if query.after >= 0 else self._told
        total, changes = self._store.changes(after, CHANGES_SHOWN)
        lacks = self._lacks.standing(self._watch.looked_ms)
        return AlertPage(
            revision=self._revision,
            rules="" if query.revision == self._revision else rules_to_json(self._watch.rules),
            webhook=self._store.value("webhook"),
            looked_ms=self._watch.looked_ms,
            found_rule=[rule_id for rule_id, _one in shown],
            found_subject=[one.subject for _rule_id, one in shown],
            found_value=[one.value for _rule_id, one in shown],
            found_since_ms=[one.since_ms for _rule_id, one in shown],
            found_firing=[one.is_firing for _rule_id, one in shown],
            found_left_out=len(found) - len(shown),
            resolved_rule=list(resolved),
            resolved_ms=list(resolved.values()),
            change_id=[one.change_id for one in changes],
            change_at_ms=[one.change.at_ms for one in changes],
            change_rule=[rules_to_json([one.change.rule]) for one in changes],
            change_subject=[one.change.subject for one in changes],
            change_value=[one.change.value for one in changes],
            change_firing=[one.change.is_firing for one in changes],
            changes_left_out=total - len(changes),
            posts=self._posts,
            post_status=self._last_post.status,
            post_reason=self._last_post.reason,
            post_took_ms=self._last_post.took_ms,
            post_given_up=self._given_up,
            judged_here=self._judges,
            unjudged_rule=list(lacks),
            unjudged_cause=[one.lack.cause.value for one in lacks.values()],
            unjudged_parts=[list(one.lack.parts) for one in lacks.values()],
            unjudged_since_ms=[one.since_ms for one in lacks.values()],
        )

    # ---- web hook ------------------------------------------------------------------------------------------------------

    def _try_webhook(self) -> None:
        url = self._store.value("webhook")
        if not url:
            raise UsageError("there is no address of a web hook; give one first")
        rule = AlertRule("test", "Test of the web hook", "totals.lag_messages", True, 0, 0, Severity.NOTICE)
        self._tries.append(PostOrder(url, payload(AlertChange(rule, "", 1.0, True, self._clock()), cluster=self._cluster)))
        self._poster.wake()

    def _next_post(self) -> PostOrder | None:
        with self._lock:
            if self._is_closed:
                return None
            if self._tries:
                return self._tries.popleft()
            if not self._judges:
                return None
            kept = self._store.next_post()
            url = self._store.value("webhook")
            if kept is None:
                return None
            if not url:
                self._store.give_up_posts(self._clock() + 1)
                return None
            return PostOrder(url, payload(kept.change, cluster=self._cluster), kept.change_id)

    def _post_ended(self, order: PostOrder, result: WebhookResult, is_last: bool) -> None:
        with self._lock:
            self._posts += 1
            self._last_post, self._given_up = result, is_last and not result.succeeded
            if self._given_up:
                logger.warning("the web hook was not told: %s %s", result.status, result.reason)
            if is_last and order.change_id >= 0 and not self._is_closed:
                self._store.end_post(order.change_id, Post.SENT if result.succeeded else Post.GIVEN_UP)


_SHIPPED_IDS = json.dumps([rule.rule_id for rule in DEFAULT_RULES])
