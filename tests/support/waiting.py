"""Waiting for something that another thread or process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 90.0
"""Only what never comes fails: a busy machine may be ten times slower."""
PAUSE_S = 0.01


def wait_until(condition: Callable[[], object], what: str = "it did not come", *, deadline_s: float = DEADLINE_S) -> None:
    """Ask again and again whether a condition holds.

    Raises:
        AssertionError: It did not hold in time; says ``what``.
    """
    deadline = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(PAUSE_S)
