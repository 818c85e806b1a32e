"""Changes of broker settings: differences from the brokers' values, their undo, and their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gui.views.broker_settings.detail import value_text
from gui.words.text import UNKNOWN, tr
from monitoring.admin.settings import Setting

Values = Mapping[str, Mapping[str, str]]
"""Broker → key → value; no name: every broker."""


def values_text(setting: Setting) -> str:
    """The value with its meaning; where brokers differ, all values."""
    return " ≠ ".join(value_text(setting.key, value) or UNKNOWN for value in setting.values)


def diff_text(key: str, now: str, after: str) -> str:
    """A change of a setting; ``now`` is a text."""
    return f"{now} → {value_text(key, after)}"


def changes_of(settings: Mapping[str, Setting], wanted: Values) -> Values:
    """The wanted values that brokers do not have yet."""
    changed = {
        broker: {
            key: value
            for key, value in values.items()
            if key not in settings or ({settings[key].at(broker)} if broker else {*settings[key].values}) != {value}
        }
        for broker, values in wanted.items()
    }
    return {broker: values for broker, values in changed.items() if values}


def values_before(settings: Mapping[str, Setting], keys: Sequence[str]) -> Values:
    """The present values of some settings, by broker where brokers differ."""
    before: dict[str, dict[str, str]] = {}
    for key in keys:
        setting = settings.get(key)
        if setting is not None:
            for broker, value in setting.by_broker or (("", setting.value),):
                before.setdefault(broker, {})[key] = value
    return before


def change_facts(settings: Mapping[str, Setting], changed: Values) -> list[tuple[str, str]]:
    """Each change as its name, and the values before and after."""
    facts = []
    for broker, values in changed.items():
        for key, value in values.items():
            setting = settings.get(key)
            of_broker = value_text(key, setting.at(broker)) if setting is not None and broker else ""
            now = of_broker or (UNKNOWN if setting is None else values_text(setting))
            facts.append((f"{key} ({broker})" if broker else key, diff_text(key, now, value)))
    return facts


def warnings_of(changed: Mapping[str, str]) -> list[str]:
    """Consequences of a change that are easily overlooked."""
    found = []
    if changed.get("brokerPermission", "6") != "6":
        found.append(tr("Clients that may not read or write any more fail until the permission is given back."))
    if "fileReservedTime" in changed or "diskMaxUsedSpaceRatio" in changed or "diskSpaceCleanForciblyRatio" in changed:
        found.append(tr("Files that are past their new time are deleted with the next cleaning, with their messages."))
    if changed.get("startAcceptSendRequestTimeStamp", "0") != "0":
        found.append(tr("Sends are refused until that moment."))
    return found
