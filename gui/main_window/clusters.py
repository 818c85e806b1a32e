"""The clusters that the switcher offers. Today these are stores of the embedded broker; others enter as another `kind`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

STORES_MAX = 12
EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Something that the window can show."""

    kind: str
    """`EMBEDDED`: a broker of ours on a store."""
    address: str
    """Of an embedded broker: the directory of its store."""

    @property
    def name(self) -> str:
        """How it is called in lists: the last folder that tells it from others."""
        path = Path(self.address)
        return path.parent.name if path.name == "store" and path.parent.name else path.name


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


def remembered(addresses: Sequence[str], current: str) -> list[str]:
    """Addresses to keep: the current one in front of the others, each once, at most `STORES_MAX`."""
    return list(dict.fromkeys([current, *(address for address in addresses if address)]))[:STORES_MAX]
