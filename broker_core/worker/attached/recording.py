"""The folder of a connection: who records its history there. One process at a time, others read what that one records."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from broker_core.clock import wall_clock_ms
from broker_core.errors import StoreError, StoreLockedError
from broker_core.store.ownership import StoreOwnership
from broker_core.store.paths import StorePaths
from broker_core.worker.history import HistoryKeeper, LateHistory, OpenHistory


@dataclass(frozen=True, slots=True)
class Recording:
    """A history that is being recorded, or why none is."""

    history: HistoryKeeper | None = None
    notice: str = ""
    ownership: StoreOwnership | None = None

    def close(self) -> None:
        """Write everything down; may block for seconds."""
        if self.history is not None:
            self.history.close()
        if self.ownership is not None:
            self.ownership.release()


def folder_of(name_servers: str) -> Path:
    """The folder in which a cluster's history is recorded unless another is given."""
    import platformdirs  # noqa: PLC0415  most callers know their folder

    name = re.sub(r"[^A-Za-z0-9.-]+", "_", name_servers)[:80]
    digest = hashlib.sha256(name_servers.encode()).hexdigest()[:8]
    return platformdirs.user_data_path("orbit", appauthor=False) / "clusters" / f"{name}-{digest}"


def open_recording(
    folder: Path, open_history: OpenHistory | None, *, cluster: str = "", open_as_guest: OpenHistory | None = None
) -> Recording:
    """Begin to record in a folder; where that is not possible, a notice says why.

    Args:
        folder: The folder.
        open_history: Opens the history there; None: none is kept.
        cluster: What is recorded.
        open_as_guest: Opens what another process records there; None: go without.
    """
    if open_history is None:
        return Recording()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return Recording(notice=f"No history is kept: {folder} cannot be made ({error.strerror})")
    try:
        ownership = StoreOwnership(StorePaths(folder))
    except StoreLockedError:
        if open_as_guest is None:
            return Recording(notice="No history is kept here: another Orbit process records this connection already")
        guest = LateHistory(open_as_guest, folder, started_ms=wall_clock_ms(), cluster=cluster)
        return Recording(guest, "Another Orbit process records this connection: its history is shown, up to its last minute")
    except StoreError as error:
        return Recording(notice=f"No history is kept: {error.message}")
    return Recording(LateHistory(open_history, folder, started_ms=wall_clock_ms(), cluster=cluster), "", ownership)
