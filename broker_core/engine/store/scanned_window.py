"""Stretches of good records for recovery: scanned by a kernel, or in columns where a record is out of the ordinary.

Both give the same windows. Columns need numpy, which takes 0.2 s to load.

Source: docs/spec/store.md §2.5, §10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from broker_core.config import StoreConfig
from broker_core.engine.store.machine_code import machine_code
from broker_core.native.unit_scan import QueueUnits, ScannedUnits, UnitScan
from broker_core.protocol.delay_levels import DelayLevels

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_core.engine.store.log_window import LogWindow, ScannedRecord


@dataclass(frozen=True, slots=True)
class ScannedWindow:
    """Good records of one file, one directly behind the other; never empty.

    Attributes:
        first_offset: Physical offset of the first record.
        end_offset: Physical offset behind the last one.
        last_store_ms: Store time of the last one.
        taken: Their units; None: they are made from the columns.
        columns: Reads the records again, in columns.
        first_taken: Physical offset from which on ``taken`` has units.
    """

    first_offset: int
    end_offset: int
    last_store_ms: int
    taken: list[QueueUnits] | None
    columns: Callable[[], LogWindow | None]
    first_taken: int = 0

    def unit_runs(self, start: int, end: int, levels: DelayLevels) -> list[QueueUnits] | None:
        """As `LogWindow.unit_runs`."""
        if self.taken is not None and end >= self.end_offset and max(start, self.first_offset) == self._first_unit_offset:
            return self.taken
        return self._in_columns().unit_runs(start, end, levels)

    @property
    def _first_unit_offset(self) -> int:
        return max(self.first_taken, self.first_offset)

    def records(self) -> Iterator[ScannedRecord]:
        return self._in_columns().records()

    def _in_columns(self) -> LogWindow:
        window = self.columns()
        assert window is not None, "the records are there"
        return window


class FileScan:
    """Scans commit log files.

    Args:
        config: Which checksums to verify, and whether machine code may be used.
    """

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        self._units = None if config.force_record_crc else UnitScan(machine_code(config))

    def window(self, mapped: memoryview, base: int, start: int, stop: int, first_taken: int) -> ScannedWindow | None:
        """Records from a position of a file on, up to the first fault; None if no good record starts there.

        Args:
            mapped: The whole file.
            base: Physical offset of its first byte.
            start: Position of the first record.
            stop: Position before which the last one must end.
            first_taken: Physical offset from which on units are wanted.
        """
        columns = partial(self._columns, mapped, base, start)
        check_crc = self._config.check_crc_on_recover
        scan = self._units
        found = scan and scan.window(mapped, base, start, stop, first_taken=first_taken, check_crc=check_crc)
        if isinstance(found, ScannedUnits):
            end = base + found.end
            return ScannedWindow(base + start, end, found.last_store_ms, found.queues, partial(columns, found.end), first_taken)
        window = columns(stop)
        if window is None:
            return None
        return ScannedWindow(base + start, base + window.heads.end, window.last_store_ms, None, lambda: window)

    def _columns(self, mapped: memoryview, base: int, start: int, stop: int) -> LogWindow | None:
        from broker_core.engine.store.log_window import good_records  # noqa: PLC0415  numpy, which machine code does without

        config = self._config
        return good_records(
            mapped, base, start, stop, check_crc=config.check_crc_on_recover, force_record_crc=config.force_record_crc
        )
