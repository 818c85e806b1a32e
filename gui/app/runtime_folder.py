"""The folder of the sockets of windows: nobody but this user can write there, whatever others have put in its place.

    $XDG_RUNTIME_DIR/orbit   the desktop's, where the session has one
    /run/user/UID/orbit      the same, where the variable is missing, as after ``su``
    TMPDIR/orbit-UID         made by Orbit; anybody can make a folder or a link of this name first
    CACHE/orbit/runtime      in the user's own cache

The first place that passes is used, so that two starts of one user meet. Source of the rules for the first place: XDG Base
Directory Specification 0.8, `$XDG_RUNTIME_DIR`.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from broker_core.platform import owners

PATH_BYTES_MAX = 107
"""Of a socket, on Linux; other systems have less by a few bytes."""
_SESSIONS = Path("/run/user")
"""Where systemd keeps a folder for each user with a session."""
_PRIVATE = 0o700


def runtime_folder(name_bytes: int = 0) -> Path | None:
    """The folder, made where it is missing; None where no place passes.

    Args:
        name_bytes: Length of the longest name in it; the path of a socket is limited.
    """
    for place, parent in _places():
        fits = len(os.fsencode(place)) + 1 + name_bytes <= PATH_BYTES_MAX
        if fits and _is_safe_parent(parent) and _is_made(place) and is_own_folder(place):
            return place
    return None


def is_own_folder(path: Path) -> bool:
    """Whether it is a folder, no link to one, that belongs to this user, and that nobody else can write."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and owners.is_own(found)


def _places() -> Iterator[tuple[Path, Path]]:
    """Places with the folder that must exist or be safe above each."""
    for base in (Path(os.environ.get("XDG_RUNTIME_DIR", "")), _SESSIONS / owners.user_name()):
        if base.is_absolute() and is_own_folder(base):
            yield base / "orbit", base
    shared = Path(tempfile.gettempdir())
    yield shared / f"orbit-{owners.user_name()}", shared
    cache = platformdirs.user_cache_path("orbit", appauthor=False)
    yield cache / "runtime", cache


def _is_safe_parent(folder: Path) -> bool:
    """Whether nobody else can rename what this user makes there: it is not writable for others, or it is sticky."""
    try:
        return not owners.others_may_rename(folder.stat())
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_made(folder: Path) -> bool:
    try:
        folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    except OSError:
        return False
    return True
