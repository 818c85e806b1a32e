"""The list of connections in the settings: the shown cluster first, then all other stored ones."""

from __future__ import annotations

from dataclasses import dataclass

from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster
from gui.models.table import CellKind, Column
from gui.operations.clusters import Clusters
from gui.theme.tokens import State
from gui.words.text import UNKNOWN, tr
from monitoring.reach import ClusterReach
from monitoring.sources.base import EMBEDDED_NAME, ClusterSource, SourceStatus

SHOWN = "shown"
"""Key of the shown cluster's row."""
STATES = {
    SourceStatus.STARTING: ("Starting", State.PENDING),
    SourceStatus.LOST: ("Lost", State.CRITICAL),
    SourceStatus.STOPPED: ("Stopped", State.IDLE),
}
"""English word and colour of an absent cluster."""
REACHES = {
    ClusterReach.ALL: ("Running", State.HEALTHY),
    ClusterReach.PART: ("In part", State.WARNING),
    ClusterReach.NOTHING: ("No answer", State.CRITICAL),
}
"""English word and colour of a present cluster."""


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """A known cluster.

    Attributes:
        key: `SHOWN`, or the place of the cluster.
        name: Of the cluster.
        address: Name servers, or the folder of a store.
        word: English; its status.
        state: Colour of that word.
        cluster: As stored; None for a shown cluster that is not stored.
    """

    key: str
    name: str
    address: str
    word: str
    state: State
    cluster: Cluster | None

    @property
    def is_shown(self) -> bool:
        return self.key == SHOWN

    @property
    def is_attached(self) -> bool:
        return self.cluster is not None and self.cluster.kind == ATTACHED


def connection_columns() -> list[Column[ConnectionRow]]:
    return [
        Column("name", "Connection", lambda one: one.name, kind=CellKind.STRONG, width=110,
               tip=lambda one: f"{one.name}\n{one.address}"),
        Column("address", "Address", lambda one: one.address, kind=CellKind.MONO, dim=True, gives_way=1),
        Column("state", "State", lambda one: tr(one.word), kind=CellKind.CHIP, state=lambda one: one.state, width=96),
    ]  # fmt: skip


def connection_rows(source: ClusterSource, clusters: Clusters) -> list[ConnectionRow]:
    """The shown cluster, and the other stored ones."""
    known = list(clusters.known())
    word, state = _state_of(source)
    shown = known[0] if known else None
    title = shown.title if shown is not None and shown.title else tr(source.name)
    rows = [ConnectionRow(SHOWN, title, _address(source, shown), word, state, shown)]
    for one in known[1:]:
        kind = "Store" if one.kind == EMBEDDED else "Kept"
        rows.append(ConnectionRow(one.place, one.name, one.address, kind, State.IDLE, one))
    return rows


def _state_of(source: ClusterSource) -> tuple[str, State]:
    if source.status is not SourceStatus.READY:
        return STATES[source.status]
    if source.ready is not None and not source.ready.runs_broker:
        return "Opened", State.IDLE
    return REACHES[source.state.reach if source.state is not None else ClusterReach.ALL]


def _address(source: ClusterSource, shown: Cluster | None) -> str:
    ready = source.ready
    if ready is None:
        return UNKNOWN if shown is None or source.name == EMBEDDED_NAME else shown.address
    return ready.name_server if ready.runs_broker else ready.store_directory


def kept_pairs(cluster: Cluster) -> list[tuple[str, str]]:
    """The stored facts of a cluster that is not shown, without its secrets."""
    if cluster.kind == EMBEDDED:
        return [(tr("Store"), cluster.address)]
    way = ", ".join(
        words
        for words in (
            tr("SOCKS proxy {address}", address=cluster.socks) if cluster.socks else "",
            tr("SSH tunnel {address}", address=cluster.ssh) if cluster.ssh else "",
        )
        if words
    )
    tls = (tr("with TLS") if cluster.verify else tr("with TLS, certificate not checked")) if cluster.tls else tr("without TLS")
    pairs = [
        (tr("Name servers"), cluster.address),
        (tr("Access key"), cluster.access_key or tr("none, nothing is signed")),
        (tr("Encryption"), tls),
        (tr("Way"), way or tr("direct")),
        (tr("Changes in the cluster"), tr("not allowed, read-only") if cluster.read_only else tr("allowed")),
    ]
    return [*pairs, (tr("Marked as"), tr("production"))] if cluster.production else pairs
