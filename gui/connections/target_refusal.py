"""Why nothing may be sent to a cluster: the marks of saved connections, for the command line."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QSettings

from gui.connections.cluster import Cluster
from gui.connections.saved_connections import saved_connections


def target_refusal(settings_file: Path, name_servers: str, *, confirmed: str | None = None) -> str:
    """Why a target is refused, in English; empty where it may be changed.

    ``confirmed`` names the production connection that may be changed nevertheless; None for none. The settings may be missing.
    """
    kept = saved_connections(QSettings(str(settings_file), QSettings.Format.IniFormat)) if settings_file.exists() else []
    marked = [cluster for cluster in kept if cluster.read_only or cluster.production]
    wanted = set(_hosts(name_servers)) if marked else set()
    for cluster in marked:
        if wanted.isdisjoint(_hosts_of(cluster)):
            continue
        if cluster.read_only or confirmed is None:
            marks = [mark for mark, on in (("read-only", cluster.read_only), ("production", cluster.production)) if on]
            return (
                f"the window keeps it as the {' '.join(marks)} connection “{cluster.name}”. "
                "Take the mark off there (Change this connection…) if it may be changed"
            )
        if confirmed not in (cluster.title, cluster.address):
            return (
                f"the window keeps it as the production connection “{cluster.name}”: "
                f"confirm that it is meant with --production '{cluster.name}'"
            )
    return ""


def _hosts_of(cluster: Cluster) -> set[tuple[str, str]]:
    """Addresses of a connection; a loopback address behind a proxy or a tunnel is another machine and is left out."""
    found = set(_hosts(cluster.address))
    return {pair for pair in found if not _is_loopback(pair[0])} if cluster.socks or cluster.ssh else found


def _hosts(name_servers: str) -> Iterator[tuple[str, str]]:
    """(name or IP address, port) of each name server."""
    from broker_core.api import addresses

    for address in name_servers.split(";"):
        name, port = addresses.split_address(address)
        host = name.lower()
        if not host:
            continue
        yield host, port
        try:
            infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            continue  # the connection attempt reports it
        for info in infos:
            yield str(info[4][0]), port


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
