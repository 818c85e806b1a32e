"""Whether anybody still reads what is written to a pipe.

Own way: poll, which reports the error of a pipe without a reader (Linux, macOS). Plain way, Windows: a failed write says it,
so a stream whose write has failed counts as unread.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Callable

from broker_core.platform.ways import PLAIN


def plain_is_unread(_descriptor: int) -> bool:
    """Whether the other end of a pipe is closed; asked after a write to one of several has failed."""
    return True


is_unread: Callable[[int], bool] = plain_is_unread

if sys.platform != "win32" and not PLAIN:

    def _is_unread(descriptor: int) -> bool:
        poll = select.poll()
        poll.register(descriptor, 0)
        return any(events & select.POLLERR for _, events in poll.poll(0))

    is_unread = _is_unread
