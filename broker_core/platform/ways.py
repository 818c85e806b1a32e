"""Whether this process takes the plain ways: those that need nothing of the system that only some systems have.

Each module of this package is the one place for one need of the system. It binds a function once, when it is imported: the
system's own way where it exists, else a plain one. The plain one of ``read_at`` is called ``plain_read_at``. Callers write
``files.read_at(…)``, so that a test can put the plain one in its place.

``ORBIT_PLATFORM=plain`` makes a process, and its children, take the plain ways on every system.
"""

from __future__ import annotations

import os
from typing import Final

SWITCH: Final = "ORBIT_PLATFORM"
PLAIN: Final = os.environ.get(SWITCH) == "plain"
