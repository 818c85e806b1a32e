"""Names and texts of events in the language of the window."""

from __future__ import annotations

import re

from broker_core.api import names as reserved
from gui.theme.tokens import State
from gui.words.amounts import told_text
from gui.words.broker_words import broker_text
from gui.words.text import KnownTexts, tr
from monitoring.admin.events import EventGroup, EventRow
from monitoring.missing_figures import CAUSE_TEXTS

GROUP_NAMES = {
    EventGroup.REBALANCE: "Rebalance",
    EventGroup.RESTART: "Broker",
    EventGroup.RESET: "Reset",
    EventGroup.TOPIC: "Topic",
    EventGroup.DISK: "Disk",
    EventGroup.ALERT: "Alert",
    EventGroup.ACTION: "Action",
    EventGroup.NOTE: "Note",
    EventGroup.OTHER: "Other",
}
GROUP_STATES = {
    EventGroup.REBALANCE: State.CHECKING,
    EventGroup.RESTART: State.PENDING,
    EventGroup.RESET: State.RETRY,
    EventGroup.TOPIC: State.COMMITTED,
    EventGroup.DISK: State.CRITICAL,
    EventGroup.ALERT: State.CRITICAL,
    EventGroup.ACTION: State.DELAYED,
    EventGroup.NOTE: State.IDLE,
    EventGroup.OTHER: State.IDLE,
}
ACTION_NAMES = {
    "console.update_consumer_offset": "Offset set",
    "console.update_and_create_topic": "Topic settings written",
    "console.delete_topic_in_broker": "Topic deleted",
    "console.delete_topic_in_namesrv": "Topic deleted at the name server",
    "console.update_broker_config": "Broker settings changed",
    "console.update_and_create_subscriptiongroup": "Group settings written",
    "console.delete_subscriptiongroup": "Group deleted",
    "console.invoke_broker_to_reset_offset": "Offsets reset",
    "console.clone_group_offset": "Offsets copied from another group",
    "console.consume_message_directly": "Message handed to a client",
    "console.put_kv_config": "Name server setting written",
    "console.delete_kv_config": "Name server setting deleted",
    "console.wipe_write_perm_of_broker": "Writes stopped at the name server",
    "console.add_write_perm_of_broker": "Writes allowed at the name server",
    "console.clean_expired_consumequeue": "Consume queues cleaned",
    "console.clean_unused_topic": "Unused topics cleaned",
    "console.delete_expired_commitlog": "Expired files deleted",
    "console.set_message_request_mode": "Way of consuming changed",
    "console.update_and_create_acl_config": "Account written",
    "console.delete_acl_config": "Account deleted",
    "console.update_global_white_addrs_config": "Trusted addresses changed",
    "alert.added": "Alert rule added",
    "alert.changed": "Alert rule changed",
    "alert.removed": "Alert rule deleted",
    "alert.muted": "Alert muted",
    "alert.unmuted": "Alert unmuted",
    "alert.webhook": "Web hook changed",
    "connection.close": "Connection closed",
    "atomic.abort": "Atomic transaction aborted",
    "transaction.commit": "Transaction committed",
    "transaction.rollback": "Transaction rolled back",
    "transaction.check": "Transaction checked",
    "transaction.resume": "Transaction resumed",
    "delay.deliver": "Delayed messages delivered",
    "delay.cancel": "Delayed messages cancelled",
    "delay.move": "Delayed messages moved",
    "timer.deliver": "Timers delivered",
    "timer.cancel": "Timers cancelled",
    "timer.move": "Timers moved",
}
FAILED = ".failed"
_OF_A_RULE = "alert."
_AFTER_RULE_NAME = re.compile(r"(?=: | \()")
"""Subject or detail, which `monitoring.alert_keeper` writes after the name of a rule."""
_LEVEL = re.compile(r": level (\d+)")
_ALERTS = KnownTexts(
    "{count} rules cannot be judged: {cause} ({names})",
    "{count} rules are judged again ({names})",
    "{alert} cannot be judged: {cause}",
    "{alert} is judged again",
    "{alert}: {value}, above {limit}",
    "{alert}: {value}, below {limit}",
)
_OVER = re.compile(r"(?P<alert>.+) is over, now (?P<value>.+)", re.DOTALL)
_CAUSES = KnownTexts(*CAUSE_TEXTS.values())


def text_of(row: EventRow) -> str:
    """The event in a sentence."""
    if row.group is EventGroup.ACTION:
        return _action_text(row.text)
    over = _OVER.fullmatch(row.text) if row.group is EventGroup.ALERT else None
    if over is not None:
        return tr("No longer: {alert}; now {value}", alert=_alert_name(over["alert"]), value=told_text(over["value"]))
    if row.group is EventGroup.ALERT:
        named = {"names": _rule_names, "alert": _alert_name, "cause": _CAUSES.text, "value": _value_text, "limit": told_text}
        return _ALERTS.text(row.text, named=named)
    if row.kind == "writes_refused":
        return tr("The broker refuses messages: {text}", text=broker_text(row.text))
    return broker_text(row.text)


def is_failure(row: EventRow) -> bool:
    return row.group is EventGroup.ACTION and row.text.partition(":")[0].endswith(FAILED)


def _value_text(amount: str) -> str:
    """A value after its subject: a delay level in words, for a dead letter topic its group."""
    level = re.match(r"level (\d+)(?=: )", amount)
    if level is not None:
        return tr("level {level}", level=level[1]) + told_text(amount)[level.end() :]
    return told_text(amount.removeprefix(reserved.DLQ_PREFIX))


def _alert_name(name: str) -> str:
    """A rule's name followed by its subject; names of shipped rules are translated."""
    rule, *rest = _AFTER_RULE_NAME.split(name, maxsplit=1)
    level = _LEVEL.fullmatch("".join(rest))
    return tr(rule) + (
        f": {tr('level {level}', level=level[1])}" if level else "".join(rest).replace(f": {reserved.DLQ_PREFIX}", ": ")
    )


def _rule_names(names: str) -> str:
    return ", ".join(map(_alert_name, names.split(", ")))


def _action_text(text: str) -> str:
    action, colon, rest = text.partition(": ")
    known = ACTION_NAMES.get(action.removesuffix(FAILED))
    if known is None or not colon:
        return text
    name = tr(known)
    rest = _alert_name(rest) if action.startswith(_OF_A_RULE) else rest
    return f"{tr('Not done: {action}', action=name) if action.endswith(FAILED) else name}: {rest}"
