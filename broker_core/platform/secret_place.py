"""A path of secret text for a child process of this user, for as long as it needs it.

Own way: a file in memory that has no name in a directory (``memfd``, Linux). Plain way: a file that this user alone may read,
in a directory of its own, which is removed afterwards.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from broker_core.platform import files
from broker_core.platform.ways import PLAIN

_MODE: Final = 0o600


@contextlib.contextmanager
def plain_secret_place(text: bytes) -> Iterator[str]:
    """The path at which a child of this user reads ``text``, while the block lasts."""
    with tempfile.TemporaryDirectory(prefix="orbit-connection-") as folder:
        path = Path(folder) / "details.json"
        with os.fdopen(files.open_new(path, _MODE), "wb") as file:
            file.write(text)
        yield str(path)


secret_place: Callable[[bytes], AbstractContextManager[str]] = plain_secret_place

if sys.platform == "linux" and not PLAIN:

    @contextlib.contextmanager
    def _secret_place(text: bytes) -> Iterator[str]:
        number = os.memfd_create("orbit-connection")
        try:
            os.fchmod(number, _MODE)
            os.write(number, text)
            yield f"/proc/{os.getpid()}/fd/{number}"
        finally:
            os.close(number)

    secret_place = _secret_place
