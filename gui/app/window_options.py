from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QSettings

from gui.connections.cluster import EMBEDDED, Cluster, settings_path
from gui.connections.secret_store import KeyStore, system_key_store
from gui.main_window.links import cluster_of
from gui.processes.saved_options import read_saved, with_saved
from gui.processes.worker_options import WorkerArguments


@dataclass(frozen=True, slots=True)
class WindowOptions:
    worker: WorkerArguments
    language: str = ""
    """A code of `gui.words.text.LANGUAGES`; empty: as last time, at the first start as the desktop."""
    theme: str = ""
    """system, light or dark; empty: as last time."""
    settings_file: Path = field(default_factory=settings_path)
    reports_folder: Path | None = None
    """Folder of report results; None: ``reports`` in the user's data folder of Orbit."""
    prepare_reports: bool = False
    """Whether Java's classes are prepared when the Reports page is first opened."""
    link: str = ""
    """A link to open at the start: see `gui.main_window.links`."""
    single: bool = False
    """Whether a second start on the same cluster brings this window to the front instead of opening its own."""
    connection: str = ""
    """Name or name servers of the saved connection to show first; empty: that of the link, else the store."""
    find_key_store: Callable[[], KeyStore | None] = system_key_store
    """Finds the key store for secrets of connections; where there is none, a file beside the settings holds them."""


def with_kept(options: WindowOptions) -> WorkerArguments:
    """Options of the worker: the command line first, then the Settings page."""
    return with_saved(options.worker, read_saved(QSettings(str(options.settings_file), QSettings.Format.IniFormat)))


def first_cluster(options: WindowOptions) -> Cluster:
    """The cluster to show first.

    Raises:
        UsageError: The connection is not saved.
    """
    wanted = options.connection or cluster_of(options.link)
    if not wanted or options.worker.files_only:
        return Cluster(EMBEDDED, str(with_kept(options).store))
    from gui.connections.saved_connections import named, saved_connections

    return named(saved_connections(QSettings(str(options.settings_file), QSettings.Format.IniFormat)), wanted)
