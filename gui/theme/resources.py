"""The folder of the files that ship with the program. Reads nothing itself."""

from __future__ import annotations

from pathlib import Path

from resources import RESOURCE_FOLDER


def resource_directory() -> Path:
    return RESOURCE_FOLDER
