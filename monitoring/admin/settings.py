"""The broker's settings: read, compared with their defaults, changed as ``key=value`` lines. Pure.

Source: spec remoting §2.5.2, broker §16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from broker_core.api import (
    AskBroker,
    BrokerAnswer,
    CodecError,
    RequestCode,
    SettingKind,
    SettingSpec,
    parse_properties,
    setting_specs,
)

HOURS_OF_DAY = 24
PATH_KEYS = frozenset(
    {"storePathRootDir", "storePathCommitLog", "readOnlyCommitLogStorePaths", "aclFile", "tls.server.certPath",
     "tls.server.keyPath", "tls.server.trustCertPath"}
)  # fmt: skip
"""Where things are has no default that would mean anything."""


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
    """

    key: str
    value: str
    spec: SettingSpec | None

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
        return bool(self.default) and self.value != self.default


def settings_request() -> AskBroker:
    """Asks for all settings."""
    return AskBroker(RequestCode.GET_BROKER_CONFIG)


def settings_of(answer: BrokerAnswer) -> list[Setting]:
    """Read the settings, by key.

    Raises:
        CodecError: The answer is no text.
    """
    try:
        values = parse_properties(answer.body.decode())
    except UnicodeDecodeError as error:
        raise CodecError(f"the broker's settings are no text: {error}") from error
    specs = setting_specs()
    return [Setting(key, value, specs.get(key)) for key, value in sorted(values.items(), key=lambda pair: pair[0].casefold())]


def change_request(values: Mapping[str, str]) -> AskBroker:
    """Asks the broker to change settings, all of them or none."""
    body = "".join(f"{key}={value}\n" for key, value in values.items()).encode()
    return AskBroker(RequestCode.UPDATE_BROKER_CONFIG, {}, body)


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
    if setting.key == "deleteWhen" and not all(hour.isdecimal() and int(hour) < HOURS_OF_DAY for hour in hours):
        return Fault.NO_HOURS
    return None


def _number_fault(spec: SettingSpec, text: str) -> Fault | None:
    if not (text.isascii() and text.isdecimal()):
        return Fault.NO_NUMBER
    low, high = spec.low, spec.high
    inside = (low is None or int(text) >= low) and (high is None or int(text) <= high)
    return None if inside else Fault.OUT_OF_BOUNDS
