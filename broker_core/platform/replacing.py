"""Rename over a file, and removal of a file, also where another part of the program has it open.

Own way: the names change at once, and an open file can still be read (Linux, macOS). Plain way, Windows: a file that is open
or mapped keeps its name. A virus scanner or an indexer opens new files for a moment, so both are tried again for
`TRIES` × `PAUSE_S`; then a rename fails and leaves both files as they are, and a removal returns False.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

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
    for left in range(TRIES - 1, -1, -1):
        try:
            path.unlink(missing_ok=True)
        except PermissionError:
            if not left:
                return False
            time.sleep(PAUSE_S)
        else:
            break
    return True


replace: Callable[[Path, Path], None] = plain_replace
remove: Callable[[Path], bool] = plain_remove

if sys.platform != "win32" and not PLAIN:

    def _remove(path: Path) -> bool:
        path.unlink(missing_ok=True)
        return True

    replace, remove = os.replace, _remove
