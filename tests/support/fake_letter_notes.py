"""Notes on dead letters for the fake source: the real tables, in memory."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from monitoring.history.database import open_database


def fake_letter_notes() -> sqlite3.Connection:
    """A database of a history without notes; to be closed by the caller."""
    return open_database(Path(":memory:"))
