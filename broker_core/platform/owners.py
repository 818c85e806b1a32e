"""Who owns a file, and who may read it.

Own way: user numbers and permission bits (Linux, macOS). Plain way, Windows: the access lists of a user's folders keep other
users out, and permission bits say nothing; a file there counts as its user's own.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from typing import Final

_OTHERS_MAY: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def plain_others_may_read(status: os.stat_result) -> bool:
    """Whether other users may read, write or run a file."""
    return False


def plain_others_may_rename(status: os.stat_result) -> bool:
    """Whether other users may rename or delete what this user makes in a folder."""
    return False


def plain_is_own(status: os.stat_result, *, or_root: bool = False) -> bool:
    """Whether a file belongs to this user, or with ``or_root`` to the superuser, and no other user may write it."""
    return True


def plain_is_superuser() -> bool:
    """Whether this process runs as the superuser."""
    return False


def plain_user_name() -> str:
    """Tells this user from others in names of files that all users share; Windows has no such places."""
    return "user"


def plain_user_text() -> str:
    """Names the user in a message."""
    return "this user"


others_may_read: Callable[[os.stat_result], bool] = plain_others_may_read
others_may_rename: Callable[[os.stat_result], bool] = plain_others_may_rename
is_own = plain_is_own
is_superuser: Callable[[], bool] = plain_is_superuser
user_text: Callable[[], str] = plain_user_text
user_name: Callable[[], str] = plain_user_name

if sys.platform != "win32":

    def _others_may_read(status: os.stat_result) -> bool:
        return bool(status.st_mode & _OTHERS_MAY)

    def _is_own(status: os.stat_result, *, or_root: bool = False) -> bool:
        owners = {os.getuid(), 0} if or_root else {os.getuid()}
        return status.st_uid in owners and not status.st_mode & _OTHERS_WRITE

    def _is_superuser() -> bool:
        return os.geteuid() == 0

    def _user_text() -> str:
        return f"this user (uid {os.getuid()})"

    def _others_may_rename(status: os.stat_result) -> bool:
        return bool(status.st_mode & _OTHERS_WRITE) and not status.st_mode & stat.S_ISVTX

    def _user_name() -> str:
        return str(os.geteuid())

    others_may_read, others_may_rename, is_own = _others_may_read, _others_may_rename, _is_own
    is_superuser, user_text, user_name = _is_superuser, _user_text, _user_name
