"""A large incomplete frame, kept in a file without a name instead of in memory.

A slow peer with a frame of 16 MiB then costs room on the disk, not memory; the file is gone when its frame is complete, its
connection ends or the process dies. The written bytes stay in the system's cache while it has room: 4 MiB take half the time
of a growing buffer.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from broker_core.errors import FrameError


class FrameFile:
    """Bytes of one frame, in ``directory`` or, if that does not exist, in the system's directory of temporary files.

    Raises `FrameError` when the file cannot be made.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory if directory is not None and directory.is_dir() else None
        try:
            # Without a buffer, because the writes are reads of 64 KiB. Closed by `take` or `close`.
            self._file = tempfile.TemporaryFile(buffering=0, dir=self._directory)  # noqa: SIM115
        except OSError as error:
            raise self._failed(error) from error

    def append(self, data: bytes | bytearray) -> None:
        """Keep more bytes; raises `FrameError` when the disk is full or broken."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._file.close()
            raise self._failed(error) from error

    def take(self) -> bytes:
        """Return all bytes and close the file; raises `FrameError` when they cannot be read."""
        try:
            self._file.seek(0)
            return self._file.read()
        except OSError as error:
            raise self._failed(error) from error
        finally:
            self._file.close()

    def close(self) -> None:
        """Close the file. Safe to call again."""
        self._file.close()

    def _failed(self, error: OSError) -> FrameError:
        where = self._directory or tempfile.gettempdir()
        return FrameError(f"a large frame cannot be kept in {where} while it comes: {error.strerror}; make room there")
