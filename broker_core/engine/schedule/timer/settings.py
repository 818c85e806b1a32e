"""Settings and file names of the timer store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from broker_core.engine.schedule.timer.checkpoint import CHECKPOINT_FILE


@dataclass(frozen=True, slots=True)
class TimerSettings:
    """Settings of the timer store.

    Attributes:
        precision_ms: ``timerPrecisionMs``.
        roll_slots: ``timerRollWindowSlot``.
        log_file_bytes: ``mappedFileSizeTimerLog``, for new logs.
    """

    precision_ms: int = 1_000
    roll_slots: int = 172_800
    log_file_bytes: int = 104_857_600


class TimerPaths:
    """Names of the timer files in a store."""

    def __init__(self, root: Path) -> None:
        self.wheel = root / "timerwheel"
        self.log = root / "timerlog"
        self.checkpoint = root / "config" / CHECKPOINT_FILE
