"""The engine's log: a rotating file, and standard error."""

from __future__ import annotations

import hashlib
import logging
import logging.handlers
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import platformdirs

LOG_FILE_BYTES_MAX = 5 * 1024 * 1024
LOG_FILES_KEPT = 3

BURST_LINES = 20
BURST_SECONDS = 60.0
_BURST_KINDS_MAX = 1_000
_DECIDED = "passes_burst_filter"


@dataclass(slots=True)
class _Window:
    since: float
    lines: int = 0


class BurstFilter(logging.Filter):
    """Leaves out lines that arrive in bursts, so that a faulty client cannot fill the log; the log says so.

    Lines are of one kind when logger, level and text before its values are the same. Of each kind ``lines_max`` pass in
    ``window_seconds``. One filter serves all handlers: its decision about a line holds for each.
    """

    def __init__(self, *, lines_max: int = BURST_LINES, window_seconds: float = BURST_SECONDS) -> None:
        super().__init__()
        self._lines_max = lines_max
        self._window_seconds = window_seconds
        self._windows: dict[tuple[str, int, str], _Window] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written; the first and the last of a burst also report the lines left out."""
        decided = record.__dict__.setdefault(_DECIDED, None)
        if decided is None:
            decided = record.__dict__[_DECIDED] = self._decide(record)
        return bool(decided)

    def _decide(self, record: logging.LogRecord) -> bool:
        kind = (record.name, record.levelno, str(record.msg))
        window = self._windows.get(kind)
        if window is None or record.created - window.since >= self._window_seconds:
            if len(self._windows) >= _BURST_KINDS_MAX:
                self._windows.clear()
            left_out = 0 if window is None else window.lines - self._lines_max
            window = self._windows[kind] = _Window(record.created)
            if left_out > 0:
                record.msg = f"{record.msg} ({left_out:,} lines like this were left out before)"
        window.lines += 1
        if window.lines == self._lines_max:
            record.msg = f"{record.msg} (more lines like this are left out for up to {self._window_seconds:.0f} s)"
        return window.lines <= self._lines_max


def log_file_of(store: Path, log_directory: Path | None = None) -> Path:
    """The log of the worker of a store. Each store has its own, because rotation suffers no second writer."""
    directory = log_directory or Path(platformdirs.user_log_dir("orbit", appauthor=False))
    digest = hashlib.sha256(str(store.absolute()).encode()).hexdigest()[:8]
    return directory / f"broker-{digest}.log"


def start_logging(log_file: Path | None, *, level: int = logging.INFO) -> None:
    """Send the log to standard error, and to ``log_file`` where it can be written."""
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    bursts = BurstFilter()
    refused = ""
    if log_file is not None:
        try:
            log_file.parent.mkdir(parents=True, exist_ok=True)
            handlers.append(
                logging.handlers.RotatingFileHandler(
                    log_file, maxBytes=LOG_FILE_BYTES_MAX, backupCount=LOG_FILES_KEPT, encoding="utf-8"
                )
            )
        except OSError as error:
            # A broker without a log file is better than none.
            refused = f"no log file: {error}"
    for handler in handlers:
        handler.setFormatter(formatter)
        handler.addFilter(bursts)
    logging.basicConfig(level=level, handlers=handlers, force=True)
    logging.captureWarnings(capture=True)
    if refused:
        logging.getLogger(__name__).warning(refused)
