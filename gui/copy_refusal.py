"""Why nothing may be copied to a cluster: marks of the connections that the window keeps, for the command line."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSettings

from gui.saved_connections import saved_connections


def copy_refusal(settings_file: Path, name_servers: str) -> str:
    """Why a target is refused, in English; empty where it may be changed.

    Args:
        settings_file: Of the window; there may be none.
        name_servers: Of the target.
    """
    wanted = _addresses(name_servers)
    kept = saved_connections(QSettings(str(settings_file), QSettings.Format.IniFormat)) if settings_file.exists() else []
    for cluster in kept:
        marks = [mark for mark, on in (("read-only", cluster.read_only), ("production", cluster.production)) if on]
        if marks and wanted & _addresses(cluster.address):
            return (
                f"the window keeps it as the {' '.join(marks)} connection “{cluster.name}”. "
                "Take the mark off there (Change this connection…) if it may be changed"
            )
    return ""


def _addresses(name_servers: str) -> set[str]:
    return {address.strip() for address in name_servers.split(";") if address.strip()}
