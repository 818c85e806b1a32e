"""Clusters that a copy can run between: which may be changed, and how each is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster
from gui.models.copy_order import CopyEnd
from gui.operations.clusters import Clusters
from gui.words.text import tr
from monitoring.sources.base import ClusterSource


@dataclass(frozen=True, slots=True)
class Named:
    """A cluster to choose.

    Attributes:
        name: In the list.
        cluster: As the window knows it.
        end: As the command line names it, without its keys.
        refusal: Why nothing may be copied to it; empty where it may.
    """

    name: str
    cluster: Cluster
    end: CopyEnd
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class CopyEnds:
    """Choices of the dialog.

    Attributes:
        sources, targets: Clusters to choose from.
        source_at_first, target_at_first: The initial choice.
        details: Reads the connection details; calls its first callback with a line of JSON, or its second with the reason.
    """

    sources: Sequence[Named]
    targets: Sequence[Named]
    source_at_first: Named | None
    target_at_first: Named | None
    details: Callable[[Cluster, Callable[[str], None], Callable[[str], None]], None]

    def reach(self, named: Named, done: Callable[[CopyEnd], None], failed: Callable[[str], None]) -> None:
        """Read the details of a cluster; calls exactly one of the two, maybe later."""
        if named.cluster.kind != ATTACHED:
            done(named.end)
            return
        self.details(named.cluster, lambda line: done(replace(named.end, details=line)), failed)


def ends_of(clusters: Clusters, source: ClusterSource, own_store: str) -> CopyEnds:
    """All clusters of the switcher, the shown one first; ``own_store`` where the switcher knows no embedded broker."""

    def details(cluster: Cluster, done: Callable[[str], None], failed: Callable[[str], None]) -> None:
        if clusters.secrets is None:
            done("")
        else:
            clusters.secrets.details(cluster, {}, done, failed)

    known = list(clusters.known())
    if not any(cluster.kind == EMBEDDED for cluster in known):
        known.append(Cluster(EMBEDDED, own_store))
    named = [_named(cluster, source if place == 0 else None) for place, cluster in enumerate(known)]
    # An embedded broker that does not run cannot be read, but one can be started on its store as a target.
    sources = [one for one in named if not one.end.is_store]
    shown = named[0] if named[0].end.address else None
    others = [one for one in named if one is not shown]
    if shown is not None and shown.cluster.kind == ATTACHED:
        home = next((one for one in others if one.cluster.kind == EMBEDDED), None)
        return CopyEnds(sources, named, shown, home, details)
    away = next((one for one in others if one.cluster.kind == ATTACHED), None)
    return CopyEnds(sources, named, away, shown, details)


def _named(cluster: Cluster, shown: ClusterSource | None) -> Named:
    refusal = ""
    if (shown is not None and shown.read_only) or cluster.read_only:
        refusal = tr("{name} is read-only: nothing is copied to it.", name=cluster.name)
    elif cluster.production:
        refusal = tr("{name} is a production cluster: nothing is copied to it.", name=cluster.name)
    if cluster.kind == ATTACHED:
        return Named(cluster.name, cluster, CopyEnd(cluster.address), refusal)
    if shown is not None:
        ready = shown.ready
        address = ready.name_server if ready is not None else ""
        return Named(tr("{name}, the embedded broker of this window", name=cluster.name), cluster, CopyEnd(address), refusal)
    return Named(tr("{name}, an embedded broker", name=cluster.name), cluster, CopyEnd(cluster.address, is_store=True), refusal)
