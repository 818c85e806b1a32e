from __future__ import annotations

import hashlib
import re
from pathlib import Path

import platformdirs


def folder_of(name_servers: str) -> Path:
    """The default folder of a cluster's recorded history."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", name_servers)[:80]
    digest = hashlib.sha256(name_servers.encode()).hexdigest()[:8]
    return platformdirs.user_data_path("orbit", appauthor=False) / "clusters" / f"{name}-{digest}"
