"""The clusters that the switcher offers: stores of the embedded broker, and clusters that run elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from PySide6.QtGui import QColor, QIcon, QPixmap

STORES_MAX = 12
EMBEDDED = "embedded"
ATTACHED = "attached"
COLOURS = {
    "None": "",
    "Red": "#c0273a",
    "Orange": "#a8460a",
    "Ochre": "#855600",
    "Green": "#0f6e42",
    "Blue": "#0a6a9a",
    "Violet": "#6a3fc8",
}
"""English name → colour of a connection."""
_SCHEME, _LOOK_ONLY = "cluster://", "read-only"
_KEPT_TEXTS = ("title", "colour", "access_key", "authority", "certificate", "key")
_ICON_PIXELS = 12


@dataclass(frozen=True, slots=True)
class Cluster:
    """Something that the window can show."""

    kind: str
    """`EMBEDDED`: a broker of ours on a store; `ATTACHED`: a cluster that runs elsewhere."""
    address: str
    """Of an embedded broker the directory of its store, else the name servers."""
    read_only: bool = False
    """Whether an attached one is only looked at."""
    title: str = ""
    """What the user calls an attached one."""
    colour: str = ""
    """Of `COLOURS`, as ``#rrggbb``; empty: none."""
    access_key: str = ""
    """Who signs; its secret is kept elsewhere. Empty: nothing is signed."""
    tls: bool = False
    verify: bool = True
    """Whether the certificate of the other end is checked."""
    authority: str = ""
    """PEM file of the authorities that are trusted; empty: those of the system."""
    certificate: str = ""
    """PEM file of the client's own certificate."""
    key: str = ""
    """PEM file of its key; empty: it is in the same file."""
    addresses: tuple[tuple[str, str], ...] = ()
    """Address that a broker registered, and the one to use."""

    @property
    def name(self) -> str:
        """How it is called in lists: its own name or its name servers, or the last folder that tells it from others."""
        if self.kind == ATTACHED:
            return self.title or self.address
        path = Path(self.address)
        return path.parent.name if path.name == "store" and path.parent.name else path.name


def kept_text(cluster: Cluster) -> str:
    """How a cluster is kept in the settings; `kept_cluster` reads it."""
    if cluster.kind != ATTACHED:
        return cluster.address
    parts = [(name, getattr(cluster, name)) for name in _KEPT_TEXTS if getattr(cluster, name)]
    parts += [("tls", "verified" if cluster.verify else "any")] if cluster.tls else []
    parts += [("map", f"{registered}={used}") for registered, used in cluster.addresses]
    words = [_LOOK_ONLY] if cluster.read_only else []
    question = "&".join([*words, *([urlencode(parts)] if parts else [])])
    return f"{_SCHEME}{cluster.address}{'?' if question else ''}{question}"


def kept_cluster(text: str) -> Cluster:
    """The cluster that a kept text means."""
    if not text.startswith(_SCHEME):
        return Cluster(EMBEDDED, text)
    address, _mark, question = text.removeprefix(_SCHEME).partition("?")
    parts = parse_qs(question, keep_blank_values=True)
    texts = {name: parts[name][0] for name in _KEPT_TEXTS if name in parts}
    return Cluster(
        ATTACHED,
        address,
        _LOOK_ONLY in parts,
        tls="tls" in parts,
        verify=parts.get("tls") != ["any"],
        addresses=address_pairs(";".join(parts.get("map", []))),
        **texts,
    )


def address_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """The map that a text writes as ``FROM = TO``, several with ``;`` between them."""
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return tuple((registered.strip(), used.strip()) for registered, _equals, used in pairs)


def details_of(cluster: Cluster, secret: str) -> str:
    """How a cluster is reached, as a worker reads it (`broker_core.worker.attached.details`); empty for a plain one."""
    if not (cluster.access_key or cluster.tls or cluster.addresses):
        return ""
    details = {"accessKey": cluster.access_key, "secretKey": secret, "addresses": dict(cluster.addresses)}
    files = {"authority": cluster.authority, "certificate": cluster.certificate, "key": cluster.key}
    return json.dumps({**details, "tls": cluster.tls, "verify": cluster.verify, **files})


def colour_icon(colour: str) -> QIcon:
    """A square of a connection's colour; nothing for none."""
    if not QColor.isValidColorName(colour):
        return QIcon()
    square = QPixmap(_ICON_PIXELS, _ICON_PIXELS)
    square.fill(QColor(colour))
    return QIcon(square)


def _nothing_known() -> Sequence[Cluster]:
    return ()


def _keep_nothing(_cluster: Cluster, _secret: str) -> str:
    return ""


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
    forget: Callable[[Cluster], None] = field(default=_cannot_switch)
    """Takes an attached one, and its secret, off the list."""
    keep_secret: Callable[[Cluster, str], str] = field(default=_keep_nothing)
    """Keeps the secret of its access key; an empty one leaves what is kept. Says why it could not, or nothing."""
    secret_place: str = ""
    """Where secrets are kept, for the reader."""


def attached_cluster(clusters: Clusters) -> Cluster | None:
    """The cluster that is shown, if it runs elsewhere."""
    shown = next(iter(clusters.known()), None)
    return shown if shown is not None and shown.kind == ATTACHED else None


def remembered(addresses: Sequence[str], current: str) -> list[str]:
    """Addresses to keep: the current one in front of the others, each once, at most `STORES_MAX`.

    Name servers name a connection: a changed one takes the place of the one before.
    """
    newest: dict[str, str] = {}
    for text in (current, *filter(None, addresses)):
        newest.setdefault(text.partition("?")[0] if text.startswith(_SCHEME) else text, text)
    return list(newest.values())[:STORES_MAX]
