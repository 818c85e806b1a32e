"""The zone of this process after a change of ``TZ``.

Own way: tzset (Linux, macOS). Plain way, Windows: the zone of the start stays.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from broker_core.platform.ways import PLAIN


def plain_read_zone() -> None:
    """Take over ``TZ`` in what this process does from now on, where the system can."""


read_zone: Callable[[], None] = plain_read_zone

if sys.platform != "win32" and not PLAIN:
    read_zone = time.tzset
