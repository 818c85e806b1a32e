"""The clusters that the window remembers: stores of the embedded broker, and connections to clusters that run elsewhere.

Uses no Qt widgets, so that commands read it too. Holds no secret: see `gui.connections.secret_store`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

import platformdirs

if TYPE_CHECKING:
    from monitoring.sources.base import ClusterSource

STORES_MAX = 12
CONNECTIONS_MAX = 200
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
STORES_KEY = "clusters/stores"
"""Setting: directories of stores and name servers of clusters, as `kept_text` writes them, the last used first."""
_PLACE_DIGITS = 16
_SCHEME, _LOOK_ONLY, _PRODUCTION = "cluster://", "read-only", "production"
_WAY_TEXTS = ("socks", "socks_user", "ssh", "ssh_user", "ssh_key", "ssh_known_hosts")
_KEPT_TEXTS = ("title", "colour", "access_key", "authority", "certificate", "key", "kept_as", *_WAY_TEXTS)
SECRET_KEY, SOCKS_PASSWORD, SSH_PASSPHRASE = "secretKey", "socksPassword", "sshPassphrase"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that the window can show."""

    kind: str
    """`EMBEDDED`: our broker on a store; `ATTACHED`: a cluster that runs elsewhere."""
    address: str
    """Directory of the store of an embedded broker, else the name servers."""
    read_only: bool = False
    """Whether an attached cluster is only read."""
    title: str = ""
    """The user's name for an attached cluster."""
    colour: str = ""
    """Of `COLOURS`, as ``#rrggbb``; empty: none."""
    access_key: str = ""
    """Access key that signs requests; its secret is stored elsewhere. Empty: nothing is signed."""
    tls: bool = False
    verify: bool = True
    """Whether the server certificate is checked."""
    authority: str = ""
    """PEM file of trusted authorities; empty: those of the system."""
    certificate: str = ""
    """PEM file of the client's own certificate."""
    key: str = ""
    """PEM file of its key; empty: it is in the same file."""
    addresses: tuple[tuple[str, str], ...] = ()
    """(address that a broker registered, address to use)."""
    production: bool = False
    """Whether it is marked as a production cluster."""
    socks: str = ""
    """``host:port`` of a SOCKS proxy; empty: none."""
    socks_user: str = ""
    ssh: str = ""
    """``host:port`` of an SSH server to tunnel through; empty: none."""
    ssh_user: str = ""
    ssh_key: str = ""
    """File of the private key; empty: the keys of ssh-agent and ``~/.ssh``."""
    ssh_known_hosts: str = ""
    """File of host keys; empty: ``~/.ssh/known_hosts``."""
    kept_as: str = ""
    """Key of its history, secrets and settings where its name servers have changed; empty: the name servers."""

    @property
    def kept_under(self) -> str:
        """Key of the history, secrets and settings of an attached cluster; unchanged by any edit."""
        return self.kept_as or self.address

    @property
    def name(self) -> str:
        """Name in lists: its title or its name servers, or the last telling folder of its store."""
        if self.kind == ATTACHED:
            return self.title or self.address
        path = Path(self.address)
        return path.parent.name if path.name == "store" and path.parent.name else path.name

    @property
    def place(self) -> str:
        """Identity of the cluster, independent of its title and connection."""
        return f"{_SCHEME}{self.kept_under}" if self.kind == ATTACHED else str(Path(self.address).absolute())


def own_group(kept_under: str) -> str:
    """Settings group of one attached cluster; empty for embedded brokers, which share theirs."""
    if not kept_under:
        return ""
    import hashlib

    return f"connections/{hashlib.sha256(kept_under.encode()).hexdigest()[:_PLACE_DIGITS]}/"


def group_of_source(source: ClusterSource) -> str:
    return own_group(source.kept_under)


def changed_to(before: Cluster, cluster: Cluster) -> Cluster:
    """A connection after an edit: it keeps its history and secrets even under other name servers."""
    return replace(cluster, kept_as="" if before.kept_under == cluster.address else before.kept_under)


def settled(cluster: Cluster, known: Iterable[Cluster]) -> Cluster:
    """A connection to be saved beside others: it replaces the one with its name servers, else `kept_as` is made unique."""
    others = [one for one in known if one.kind == ATTACHED]
    same = next((one for one in others if same_servers(one.address, cluster.address)), None)
    if same is not None:
        return replace(cluster, kept_as=same.kept_as)
    taken = {one.kept_under for one in others}
    names = (f"{cluster.address}#{number}" for number in count(2))
    return replace(cluster, kept_as=next(name for name in names if name not in taken)) if cluster.address in taken else cluster


def same_servers(one: str, other: str) -> bool:
    """Whether two lists of name servers are equal, however their IPv6 addresses are spelled."""
    both = one + other
    if one == other or ("[" not in both and "::" not in both):  # no IPv6 address: nothing more is loaded
        return one == other
    from broker_core.api import addresses

    return addresses.same_addresses(one, other)


def settings_path() -> Path:
    """Default file of the window's settings."""
    return platformdirs.user_config_path("orbit", appauthor=False) / "window.ini"


def kept_text(cluster: Cluster) -> str:
    """Text of a cluster in the settings; `kept_cluster` reads it."""
    if cluster.kind != ATTACHED:
        return cluster.address
    parts = [(name, getattr(cluster, name)) for name in _KEPT_TEXTS if getattr(cluster, name)]
    parts += [("tls", "verified" if cluster.verify else "any")] if cluster.tls else []
    parts += [("map", f"{registered}={used}") for registered, used in cluster.addresses]
    words = [word for word, on in ((_LOOK_ONLY, cluster.read_only), (_PRODUCTION, cluster.production)) if on]
    question = "&".join([*words, *([urlencode(parts)] if parts else [])])
    return f"{_SCHEME}{cluster.address}{'?' if question else ''}{question}"


@lru_cache(maxsize=CONNECTIONS_MAX + STORES_MAX)
def kept_cluster(text: str) -> Cluster:
    """The cluster that `kept_text` wrote. Cached, because a list of connections reads all of them with every state."""
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
        production=_PRODUCTION in parts,
        **texts,
    )


def address_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """The address map of a text of the form ``FROM = TO; FROM = TO``."""
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return tuple((registered.strip(), used.strip()) for registered, _equals, used in pairs)


def secret_owners(cluster: Cluster) -> dict[str, str]:
    """Secrets that a connection may have: part of its details → owner, as it is stored."""
    owners = {SECRET_KEY: cluster.access_key}
    owners[SOCKS_PASSWORD] = f"socks:{cluster.socks_user}" if cluster.socks and cluster.socks_user else ""
    owners[SSH_PASSPHRASE] = f"ssh:{cluster.ssh_key}" if cluster.ssh and cluster.ssh_key else ""
    return {part: owner for part, owner in owners.items() if owner}


def details_of(cluster: Cluster, secrets: Mapping[str, str]) -> str:
    """Connection details of an attached cluster as JSON, as other processes read them (`broker_core.cluster.details`).

    ``secrets`` are keyed by the owners that `secret_owners` names.
    """
    details: dict[str, object] = {"nameServers": cluster.address}
    if cluster.kept_as:
        details["keptAs"] = cluster.kept_as
    texts = {"accessKey": cluster.access_key, "socks": cluster.socks, "socksUser": cluster.socks_user, "ssh": cluster.ssh,
             "sshUser": cluster.ssh_user, "sshKey": cluster.ssh_key, "sshKnownHosts": cluster.ssh_known_hosts}  # fmt: skip
    texts |= {part: secrets.get(owner, "") for part, owner in secret_owners(cluster).items()}
    if cluster.tls:
        texts |= {"authority": cluster.authority, "certificate": cluster.certificate, "key": cluster.key}
        details |= {"tls": True, "verify": cluster.verify}
    details |= {name: text for name, text in texts.items() if text}
    if cluster.read_only:
        details["readOnly"] = True
    if cluster.addresses:
        details["addresses"] = dict(cluster.addresses)
    return json.dumps(details)


def remembered(addresses: Sequence[str], current: str) -> list[str]:
    """Addresses to remember: the current one first, each once, at most `STORES_MAX` stores and `CONNECTIONS_MAX` connections.

    A changed connection replaces the one of before. Stores never displace connections, because those have details of their own.
    """
    newest: dict[str, str] = {}
    for text in (current, *filter(None, addresses)):
        newest.setdefault(kept_cluster(text).place if text.startswith(_SCHEME) else text, text)
    room = {True: CONNECTIONS_MAX, False: STORES_MAX}
    kept = []
    for text in newest.values():
        is_connection = text.startswith(_SCHEME)
        if room[is_connection]:
            room[is_connection] -= 1
            kept.append(text)
    return kept
