"""What the window is started with, and what it shows first."""

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
    """What the window is started with."""

    worker: WorkerArguments
    language: str = ""
    """A code of `gui.words.text.LANGUAGES`; empty: as last time, first as the desktop."""
    theme: str = ""
    """system, light or dark; empty: as last time."""
    settings_file: Path = field(default_factory=settings_path)
    reports_folder: Path | None = None
    """Where reports write; None: ``reports`` in the user's data folder of Orbit."""
    prepare_reports: bool = False
    """Whether Java's classes are prepared when the page of the reports is first opened."""
    link: str = ""
    """Where to go once the window is open: see `gui.main_window.links`."""
    single: bool = False
    """Whether a second start on the same cluster brings this window to the front instead of opening its own."""
    connection: str = ""
    """Name or name servers of the saved connection that is shown first; empty: the one the link is about, else the store."""
    find_key_store: Callable[[], KeyStore | None] = system_key_store
    """Finds what keeps secrets of connections; where there is none, a file beside the settings does."""


def with_kept(options: WindowOptions) -> WorkerArguments:
    """What the worker is started with: the command line first, then what the Settings page keeps."""
    return with_saved(options.worker, read_saved(QSettings(str(options.settings_file), QSettings.Format.IniFormat)))


def first_cluster(options: WindowOptions) -> Cluster:
    """What the window shows first.

    Raises:
        UsageError: It is a connection that is not kept.
    """
    wanted = options.connection or cluster_of(options.link)
    if not wanted or options.worker.files_only:
        return Cluster(EMBEDDED, str(with_kept(options).store))
    from gui.connections.saved_connections import named, saved_connections

    return named(saved_connections(QSettings(str(options.settings_file), QSettings.Format.IniFormat)), wanted)
