"""Access to the cluster of a report: by name servers, a saved connection, a file or details on standard input.

Spark's workers get the place of secret keys, never the keys. On Linux the place is memory, gone with this process; elsewhere a
file of mode 0600 that is removed after the report. A connection file is its own place.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator

from broker_core.cluster.access import FindSaved, access_of_environment, access_of_file, access_of_line
from broker_core.errors import UsageError
from broker_core.platform.secret_place import secret_place
from spark_reports.java import is_local


def is_cluster(arguments: argparse.Namespace) -> bool:
    return bool(arguments.ns or arguments.connection or arguments.connection_file)


@contextlib.contextmanager
def reached(arguments: argparse.Namespace, find_saved: FindSaved, handed: str | None = None) -> Iterator[None]:
    """Set the name servers and the place of details in the arguments (``ns``, ``details``) for the duration of the block.

    ``handed`` is the line of ``--connection-details`` if it was read already; else it is the next line of standard input.

    Raises:
        UsageError: There is no such connection, it is invalid, or Spark's workers on other machines could not read it.
    """
    if arguments.connection_file is not None:
        arguments.ns = access_of_file(arguments.connection_file).name_servers
        arguments.details = str(arguments.connection_file)
    line = _line(arguments, find_saved, handed)
    if line is None:
        yield
        return
    if not is_local(arguments.master):
        raise UsageError("workers of a Spark cluster find keys in a file only: give --connection-file, at the same path there")
    with secret_place(line) as place:
        arguments.details = place
        yield


def _line(arguments: argparse.Namespace, find_saved: FindSaved, handed: str | None) -> bytes | None:
    """Details that are not stored in a place yet; None: there are none."""
    if arguments.connection:
        line = find_saved(arguments.connection)
        arguments.ns = access_of_line(line, saved_as=arguments.connection).name_servers
        return line
    if arguments.connection_details:
        from broker_core.cluster.details import read_line

        return read_line(sys.stdin.fileno()) if handed is None else handed.encode()
    if not arguments.ns or arguments.connection_file is not None:
        return None
    credentials = access_of_environment(arguments.ns, os.environ).security.credentials
    if credentials is None:
        return None
    keys = {"accessKey": credentials.access_key, "secretKey": credentials.secret_key}
    return json.dumps({**keys, "securityToken": credentials.security_token or ""}).encode()
