"""How full the disks of a store are. Above one limit puts are refused, above others old files are deleted.

Commit log and consume queues may lie on different disks, the log on several. Of the log's disks the least full counts, because
new files are created there; of log and queues, the fuller one.

Source: docs/spec/store.md §12 item 3 (bounds of the limits as in 5.x).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from broker_core.config import StoreConfig
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.write_gate import WriteGate, WriteRefusal

WARNING_PERCENT_LOW, WARNING_PERCENT_HIGH = 35, 90
"""Bounds of ``diskSpaceWarningLevelRatio``; values outside are clamped, as in RocketMQ."""
FORCIBLY_PERCENT_LOW, FORCIBLY_PERCENT_HIGH = 30, 85
"""Bounds of ``diskSpaceCleanForciblyRatio``."""
MAX_USED_PERCENT_LOW, MAX_USED_PERCENT_HIGH = 10, 95
"""Bounds of ``diskMaxUsedSpaceRatio``."""

NOT_KNOWN = -1

_log = logging.getLogger(__name__)


def warning_percent(config: StoreConfig) -> int:
    """Limit above which puts are refused."""
    return min(max(config.disk_warning_percent, WARNING_PERCENT_LOW), WARNING_PERCENT_HIGH)


def clean_forcibly_percent(config: StoreConfig) -> int:
    """Limit above which files are deleted before their time."""
    return min(max(config.disk_clean_forcibly_percent, FORCIBLY_PERCENT_LOW), FORCIBLY_PERCENT_HIGH)


def max_used_percent(config: StoreConfig) -> int:
    """Limit above which files past their time are deleted at any hour."""
    return min(max(config.disk_max_used_percent, MAX_USED_PERCENT_LOW), MAX_USED_PERCENT_HIGH)


class DiskUse:
    """Checks the disks of one store, and shuts and opens its gate for puts."""

    def __init__(self, disk: Disk, gate: WriteGate, log_directories: Sequence[Path], queue_directory: Path) -> None:
        self._disk = disk
        self._gate = gate
        self._log_directories = log_directories
        self._queue_directory = queue_directory

    def percent(self, directory: Path) -> int:
        """Use of the disk that holds a directory, rounded up; `NOT_KNOWN` if the system does not report it."""
        try:
            used, total = self._disk.usage(_existing(directory))
        except OSError as error:
            _log.warning("the disk of %s cannot be asked for its use: %s", directory, error.strerror)
            return NOT_KNOWN
        return -(-used * 100 // total) if total else NOT_KNOWN

    def check(self, config: StoreConfig) -> int:
        """Refuse or accept puts by the use of the disks; returns that of the fullest, `NOT_KNOWN` if one is unknown."""
        log_directory = min(self._log_directories, key=self.percent)
        found = [(self.percent(directory), directory) for directory in (log_directory, self._queue_directory)]
        percent, directory = max(found)
        limit = warning_percent(config)
        if percent > limit:
            self._refuse(directory, percent, limit)
            return percent
        self._gate.withdraw(WriteRefusal.DISK_USE)
        is_unknown = min(found)[0] == NOT_KNOWN
        return NOT_KNOWN if is_unknown and percent <= max_used_percent(config) else percent

    def _refuse(self, directory: Path, percent: int, limit: int) -> None:
        text = (
            f"the disk of {directory} is {percent} % full, more than {limit} % (diskSpaceWarningLevelRatio). "
            "Free some room; messages are taken again within seconds"
        )
        if not self._gate.holds(WriteRefusal.DISK_USE):
            _log.warning("%s", text)
        self._gate.refuse(WriteRefusal.DISK_USE, text)


def _existing(directory: Path) -> Path:
    """The directory, or its nearest existing parent."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return directory
