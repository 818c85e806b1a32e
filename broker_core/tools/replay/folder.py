"""Where replays are kept that name no folder of their own."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def replays_folder() -> Path:
    """The folder of this user; it need not be there."""
    return platformdirs.user_data_path("orbit", appauthor=False) / "replays"
