"""What the console needs to know of each setting: default, kind of value, whether it changes while the broker runs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum

from broker_core.config import BrokerConfig, StoreConfig, live_settings, setting_text, setting_value


class SettingKind(Enum):
    SWITCH = "switch"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class SettingSpec:
    """One setting under its RocketMQ key.

    Attributes:
        default: Value of an absent setting, as RocketMQ writes it.
        is_live: Whether it may be changed while the broker runs.
        low, high: Smallest and largest number of a live setting; None for no bound.
    """

    key: str
    kind: SettingKind
    default: str
    is_live: bool
    low: int | None = None
    high: int | None = None


def setting_specs() -> dict[str, SettingSpec]:
    """All settings that are not secret, by key."""
    default, live = BrokerConfig(), live_settings()
    fields = (*dataclasses.fields(BrokerConfig), *dataclasses.fields(StoreConfig))
    keys = [field.metadata["key"] for field in fields if "key" in field.metadata and not field.metadata["secret"]]
    return {key: _spec(key, setting_value(default, key), live.get(key, False)) for key in keys}


def _spec(key: str, default: object, live: bool | tuple[int, int]) -> SettingSpec:
    if isinstance(default, bool):
        kind = SettingKind.SWITCH
    else:
        kind = SettingKind.NUMBER if isinstance(default, int) else SettingKind.TEXT
    low, high = live if isinstance(live, tuple) else (None, None)
    return SettingSpec(key, kind, setting_text(default), bool(live), low, high)
