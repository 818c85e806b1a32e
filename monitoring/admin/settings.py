"""The broker's settings: read, compared with their defaults, changed as ``key=value`` lines. Pure.

Source: docs/spec/remoting.md §2.5.2, docs/spec/broker.md §16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from broker_core.api import RequestCode, SettingKind, SettingSpec, read_broker_settings, setting_specs
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer
from monitoring.outside import DIGITS_MAX, whole_of

HOURS_OF_DAY = 24
PATH_KEYS = frozenset(
    {"storePathRootDir", "storePathCommitLog", "readOnlyCommitLogStorePaths", "aclFile", "tls.server.certPath",
     "tls.server.keyPath", "tls.server.trustCertPath"}
)  # fmt: skip
"""Where things are has no default that would mean anything."""


OWN_KEYS = PATH_KEYS | {
    "brokerName", "brokerId", "brokerIP1", "brokerIP2", "listenPort", "haListenPort", "fastListenPort", "rocketmqHome",
    "haMasterAddress", "configBlackList", "storePathConsumeQueue", "storePathIndex", "storeCheckpoint", "abortFile",
    "storePathDLedgerCommitLog", "storePathEpochFile", "storePathBrokerIdentity", "dLegerSelfId", "dLegerPeers",
    "configStorePath", "storePathCacheFile", "storePathColdDataFile",
}  # fmt: skip
"""Of which each broker has its own anyway."""


class Fault(Enum):
    """Why a value cannot be used."""

    NO_NUMBER = "no number"
    OUT_OF_BOUNDS = "out of bounds"
    NO_SWITCH = "no switch"
    NO_HOURS = "no hours"
    LINE_BREAK = "line break"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as the broker has it.

    Attributes:
        key: As in ``broker.conf``.
        value: As the broker tells it.
        spec: What is known of it; None for one that Orbit does not know, or cannot change.
        by_broker: Each broker and its value, where several brokers have not the same one; ``value`` is that of the first.
    """

    key: str
    value: str
    spec: SettingSpec | None
    by_broker: tuple[tuple[str, str], ...] = ()

    @property
    def is_live(self) -> bool:
        return self.spec is not None and self.spec.is_live

    @property
    def default(self) -> str:
        """Empty where there is none that would mean anything."""
        return "" if self.spec is None or self.key in PATH_KEYS else self.spec.default

    @property
    def differs(self) -> bool:
        """Whether it is not at its default."""
        return bool(self.default) and any(value != self.default for value in self.values)

    @property
    def values(self) -> tuple[str, ...]:
        """The different values that brokers have, that of the first in front."""
        return tuple(dict.fromkeys(value for _broker, value in self.by_broker)) or (self.value,)

    @property
    def is_apart(self) -> bool:
        """Whether brokers differ in it that should not."""
        return bool(self.by_broker) and self.key not in OWN_KEYS

    def at(self, broker: str) -> str:
        """The value of a broker; the first's where brokers agree, or for no broker in particular."""
        return dict(self.by_broker).get(broker, self.value)


def settings_request() -> AskBroker:
    """Asks for all settings."""
    return AskBroker(RequestCode.GET_BROKER_CONFIG)


def settings_of(answer: BrokerAnswer) -> list[Setting]:
    """Read the settings, by key.

    Raises:
        CodecError: The answer is no text.
    """
    tables = {name: read_broker_settings(body) for name, body in (answer.bodies or {"": answer.body}).items()}
    specs = setting_specs()
    keys = sorted({key for table in tables.values() for key in table}, key=str.casefold)
    return [_setting(key, {name: table.get(key, "") for name, table in tables.items()}, specs.get(key)) for key in keys]


def _setting(key: str, by_broker: Mapping[str, str], spec: SettingSpec | None) -> Setting:
    first = next(iter(by_broker.values()))
    are_alike = all(value == first for value in by_broker.values())
    return Setting(key, first, spec, () if are_alike else tuple(by_broker.items()))


def change_request(values: Mapping[str, str], broker: str = "") -> AskBroker:
    """Asks a broker to change settings, all of them or none; every broker of a cluster where none is named."""
    body = "".join(f"{key}={value}\n" for key, value in values.items()).encode()
    return AskBroker(RequestCode.UPDATE_BROKER_CONFIG, {}, body, broker_name=broker)


def fault_of(setting: Setting, text: str) -> Fault | None:
    """Why a text is no value of a setting; None when it is one. The broker itself decides in the end."""
    spec = setting.spec
    if "\n" in text or "\r" in text or "\\" in text:
        return Fault.LINE_BREAK
    if spec is None:
        return None
    if spec.kind is SettingKind.SWITCH:
        return None if text in ("true", "false") else Fault.NO_SWITCH
    if spec.kind is SettingKind.NUMBER:
        return _number_fault(spec, text)
    hours = [entry.strip() for entry in text.split(";")]
    if setting.key == "deleteWhen" and not all(whole_of(hour) in range(HOURS_OF_DAY) for hour in hours):
        return Fault.NO_HOURS
    return None


def _number_fault(spec: SettingSpec, text: str) -> Fault | None:
    if not (text.isascii() and text.isdecimal()):
        return Fault.NO_NUMBER
    if len(text) > DIGITS_MAX:
        return Fault.OUT_OF_BOUNDS
    low, high = spec.low, spec.high
    inside = (low is None or int(text) >= low) and (high is None or int(text) <= high)
    return None if inside else Fault.OUT_OF_BOUNDS
