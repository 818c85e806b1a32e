"""Checks that a Spark master answers before Java starts, because Spark itself retries for minutes."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence

from broker_core.errors import NetworkError, UsageError
from spark_reports.java import is_local

TIMEOUT_S = 5.0
_STANDALONE, _CONNECT = "spark://", "sc://"
_CONNECT_PORT = 15_002
_ADDRESS = re.compile(r"(\[[^\]]+\]|[^:/\[\]]+)(?::(\d{1,5}))?")
_MANAGED = re.compile(r"yarn|k8s://.+")
"""Their addresses are in Spark's own settings, or are those of a web server."""


def require_master(master: str) -> None:
    """Check a master and connect to it.

    Raises:
        UsageError: The address is invalid.
        NetworkError: None of its addresses accepts a connection.
    """
    if is_local(master) or _MANAGED.fullmatch(master):
        return
    reasons = []
    for host, port in _addresses(master):
        try:
            socket.create_connection((host, port), TIMEOUT_S).close()
        except (OSError, OverflowError) as error:
            reasons.append(getattr(error, "strerror", None) or str(error))
        else:
            return
    raise NetworkError(
        f"the Spark master {master} cannot be reached: {', '.join(dict.fromkeys(reasons))}. Check its address, and whether it "
        "runs.",
        master=master,
    )


def _addresses(master: str) -> Sequence[tuple[str, int]]:
    if master.startswith(_STANDALONE):
        texts, usual = master.removeprefix(_STANDALONE).split(","), None
    else:
        texts, usual = [master.removeprefix(_CONNECT).partition("/")[0]], _CONNECT_PORT
    found = [_ADDRESS.fullmatch(text) for text in texts]
    addresses = [(one[1].strip("[]"), int(one[2] or usual or 0)) for one in found if one is not None]
    if not master.startswith((_STANDALONE, _CONNECT)) or len(addresses) < len(texts) or not all(port for _, port in addresses):
        raise UsageError(
            f"“{master}” is no Spark master. Use local[*], spark://HOST:PORT, sc://HOST:PORT, yarn or k8s://https://HOST:PORT.",
            master=master,
        )
    return addresses
