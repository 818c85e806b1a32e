"""The settings of a group, as `gui.views.staged_settings.StagedSettings` edits them, and its deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtWidgets import QCheckBox, QWidget

from broker_core.api import GroupConfig, read_group_settings
from gui.models.consumers import GroupRow, topics_of
from gui.theme.manager import ThemeManager
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.views.staged_settings import SettingsSubject
from gui.widgets.staged_form import Change, FormField, Value
from gui.words.text import count_text, tr
from monitoring.admin.groups import RETRY_QUEUES_MAX, RETRY_TIMES_MAX, ask_settings, change_settings, delete_request
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

ON, OFF = True, False
FIELDS = (
    FormField("consume_enabled", "Consumption allowed", ON, "Off: pulls of the group are refused.", wire_name="consumeEnable"),
    FormField("broadcast_enabled", "Broadcasting allowed", ON, "Off: clients that broadcast are refused.",
              wire_name="consumeBroadcastEnable"),
    FormField("consume_from_min", "May start at the earliest", ON, "Whether a new client may begin with the oldest message.",
              wire_name="consumeFromMinEnable"),
    FormField("orderly", "Orderly for proxies", OFF, "5.x: its proxies deliver to the group in order.",
              wire_name="consumeMessageOrderly"),
    FormField("retry_times_max", "Retries", 16, "Deliveries of a failed message before it becomes a dead letter.",
              high=RETRY_TIMES_MAX, wire_name="retryMaxTimes"),
    FormField("retry_queues", "Retry queues", 1, "Queues of the group's retry topic.", high=RETRY_QUEUES_MAX,
              wire_name="retryQueueNums"),
    FormField("notify_members", "Members are notified of changes", ON, "Off: they notice who came and went after 20 s.",
              wire_name="notifyConsumerIdsChangedEnable"),
    FormField("broker_id", "Reads from broker", 0, "Id of the broker that clients pull from; 0 is the master.", high=1_000,
              wire_name="brokerId"),
    FormField("broker_id_when_slow", "Reads from broker when far behind", 1, "Id of the broker that clients are sent to then.",
              high=1_000, wire_name="whichBrokerWhenConsumeSlowly"),
)  # fmt: skip


def _values(settings: GroupConfig) -> Mapping[str, Value]:
    return {field.key: getattr(settings, field.key) for field in FIELDS}


def _changed(settings: GroupConfig, values: Mapping[str, Value]) -> GroupConfig:
    changes: dict[str, Any] = {
        field.key: bool(values[field.key]) if isinstance(field.default, bool) else int(values[field.key]) for field in FIELDS
    }
    return replace(settings, **changes)


def _effects(changes: Sequence[Change]) -> list[str]:
    made = []
    for change in changes:
        key, after = change.field.key, change.after
        if key == "consume_enabled" and not after:
            made.append(tr("All clients of the group stop: their pulls are refused until it is allowed again."))
        elif key == "consume_enabled":
            made.append(tr("Clients of the group go on where they stood."))
        elif key == "retry_times_max" and int(after) < int(change.before):
            made.append(tr("Messages that have failed as often become dead letters at their next failure."))
        elif key == "broadcast_enabled" and not after:
            made.append(tr("Broadcasting clients are refused."))
    return made or [tr("It counts from the next request of each client on.")]


GROUP_SETTINGS: SettingsSubject[GroupConfig] = SettingsSubject(
    title="Change the settings of group {name}",
    fields=FIELDS,
    ask=ask_settings,
    read=read_group_settings,
    values=_values,
    changed=_changed,
    request=lambda _before, after: change_settings(after),
    effects=_effects,
)


def delete_group_dialog(
    source: ClusterSource, theme: ThemeManager, group: GroupRow, state: ClusterState, parent: QWidget
) -> ActionDialog:
    """Ask whether to delete a group; its offsets are deleted too unless the box is cleared."""
    with_offsets = QCheckBox(tr("Remove its offsets too"))
    with_offsets.setChecked(True)
    plan = ActionPlan(
        title=tr("Delete group {group}", group=group.name),
        effects=[
            tr("Its settings are removed. With its offsets gone, a client that comes back begins as a new group does."),
            tr("Its retry and dead letter topics stay."),
        ],
        verb=tr("Delete group"),
        start=lambda: source.ask(delete_request(group.name, with_offsets=with_offsets.isChecked())),
        facts=[
            (tr("Topics"), ", ".join(topics_of(state, group.name)) or tr("none")),
            (tr("Lag"), count_text(group.lag_messages)),
            (tr("Clients online"), count_text(max(0, group.members))),
        ],
        warning="" if group.offline else tr("Its clients are online: the broker creates the group at their next request."),
        typed=group.name,
        is_destructive=True,
        refusal=read_only_reason(source),
    )
    dialog = ActionDialog(plan, theme, parent)
    dialog.extra.addWidget(with_offsets)
    return dialog
