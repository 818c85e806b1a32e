"""Where the data shared by several checkouts lies: golden stores, specifications."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).resolve().parents[2]


def shared_dir() -> Path:
    """The directory beside the checkout, or what ``ORBIT_SHARED`` names; skips the test where there is none."""
    directory = Path(os.environ.get("ORBIT_SHARED", _CHECKOUT.parent / "shared"))
    if not directory.is_dir():
        pytest.skip(f"needs the shared data: no directory {directory} (ORBIT_SHARED names another)")
    return directory
