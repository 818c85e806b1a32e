"""What a command prints reaches its reader whatever the locale: no character ends it with an error."""

from __future__ import annotations

import codecs
import io
import locale
from typing import TextIO


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
