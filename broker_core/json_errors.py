"""Errors of commands with ``--json``: standard output gets the error as JSON, the error output gets it as text.

    {"error": "cannot connect to …", "kind": "NetworkError", "exit_code": 4}

It is the last line; results never have the key ``error``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import NoReturn

from broker_core.errors import OrbitError, UsageError


def error_line(error: OrbitError) -> str:
    told = {"error": error.message, "kind": error.kind, "exit_code": error.exit_code}
    return json.dumps(told, ensure_ascii=False) + "\n"


def fail(command: str, error: OrbitError, *, as_json: bool = False) -> int:
    """Report the failure of a command, such as ``orbit cluster``; returns its exit code."""
    sys.stderr.write(f"{command}: {error.message}\n")
    if as_json:
        sys.stdout.write(error_line(error))
    return error.exit_code


class JsonParser(argparse.ArgumentParser):
    """A parser of a command with ``--json`` that reports wrong arguments as JSON too."""

    _is_json_wanted = False

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse arguments; wrong ones end the program with 2, as with any parser."""
        self._is_json_wanted = any(len(word) > len("--") and "--json".startswith(word) for word in argv)
        return self.parse_args(argv)

    def error(self, message: str) -> NoReturn:
        """Report a wrong argument, and end the program."""
        if self._is_json_wanted:
            sys.stdout.write(error_line(UsageError(message)))
            sys.stdout.flush()
        super().error(message)
