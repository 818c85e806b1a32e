"""The settings of a topic, as `gui.views.staged_settings.StagedSettings` edits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from broker_core.api import MESSAGE_TYPE, TopicConfig, read_topic_settings
from gui.views.staged_settings import SettingsSubject
from gui.widgets.staged_form import Change, FormField, Value
from gui.words.text import tr
from monitoring.admin.topics import QUEUES_MAX, ask_settings, change_settings

TYPES: tuple[tuple[Value, str], ...] = (
    ("", "not declared"),
    ("NORMAL", "Normal"),
    ("FIFO", "FIFO"),
    ("DELAY", "Delay"),
    ("TRANSACTION", "Transaction"),
    ("MIXED", "Mixed"),
    ("UNSPECIFIED", "Unspecified"),
)
PERMISSIONS: tuple[tuple[Value, str], ...] = (
    (6, "Read and write (6)"),
    (4, "Read only (4)"),
    (2, "Write only (2)"),
    (0, "Nothing (0)"),
)
FIELDS = (
    FormField("write_queues", "Write queues", 8, "Queues that producers send to.", high=QUEUES_MAX, wire_name="writeQueueNums"),
    FormField("read_queues", "Read queues", 8, "Queues that consumers read. Lower it only when what is in them is consumed.",
              high=QUEUES_MAX, wire_name="readQueueNums"),
    FormField("permission", "Permission", 6, "What clients may do with the topic.", PERMISSIONS, wire_name="perm"),
    FormField("order", "Ordered", False,
              "Marks the topic as ordered: its order config is kept at the name server.", wire_name="order"),
    FormField("message_type", "Message type", "", "What 5.x proxies and clients check messages against.", TYPES,
              wire_name=MESSAGE_TYPE),
    FormField("attributes", "Other attributes", "", "key=value, divided by commas", wire_name="attributes"),
)  # fmt: skip


def other_attributes(settings: TopicConfig) -> str:
    """``key=value, key=value`` of the attributes that have no field of their own."""
    others = {key: value for key, value in settings.attributes.items() if key != MESSAGE_TYPE}
    return ", ".join(f"{key}={value}" for key, value in sorted(others.items()))


def settings_values(settings: TopicConfig) -> Mapping[str, Value]:
    """Settings by the keys of `FIELDS`."""
    return {
        "write_queues": settings.write_queues,
        "read_queues": settings.read_queues,
        "permission": settings.permission,
        "order": settings.order,
        "message_type": settings.attributes.get(MESSAGE_TYPE, ""),
        "attributes": other_attributes(settings),
    }


def _changed(settings: TopicConfig, values: Mapping[str, Value]) -> TopicConfig:
    attributes = read_attributes(str(values["attributes"]))
    if values["message_type"]:
        attributes[MESSAGE_TYPE] = str(values["message_type"])
    return replace(
        settings,
        write_queues=int(values["write_queues"]),
        read_queues=int(values["read_queues"]),
        permission=int(values["permission"]),
        order=bool(values["order"]),
        attributes=attributes,
    )


def read_attributes(text: str) -> dict[str, str]:
    """``key=value, key=value`` as a dict.

    Raises:
        ValueError: It is not of this form; the message is in the language of the window.
    """
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not (key and equals and value):
            raise ValueError(tr("“{part}” is no attribute. Write key=value, several divided by commas.", part=part[:60]))
        found[key] = value
    return found


def settings_effects(changes: Sequence[Change]) -> list[str]:
    """What follows from changes, one sentence each."""
    made = []
    for change in changes:
        before, after = change.before, change.after
        match change.field.key:
            case "write_queues" if int(after) < int(before):
                made.append(
                    tr(
                        "Producers stop sending to {count} queues within 30 s; what is in them can still be consumed.",
                        count=int(before) - int(after),
                    )
                )
            case "write_queues":
                made.append(tr("Producers send to {count} more queues within 30 s.", count=int(after) - int(before)))
            case "read_queues" if int(after) < int(before):
                made.append(
                    tr(
                        "Consumers stop reading {count} queues: what is left in them is not consumed any more.",
                        count=int(before) - int(after),
                    )
                )
            case "permission":
                made += [tr("Producers are refused.")] if not int(after) & 2 else []
                made += [tr("Consumers are refused.")] if not int(after) & 4 else []
            case _:
                continue
    return made or [tr("Name servers are notified at once; clients notice within 30 s.")]  # fmt: skip


TOPIC_SETTINGS: SettingsSubject[TopicConfig] = SettingsSubject(
    title="Change the settings of topic {name}",
    fields=FIELDS,
    ask=ask_settings,
    read=read_topic_settings,
    values=settings_values,
    changed=_changed,
    request=change_settings,
    effects=settings_effects,
)
