"""Room for a range of a file, so that a write to its mapping cannot fail for lack of it.

Own way: ``posix_fallocate`` (Linux). Plain way: every block of the range that holds only zeros is written, which makes the
system take room for it; blocks with data have theirs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final

from broker_core.platform import files
from broker_core.platform.ways import PLAIN

_BLOCK_BYTES: Final = 4096
_ZEROS: Final = bytes(_BLOCK_BYTES)


def plain_allocate(descriptor: int, position: int, size: int) -> None:
    """Reserve room for a range of a file. The caller alone writes to it meanwhile.

    Raises:
        OSError: There is no room (ENOSPC, EDQUOT, EFBIG).
    """
    end = position + size
    if os.fstat(descriptor).st_size < end:
        files.grow(descriptor, end)
    while position < end:
        wanted = min(_BLOCK_BYTES - position % _BLOCK_BYTES, end - position)
        if files.read_at(descriptor, wanted, position).count(0) == wanted:
            files.write_all_at(descriptor, memoryview(_ZEROS)[:wanted], position)
        position += wanted


allocate: Callable[[int, int, int], None] = plain_allocate

if sys.platform == "linux" and not PLAIN:
    allocate = os.posix_fallocate
