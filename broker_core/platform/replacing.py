"""Renames over a file, removals and second names of files, also where a file is in use.

need          own way (Linux, macOS)                       plain way (Windows)
replace       at once; an open file can still be read      a file that is open or mapped keeps its name: tried again
for `TRIES` × `PAUSE_S`, then an error; both stay as they are
remove        at once                                      False for a file that is in use; the caller keeps it, and
tries again later
second_name   a hard link                                  a copy, on the disk; so too where the disk has no links
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from broker_core.platform import files
from broker_core.platform.ways import PLAIN

TRIES: Final = 10
PAUSE_S: Final = 0.05


def plain_replace(source: Path, target: Path) -> None:
    """Rename a file over another, or to a free name.

    Raises:
        OSError: It is not possible; both are as before.
    """
    for left in range(TRIES - 1, -1, -1):
        try:
            os.replace(source, target)  # noqa: PTH105  as `os.replace` is the other way
        except PermissionError:
            if not left:
                raise
            time.sleep(PAUSE_S)
        else:
            return


def plain_remove(path: Path) -> bool:
    """Remove a file; returns False where it is in use and stays. A missing one counts as removed.

    Raises:
        OSError: The system refuses for another reason.
    """
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        return False
    return True


def plain_second_name(path: Path, name: Path) -> None:
    """Give a file a second name, which keeps its content when the first is replaced.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: The system refuses.
    """
    content, mode = path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
    descriptor = files.open_new(name, mode)
    try:
        files.write_all_at(descriptor, content, 0)
        files.sync_data(descriptor)
    finally:
        os.close(descriptor)


replace: Callable[[Path, Path], None] = plain_replace
remove: Callable[[Path], bool] = plain_remove
second_name: Callable[[Path, Path], None] = plain_second_name

if sys.platform != "win32" and not PLAIN:
    _NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)

    def _remove(path: Path) -> bool:
        path.unlink(missing_ok=True)
        return True

    def _second_name(path: Path, name: Path) -> None:
        try:
            os.link(path, name)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            plain_second_name(path, name)

    replace, remove, second_name = os.replace, _remove, _second_name
