"""SQLite files: a damaged one is renamed, so that a new one can be created."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from broker_core.api import StoreError

logger = logging.getLogger(__name__)
OPEN_SECONDS = 2.0
"""How long another process may take to create a file that is being opened."""
_PAUSE_SECONDS = 0.02


def open_or_begin_anew(path: Path, name: str, opening: Callable[[Path], sqlite3.Connection]) -> sqlite3.Connection:
    """Open a database; if it is damaged, rename it and create a new one.

    Args:
        path: The file; its folder is created.
        name: The content, for errors: ``history``.
        opening: Opens the file and creates what is missing in it.

    Raises:
        StoreError: The database cannot be opened or created; also whatever ``opening`` raises other than SQLite errors.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _open_patiently(path, opening)
    except (sqlite3.OperationalError, OSError) as error:
        raise StoreError(f"the {name} {path} cannot be opened: {error}", path=str(path)) from error
    except sqlite3.DatabaseError as error:
        logger.warning("damaged %s %s: %s", name, path, error)
        set_aside(path, name)
    try:
        return opening(path)
    except sqlite3.Error as error:
        raise StoreError(f"the {name} {path} cannot be made: {error}", path=str(path)) from error


def _open_patiently(path: Path, opening: Callable[[Path], sqlite3.Connection]) -> sqlite3.Connection:
    """Open a file that another process may be creating; SQLite does not wait to start the write-ahead log."""
    deadline = time.monotonic() + OPEN_SECONDS
    while True:
        try:
            return opening(path)
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
