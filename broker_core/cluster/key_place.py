"""Access to a cluster by a program that gets the place of the secret and not the secret itself: a file, or the environment.

The place holds details as in `broker_core.cluster.details`. It may appear in plans, logs and command lines, its content must
not.
"""

from __future__ import annotations

import os
from pathlib import Path

from broker_core.client.instance import ClientSecurity
from broker_core.cluster.access import line_of_file
from broker_core.cluster.details import kept_as_of, security_of
from broker_core.cluster.history_folder import folder_of
from broker_core.errors import UsageError

ENVIRONMENT = "env:"
"""Prefix of a place that names a variable of the environment."""


def security_at(place: str) -> ClientSecurity | None:
    """Keys, TLS, address map and way of the details at a place: a file, ``env:NAME``, or empty for none.

    Raises `UsageError` when there is no line of details at that place, or others may read the file. Quotes no secret.
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
    """The default folder of a cluster's recorded history. Raises as `security_at`.

    The details at ``place`` may have earlier name servers, whose folder is used then.
    """
    return folder_of((kept_as_of(_line_at(place)) if place else "") or name_servers)
