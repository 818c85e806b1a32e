"""Brokers of an attached cluster as rows: address, faults and missing abilities. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from broker_core.worker.questions.abilities import Ability
from monitoring.state import ClusterState

BROKER_ABILITIES = {
    Ability.TIMERS: "Timers",
    Ability.POP: "POP",
    Ability.SQL_FILTERS: "SQL filters",
    Ability.RESET_ONE_QUEUE: "Reset of one queue",
    Ability.TRACE: "Trace topic",
    Ability.ACCESS_CONTROL: "Access control",
    Ability.ATOMIC_TRANSACTIONS: "Atomic transactions",
}
"""Abilities that differ between brokers, with their English names."""


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """One broker.

    Attributes:
        name: As registered.
        address: Of its master, or of a slave where there is no master now.
        version: As RocketMQ prints it; empty while it is not known.
        slaves: Registered now.
        slave_lag_bytes: Lag of the slowest slave; -1 unknown.
        fault: Why it does not answer properly, and since when; empty when it does.
        cannot: `Ability` → why not.
    """

    name: str
    address: str
    version: str
    slaves: int
    slave_lag_bytes: int
    fault: str
    cannot: Mapping[str, str]

    @property
    def can(self) -> list[Ability]:
        """Abilities that it has, or is not known to lack."""
        return [ability for ability in BROKER_ABILITIES if ability not in self.cannot]


def broker_rows(state: ClusterState) -> list[BrokerRow]:
    """The brokers of a state; none for an embedded one."""
    catalog = state.catalog
    columns = zip(
        catalog.brokers,
        catalog.broker_address,
        catalog.broker_version,
        catalog.broker_slaves,
        catalog.broker_cannot,
        strict=True,
    )
    lags = dict(zip(catalog.brokers, state.slave_lag_bytes, strict=False))
    return [
        BrokerRow(name, address, version, slaves, lags.get(name, -1), state.faults.get(name, ""), cannot)
        for name, address, version, slaves, cannot in columns
    ]
