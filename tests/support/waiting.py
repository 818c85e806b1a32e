"""Waiting for something that another thread or process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 90.0
"""Only what never comes fails: a busy machine may be ten times slower."""
PAUSE_S = 0.01
LOOK_PAUSE_S = 0.25
"""Between two looks at all messages of a store."""


def wait_until(
    condition: Callable[[], object],
    what: str | Callable[[], str] = "it did not come",
    *,
    deadline_s: float = DEADLINE_S,
    pause_s: float = PAUSE_S,
) -> None:
    """Ask again and again whether a condition holds, with a pause before each further time.

    Raises:
        AssertionError: It did not hold in time; says ``what``.
    """
    deadline = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < deadline, what if isinstance(what, str) else what()
        time.sleep(pause_s)
