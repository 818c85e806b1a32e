"""Details of a connection that were handed over an input: they get a place that only this user's processes can read.

Spark's workers are told the place. On Linux it is memory, gone with this process; elsewhere a file of mode 0600 that is removed
when the report is over.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from broker_core.errors import UsageError
from broker_core.queue_reading.access import read_details_line
from spark_reports.java import is_local

STANDARD_INPUT = "-"
_FILE_MODE = 0o600


@contextlib.contextmanager
def given_details(arguments: argparse.Namespace, handed: str | None = None) -> Iterator[None]:
    """Have the details that ``--details -`` announces at a place while the block runs; it stands in the arguments then.

    Args:
        arguments: As parsed; changed.
        handed: The details, if they were read already; None: they are the next line of standard input.

    Raises:
        UsageError: They do not come, or Spark's workers on other machines could not read them.
    """
    if arguments.details != STANDARD_INPUT:
        yield
        return
    if not is_local(arguments.master):
        raise UsageError("--details - works on this machine only: workers of a Spark cluster need a file or env:NAME there")
    text = read_details_line(sys.stdin.fileno()) if handed is None else handed.encode()
    with _place_of(text) as place:
        arguments.details = place
        yield


@contextlib.contextmanager
def _place_of(text: bytes) -> Iterator[str]:
    if sys.platform == "linux":
        number = os.memfd_create("orbit-connection")
        try:
            os.fchmod(number, _FILE_MODE)
            os.write(number, text)
            yield f"/proc/{os.getpid()}/fd/{number}"
        finally:
            os.close(number)
    else:
        yield from _file_of(text)


def _file_of(text: bytes) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="orbit-connection-") as folder:
        path = Path(folder) / "details.json"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "wb") as file:
            file.write(text)
        yield str(path)
