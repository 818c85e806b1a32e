"""How a cluster is reached by a program that is told a place and not the secret itself: a file, or the environment.

What lies there are details as in `broker_core.cluster.details`. The place may stand in plans, logs and command lines,
which what it holds must not.
"""

from __future__ import annotations

import os
from pathlib import Path

from broker_core.client.instance import ClientSecurity
from broker_core.cluster.access import line_of_file
from broker_core.cluster.details import kept_as_of, read_line, security_of
from broker_core.cluster.history_folder import folder_of
from broker_core.errors import UsageError

ENVIRONMENT = "env:"
"""A place that begins so names a variable of the environment."""


def security_at(place: str) -> ClientSecurity | None:
    """Keys, TLS, address map and the way there that lie at a place; None for none.

    Args:
        place: A file, ``env:NAME``, or empty for a plain cluster.

    Raises:
        UsageError: There is nothing at that place, it is none of these, or others may read the file. Quotes no secret.
    """
    return security_of(_line_at(place)) if place else None


def _line_at(place: str) -> bytes:
    if place.startswith(ENVIRONMENT):
        return _from_environment(place.removeprefix(ENVIRONMENT))
    return line_of_file(Path(place))


def _from_environment(name: str) -> bytes:
    text = os.environ.get(name)
    if not text:
        raise UsageError(
            f"the environment has no variable {name}: it is to hold the details of the connection as a JSON object, also where "
            "Spark's workers run"
        )
    return text.encode()


def history_folder(name_servers: str, place: str = "") -> Path:
    """The folder in which Orbit records the history of a cluster unless another is given.

    Args:
        name_servers: Of the cluster.
        place: Where its details lie, as in `security_at`; they may say that it had other name servers once.

    Raises:
        UsageError: As `security_at`.
    """
    return folder_of((kept_as_of(_line_at(place)) if place else "") or name_servers)


def read_details_line(fd: int) -> bytes:
    """A line of details from a descriptor, and not a byte more; raises as `broker_core.cluster.details.read_line`."""
    return read_line(fd)
