"""SQLite files are opened in one way: a damaged one is renamed, so that a new one can be created."""

from __future__ import annotations

import logging
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from broker_core.api import StoreError

logger = logging.getLogger(__name__)
OPEN_SECONDS = 2.0
"""How long another process may take to create a file that is being opened."""
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class DatabaseForm:
    """One of Orbit's databases. The file is in WAL mode, so that it stays consistent.

    Attributes:
        name: The content, for errors: ``history``.
        version: The newest format that is known.
        tables: Creates what is missing.
        synchronous: ``FULL``, or ``NORMAL`` where a power failure may take the last commits.
        wait_seconds: For the lock of another process.
        page_bytes: Of a new file.
        is_checked: Whether the whole file is checked for damage; for small ones.
    """

    name: str
    version: int
    tables: str
    synchronous: str
    wait_seconds: float
    page_bytes: int = 4_096
    is_checked: bool = False

    def open(self, path: Path) -> sqlite3.Connection:
        """Open a file, or create it; raises what SQLite raises, and `StoreError` where a newer Orbit wrote it."""
        connection = sqlite3.connect(path, timeout=self.wait_seconds, isolation_level=None, check_same_thread=False)
        try:
            connection.execute(f"PRAGMA page_size={self.page_bytes}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={self.synchronous}")
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found > self.version:
                raise StoreError(
                    f"the {self.name} file {path} has format {found}; this Orbit knows {self.version}. Use a newer Orbit, or "
                    "move the file away",
                    path=str(path),
                )
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone() if self.is_checked else ("ok",)
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
            connection.executescript(self.tables)
            connection.execute(f"PRAGMA user_version={self.version}")
        except BaseException:
            connection.close()
            raise
        return connection


def open_or_begin_anew(path: Path, form: DatabaseForm) -> sqlite3.Connection:
    """Open a database, whose folder is created; if it is damaged, rename it and create a new one.

    Raises:
        StoreError: The database cannot be opened or created, or a newer Orbit wrote it.
    """
    name = form.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _open_patiently(path, form)
    except (sqlite3.OperationalError, OSError) as error:
        raise StoreError(f"the {name} {path} cannot be opened: {error}", path=str(path)) from error
    except sqlite3.DatabaseError as error:
        logger.warning("damaged %s %s: %s", name, path, error)
        set_aside(path, name)
    try:
        return form.open(path)
    except sqlite3.Error as error:
        raise StoreError(f"the {name} {path} cannot be made: {error}", path=str(path)) from error


def _open_patiently(path: Path, form: DatabaseForm) -> sqlite3.Connection:
    """Open a file that another process may be creating; SQLite does not wait to start the write-ahead log."""
    deadline = time.monotonic() + OPEN_SECONDS
    while True:
        try:
            return form.open(path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE_SECONDS)


def set_aside(path: Path, name: str) -> None:
    """Rename a damaged database, so that a new one can be created; raises `StoreError` if it cannot be renamed."""
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns() // 1_000_000}")
    logger.warning("the %s %s is kept as %s and a new file begins", name, path, aside.name)
    try:
        path.replace(aside)
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"the damaged {name} {path} cannot be renamed: {error}", path=str(path)) from error
