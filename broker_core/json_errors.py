"""Errors of commands that print JSON: programs read on standard output what people read on the error output.

    {"error": "cannot connect to …", "kind": "NetworkError", "exit_code": 4}

One line, the last one; results never have the key ``error``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import NoReturn

from broker_core.errors import OrbitError, UsageError


def error_line(error: OrbitError) -> str:
    """An error as a line of JSON."""
    told = {"error": error.message, "kind": error.kind, "exit_code": error.exit_code}
    return json.dumps(told, ensure_ascii=False) + "\n"


def fail(command: str, error: OrbitError, *, as_json: bool) -> int:
    """Tell that a command failed; returns its exit code.

    Args:
        command: Such as ``orbit cluster``.
        error: Why.
        as_json: Whether programs are to be told too.
    """
    sys.stderr.write(f"{command}: {error.message}\n")
    if as_json:
        sys.stdout.write(error_line(error))
    return error.exit_code


class JsonParser(argparse.ArgumentParser):
    """A parser of a command with ``--json``, for which wrong arguments are an error as any other."""

    _is_json_wanted = False

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse arguments; wrong ones end the program with 2, as with any parser."""
        self._is_json_wanted = any(len(word) > len("--") and "--json".startswith(word) for word in argv)
        return self.parse_args(argv)

    def error(self, message: str) -> NoReturn:
        """Tell that an argument is wrong, and end the program."""
        if self._is_json_wanted:
            sys.stdout.write(error_line(UsageError(message)))
            sys.stdout.flush()
        super().error(message)
