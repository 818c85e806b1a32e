"""What the brokers of a cluster cannot do, and why: from their versions, settings and topics. Pure.

A broker that reports no version or no settings counts as able, and refuses by itself.

Source: docs/spec/remoting.md §1.9 (versions), §2.5.8; docs/spec/broker.md §3.6 (timers), §9.2 (SQL92), §16 (access control).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from broker_core.cluster.link import V5
from broker_core.protocol.admin.values import whole_number
from broker_core.protocol.codes import version_name
from broker_core.protocol.names import TRACE_TOPIC
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.refusals import OUTSIDE

_BROKERS_NAMED = 3


@dataclass(frozen=True, slots=True)
class BrokerNature:
    """What a broker reports of itself that decides what it can do."""

    runtime: Mapping[str, str]
    config: Mapping[str, str]
    """Empty while it is not known."""
    topics: Collection[str]

    @property
    def version(self) -> int | None:
        """The ordinal of its version; None while it is unknown."""
        return whole_number(self.runtime.get("brokerVersion"))

    @property
    def version_text(self) -> str:
        """Its version as RocketMQ prints it; empty while it is unknown."""
        return "" if self.version is None else version_name(self.version)

    def is_off(self, *settings: str) -> bool:
        """Whether its settings are known and none of these is on."""
        return bool(self.config) and not any(self.config.get(name) == "true" for name in settings)


def broker_cannot(name: str, nature: BrokerNature) -> dict[str, str]:
    """`Ability` → why a broker cannot."""
    found: dict[Ability, str] = {}
    version, told = nature.version, f"broker {name} ({nature.version_text})"
    if version is not None and version < V5:
        found[Ability.TIMERS] = f"{told} has no timers, only delay levels: they need 5.0 or later"
        found[Ability.POP] = f"{told} knows no POP: it needs 5.0 or later"
        found[Ability.RESET_ONE_QUEUE] = f"{told} would reset the whole topic: one queue alone needs 5.0 or later"
    elif nature.is_off("timerWheelEnable"):
        found[Ability.TIMERS] = f"timers are off at broker {name}: timerWheelEnable is false"
        found[Ability.POP] = f"POP needs the timers of broker {name}: timerWheelEnable is false"
    if nature.is_off("enablePropertyFilter"):
        found[Ability.SQL_FILTERS] = f"broker {name} takes no SQL filters: enablePropertyFilter is off"
    if nature.is_off("orbitAtomicTransactions"):
        found[Ability.ATOMIC_TRANSACTIONS] = f"broker {name} has no atomic transactions: only Orbit's own broker can have them"
    trace_topic = nature.config.get("msgTraceTopicName") or TRACE_TOPIC
    if nature.is_off("traceTopicEnable") and trace_topic not in nature.topics:
        found[Ability.TRACE] = f"broker {name} has no topic {trace_topic}: traceTopicEnable is off"
    if nature.is_off("aclEnable", "authenticationEnabled", "authorizationEnabled"):
        found[Ability.ACCESS_CONTROL] = f"access control of broker {name} is off: it lets everybody in"
    return {ability.value: reason for ability, reason in found.items()}


def cluster_cannot(brokers: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """`Ability` → why a cluster cannot: a reason of any broker counts, and names that broker."""
    reasons: dict[str, list[str]] = {ability.value: [reason] for ability, reason in OUTSIDE.items()}
    for cannot in brokers:
        for ability, reason in cannot.items():
            reasons.setdefault(ability, []).append(reason)
    return {ability: _together(told) for ability, told in reasons.items()}


def _together(reasons: list[str]) -> str:
    more = len(reasons) - _BROKERS_NAMED
    return "; ".join([*reasons[:_BROKERS_NAMED], *([f"more brokers: {more:,}"] if more > 0 else [])])
