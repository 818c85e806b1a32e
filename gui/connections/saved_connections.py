"""The window's connections for commands: a name → how the cluster is reached, with its secrets.

Needs no display; only Qt's core is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSettings

from broker_core.api import UsageError
from gui.connections.cluster import ATTACHED, STORES_KEY, Cluster, details_of, kept_cluster, secret_owners, settings_path
from gui.connections.secret_file import FILE_NAME, SecretFile
from gui.connections.secret_store import SecretStore
from gui.settings.values import text_list

NAMES_TOLD_MAX = 12


def saved_connections(settings: QSettings) -> list[Cluster]:
    """Connections of the settings, last used first."""
    return [cluster for cluster in map(kept_cluster, text_list(settings, STORES_KEY)) if cluster.kind == ATTACHED]


def named(connections: Sequence[Cluster], name: str) -> Cluster:
    """The connection with this name or these name servers.

    Raises:
        UsageError: None or several match; the message lists them.
    """
    for means in (
        lambda cluster: name in (cluster.title, cluster.address),
        lambda cluster: cluster.title.casefold() == name.casefold(),
        lambda cluster: name == cluster.kept_under,
    ):
        found = [cluster for cluster in connections if means(cluster)]
        if len(found) == 1:
            return found[0]
        if found:
            addresses = ", ".join(cluster.address for cluster in found)
            raise UsageError(f"{len(found)} connections are called “{name}”: say which by its name servers: {addresses}")
    known = ", ".join(f"“{cluster.name}”" for cluster in connections[:NAMES_TOLD_MAX]) or "none; make one in the window"
    raise UsageError(f"no connection is called “{name}”. There are: {known}")


def kept_details(name: str) -> bytes:
    """`saved_details` of this user's window."""
    path = settings_path()
    return saved_details(path, SecretStore(SecretFile(path.with_name(FILE_NAME))), name)


def saved_details(settings_file: Path, secrets: SecretStore, name: str) -> bytes:
    """The line of details of a saved connection.

    Raises:
        UsageError: There is no such connection, or a secret of it is not stored.
        SecretError: The secrets cannot be read.
    """
    if not settings_file.exists():
        raise UsageError(f"no connections are kept in {settings_file}: make one in the window, or give --connection-file")
    cluster = named(saved_connections(QSettings(str(settings_file), QSettings.Format.IniFormat)), name)
    kept = secrets.read(cluster.kept_under) if secret_owners(cluster) else {}
    if cluster.access_key and cluster.access_key not in kept:
        raise UsageError(
            f"no secret key is kept for the access key of “{cluster.name}”: write it in the window (Change this connection…)"
        )
    return details_of(cluster, kept).encode()
