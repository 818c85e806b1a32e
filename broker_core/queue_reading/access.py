"""How a cluster is reached by a program that is told a place and not the secret itself: a file, or the environment.

    {"accessKey": …, "secretKey": …, "tls": true, "authority": FILE, "addresses": {…}}   (`broker_core.worker.attached.details`)

The place may stand in plans, logs and command lines, which what it holds must not.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from broker_core.client.instance import ClientSecurity
from broker_core.errors import UsageError
from broker_core.worker.attached.details import LINE_BYTES_MAX, read_line, security_of
from broker_core.worker.attached.recording import folder_of

ENVIRONMENT = "env:"
"""A place that begins so names a variable of the environment."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def security_at(place: str) -> ClientSecurity | None:
    """Keys, TLS and address map that lie at a place; None for none.

    Args:
        place: A file, ``env:NAME``, or empty for a plain cluster.

    Raises:
        UsageError: There is nothing at that place, it is none of these, or others may read the file. Quotes no secret.
    """
    if not place:
        return None
    return security_of(
        _from_environment(place.removeprefix(ENVIRONMENT)) if place.startswith(ENVIRONMENT) else _from_file(place)
    )


def _from_environment(name: str) -> bytes:
    text = os.environ.get(name)
    if not text:
        raise UsageError(
            f"the environment has no variable {name}: it is to hold the details of the connection as a JSON object, also where "
            "Spark's workers run"
        )
    return text.encode()


def _from_file(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            is_open = sys.platform != "win32" and os.fstat(file.fileno()).st_mode & _OTHERS
            content = file.read(LINE_BYTES_MAX + 1)
    except OSError as error:
        text = f"the details of the connection in {path} cannot be read: {error.strerror}"
        raise UsageError(text, path=path) from error
    if is_open:
        raise UsageError(f"{path} can be read by others, and it is to hold keys. Close it: chmod 600 {path}", path=path)
    if len(content) > LINE_BYTES_MAX:
        raise UsageError(f"{path} is longer than {LINE_BYTES_MAX:,} bytes: it holds no details of a connection", path=path)
    return content


def history_folder(name_servers: str) -> Path:
    """The folder in which Orbit records the history of a cluster unless another is given."""
    return folder_of(name_servers)


def read_details_line(fd: int) -> bytes:
    """A line of details from a descriptor, and not a byte more; raises as `broker_core.worker.attached.details.read_line`."""
    return read_line(fd)
