"""Where the files that ship with the program are. Reads nothing itself."""

from __future__ import annotations

from pathlib import Path


def resource_directory() -> Path:
    """The ``resources`` folder beside the packages."""
    return Path(__file__).resolve().parents[2] / "resources"
