"""The folder of the files that ship with the program. Reads nothing itself."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def resource_directory() -> Path:
    return Path(__file__).resolve().parents[2] / "resources"
