"""The broker's settings: read, compared with their defaults, changed as ``key=value`` lines; units of their numbers. Pure.

Source: docs/spec/remoting.md §2.5.2, docs/spec/broker.md §16; units from RocketMQ's `BrokerConfig` and `MessageStoreConfig`,
for a setting that Orbit does not know from the end of its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from broker_core.api import RequestCode, SettingKind, SettingSpec, read_broker_settings, setting_specs
from broker_core.outside import DIGITS_MAX, whole_of
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer

HOURS_OF_DAY = 24
PATH_KEYS = frozenset(
    {"storePathRootDir", "storePathCommitLog", "readOnlyCommitLogStorePaths", "aclFile", "tls.server.certPath",
     "tls.server.keyPath", "tls.server.trustCertPath"}
)  # fmt: skip
"""Paths have no meaningful default."""
OWN_KEYS = PATH_KEYS | {
    "brokerName", "brokerId", "brokerIP1", "brokerIP2", "listenPort", "haListenPort", "fastListenPort", "rocketmqHome",
    "haMasterAddress", "configBlackList", "storePathConsumeQueue", "storePathIndex", "storeCheckpoint", "abortFile",
    "storePathDLedgerCommitLog", "storePathEpochFile", "storePathBrokerIdentity", "dLegerSelfId", "dLegerPeers",
    "configStorePath", "storePathCacheFile", "storePathColdDataFile",
}  # fmt: skip
"""Settings whose values differ between brokers by nature."""


class SettingUnit(Enum):
    BYTES = "bytes"
    MILLISECONDS = "ms"
    SECONDS = "s"
    HOURS = "h"
    PERCENT = "%"
    PAGES = "pages"
    """Of 4 KiB, as commit log and consume queue are flushed."""


_KNOWN = {
    "maxMessageSize": SettingUnit.BYTES,
    "consumerFallbehindThreshold": SettingUnit.BYTES,
    "transactionOpMsgMaxSize": SettingUnit.BYTES,
    "popCkStayBufferTime": SettingUnit.MILLISECONDS,
    "fileReservedTime": SettingUnit.HOURS,
    "popFromRetryProbability": SettingUnit.PERCENT,
}
_BY_NAME = (
    (re.compile(r"mappedFileSize|Bytes"), SettingUnit.BYTES),
    (re.compile(r"Interval|Mill[is]|Ms$|Period$|Time[Oo]ut$"), SettingUnit.MILLISECONDS),
    (re.compile(r"Sec$|Seconds$"), SettingUnit.SECONDS),
    (re.compile(r"Ratio$"), SettingUnit.PERCENT),
    (re.compile(r"LeastPages$"), SettingUnit.PAGES),
)


def setting_unit(key: str) -> SettingUnit | None:
    """Unit of a setting; None for a plain count or no number."""
    if key in _KNOWN:
        return _KNOWN[key]
    return next((unit for pattern, unit in _BY_NAME if pattern.search(key)), None)


class Fault(Enum):
    NO_NUMBER = "no number"
    OUT_OF_BOUNDS = "out of bounds"
    NO_SWITCH = "no switch"
    NO_HOURS = "no hours"
    LINE_BREAK = "line break"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a broker.

    Attributes:
        key: As in ``broker.conf``.
        value: As the broker reports it.
        spec: None for a setting that Orbit does not know or cannot change.
        by_broker: Broker and value where brokers differ, else empty; ``value`` is that of the first.
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
        """Empty if no default is meaningful."""
        return "" if self.spec is None or self.key in PATH_KEYS else self.spec.default

    @property
    def differs(self) -> bool:
        return bool(self.default) and any(value != self.default for value in self.values)

    @property
    def values(self) -> tuple[str, ...]:
        """The distinct values of all brokers, that of the first in front."""
        return tuple(dict.fromkeys(value for _broker, value in self.by_broker)) or (self.value,)

    @property
    def is_apart(self) -> bool:
        """Whether brokers differ in a setting that should be equal."""
        return bool(self.by_broker) and self.key not in OWN_KEYS

    def at(self, broker: str) -> str:
        """The value of a broker; that of the first if brokers agree or the broker is unknown."""
        return dict(self.by_broker).get(broker, self.value)


def settings_request() -> AskBroker:
    return AskBroker(RequestCode.GET_BROKER_CONFIG)


def settings_of(answer: BrokerAnswer) -> list[Setting]:
    """The settings in an answer, sorted by key; raises `CodecError` if it is no text."""
    tables = {name: read_broker_settings(body) for name, body in (answer.bodies or {"": answer.body}).items()}
    specs = setting_specs()
    keys = sorted({key for table in tables.values() for key in table}, key=str.casefold)
    return [_setting(key, {name: table.get(key, "") for name, table in tables.items()}, specs.get(key)) for key in keys]


def _setting(key: str, by_broker: Mapping[str, str], spec: SettingSpec | None) -> Setting:
    first = next(iter(by_broker.values()))
    are_alike = all(value == first for value in by_broker.values())
    return Setting(key, first, spec, () if are_alike else tuple(by_broker.items()))


def change_request(values: Mapping[str, str], broker: str = "") -> AskBroker:
    """Request that changes settings, all or none of them; without a broker's name every broker of the cluster."""
    body = "".join(f"{key}={value}\n" for key, value in values.items()).encode()
    return AskBroker(RequestCode.UPDATE_BROKER_CONFIG, {}, body, broker_name=broker)


def fault_of(setting: Setting, text: str) -> Fault | None:
    """The reason why a text is no value of a setting, or None. The broker makes the final decision."""
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
    digits = text.removeprefix("-") if spec.low is not None and spec.low < 0 else text
    if not (digits.isascii() and digits.isdecimal()):
        return Fault.NO_NUMBER
    if len(digits) > DIGITS_MAX:
        return Fault.OUT_OF_BOUNDS
    low, high = spec.low, spec.high
    inside = (low is None or int(text) >= low) and (high is None or int(text) <= high)
    return None if inside else Fault.OUT_OF_BOUNDS
