"""Who may use the files that Orbit makes: nobody but their owner can write them, whatever the shell allows."""

from __future__ import annotations

import os

NOT_WRITABLE = 0o022
"""Bits that no file or folder of Orbit has: others of the group, and everybody, may write."""


def close_to_others() -> None:
    """Make files and folders from now on so that only their owner can write them; child processes inherit it.

    What the user's own mask denies beyond that stays denied. Call it at the start of the process, before other threads.
    """
    os.umask(os.umask(NOT_WRITABLE) | NOT_WRITABLE)
