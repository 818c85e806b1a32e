"""The clusters that the switcher offers: stores of the embedded broker, and clusters that run elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

STORES_MAX = 12
EMBEDDED = "embedded"
ATTACHED = "attached"
_SCHEME, _LOOK_ONLY = "cluster://", "?read-only"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Something that the window can show."""

    kind: str
    """`EMBEDDED`: a broker of ours on a store; `ATTACHED`: a cluster that runs elsewhere."""
    address: str
    """Of an embedded broker the directory of its store, else the name servers."""
    read_only: bool = False
    """Whether an attached one is only looked at."""

    @property
    def name(self) -> str:
        """How it is called in lists: its name servers, or the last folder that tells it from others."""
        if self.kind == ATTACHED:
            return self.address
        path = Path(self.address)
        return path.parent.name if path.name == "store" and path.parent.name else path.name


def kept_text(cluster: Cluster) -> str:
    """How a cluster is kept in the settings; `kept_cluster` reads it."""
    if cluster.kind != ATTACHED:
        return cluster.address
    return f"{_SCHEME}{cluster.address}{_LOOK_ONLY if cluster.read_only else ''}"


def kept_cluster(text: str) -> Cluster:
    """The cluster that a kept text means."""
    if not text.startswith(_SCHEME):
        return Cluster(EMBEDDED, text)
    address = text.removeprefix(_SCHEME)
    return Cluster(ATTACHED, address.removesuffix(_LOOK_ONLY), address.endswith(_LOOK_ONLY))


def _nothing_known() -> Sequence[Cluster]:
    return ()


def _cannot_switch(_cluster: Cluster) -> None:
    """A window that has one cluster only."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """What the switcher needs: what is known, and how to go there. Made by `gui.app`."""

    title: str = "Embedded"
    """English; how the current one is called in the tool bar."""
    known: Callable[[], Sequence[Cluster]] = field(default=_nothing_known)
    """The current one first, then as they were last used."""
    switch: Callable[[Cluster], None] = field(default=_cannot_switch)


def attached_cluster(clusters: Clusters) -> Cluster | None:
    """The cluster that is shown, if it runs elsewhere."""
    shown = next(iter(clusters.known()), None)
    return shown if shown is not None and shown.kind == ATTACHED else None


def remembered(addresses: Sequence[str], current: str) -> list[str]:
    """Addresses to keep: the current one in front of the others, each once, at most `STORES_MAX`."""
    return list(dict.fromkeys([current, *(address for address in addresses if address)]))[:STORES_MAX]
