"""What a command prints reaches its reader whatever the locale, and a reader that is gone ends the command without a word."""

from __future__ import annotations

import codecs
import errno
import io
import locale
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from broker_core.platform import pipes

EXIT_PIPE_CLOSED = 141
"""As of a program that the signal of a closed pipe ends: 128 + SIGPIPE."""
EXIT_UNWRITABLE = 1
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def run_command(run: Callable[[], int]) -> int:
    """Run a command and write what it printed; returns the exit code of the process.

    A reader that ends early, such as ``head``, ends the command with 141 and no message. Where the output cannot be written, as
    on a full disk, one line says so.
    """
    _open_missing()
    try:
        code = _code_of(run)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except BrokenPipeError:
        if not _drop_unread():
            raise
        return EXIT_PIPE_CLOSED
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        _drop(sys.stdout)
        try:
            sys.stderr.write(f"orbit: the output cannot be written: {error.strerror}\n")
        except OSError:  # that of errors cannot be written either
            _drop(sys.stderr)
        return EXIT_UNWRITABLE
    return code


def _code_of(run: Callable[[], int]) -> int:
    """Exit code of the command, also where the parser of arguments ends the program."""
    try:
        return run()
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        return end.code or 0


def _open_missing() -> None:
    """Let the standard streams that the parent closed lead nowhere, so that no file takes their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  open as long as the process lives


def _drop_unread() -> bool:
    """Drop what is still to be written to streams without a reader; returns whether there is such a stream."""
    closed = [stream for stream in (sys.stdout, sys.stderr) if pipes.is_unread(stream.fileno())]
    for stream in closed:
        _drop(stream)
    return bool(closed)


def _drop(stream: TextIO) -> None:
    """Lead a stream nowhere, because Python would complain when it flushes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def settle(*streams: TextIO) -> None:
    """Write UTF-8 to files and pipes, and its own encoding to a terminal; what that lacks is written as an escape."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            encoding = terminal_encoding(locale.getencoding()) if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def terminal_encoding(of_locale: str) -> str:
    """The encoding of a terminal; UTF-8 where the locale (C, POSIX) or this Python knows nothing better."""
    try:
        name = codecs.lookup(of_locale).name
    except LookupError:
        return "utf-8"
    return "utf-8" if name == "ascii" else name
