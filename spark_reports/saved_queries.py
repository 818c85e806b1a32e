"""Saved queries of the report ``sql``: one text file each, in the user's configuration."""

from __future__ import annotations

import re
from pathlib import Path

import platformdirs

from broker_core.errors import ReportError, UsageError
from broker_core.kept_file import replace_file

_NAME = re.compile(r"[\w -]{1,64}")
_END = ".sql"


def folder() -> Path:
    return Path(platformdirs.user_config_dir("orbit")) / "queries"


def names() -> list[str]:
    return sorted(path.stem for path in folder().glob(f"*{_END}"))


def load(name: str) -> str:
    """The text of a saved query; raises `UsageError` if there is none of that name."""
    try:
        return _path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(names()) or "none yet"
        raise UsageError(f"there is no saved query “{name}”. Saved: {known}.", name=name) from error


def save(name: str, query: str) -> None:
    """Save a query; an earlier one of that name is replaced.

    Raises:
        UsageError: The name is invalid.
        ReportError: It cannot be written.
    """
    path = _path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, query.encode())
    except OSError as error:
        raise ReportError(f"the query cannot be saved as {path}: {error.strerror}", path=str(path)) from error


def remove(name: str) -> None:
    """Remove a saved query, if there is one of that name.

    Raises:
        UsageError: The name is invalid.
        ReportError: It cannot be removed.
    """
    path = _path(name)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ReportError(f"the query {path} cannot be removed: {error.strerror}", path=str(path)) from error


def _path(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise UsageError(f"“{name}” is no name for a query: letters, digits, spaces, - and _, 64 at most.", name=name)
    return folder() / f"{name}{_END}"
