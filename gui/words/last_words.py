"""What a process wrote last before it ended, for people: without times, levels and names of Python modules. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z (?P<level>[A-Z]+) [\w.]+: (?P<text>.*)")
"""The format of `broker_core.worker.logs`."""
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_]\w*): (?P<text>.+)")
_STACK_LINES = ("Traceback ", "Current thread ", "Thread ", "Extension modules: ")
"""Of tracebacks, and of `faulthandler`."""
_CAUSES = ("ERROR", "CRITICAL")


def last_words(lines: Iterable[str]) -> str:
    """The newest line that may say why a process ended; empty if there is none.

    Lines of the log below the level ERROR report its daily work. Of a traceback the last line is the one that says something.
    """
    for line in reversed(list(lines)):
        logged = _LOG_LINE.fullmatch(line.strip())
        if logged is not None:
            if logged["level"] in _CAUSES:
                return logged["text"]
            continue
        if not line.strip() or line[:1].isspace() or line.startswith(_STACK_LINES):
            continue
        raised = _EXCEPTION.fullmatch(line.strip())
        is_error = raised is not None and raised["name"].endswith(("Error", "Exception", "Interrupt", "Exit"))
        return raised["text"] if raised is not None and is_error else line.strip()
    return ""
