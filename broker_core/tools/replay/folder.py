"""The default folder of replays."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def replays_folder() -> Path:
    """The folder of this user; it may not exist yet."""
    return platformdirs.user_data_path("orbit", appauthor=False) / "replays"
