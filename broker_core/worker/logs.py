"""Where the engine's log goes: a rotating file, and standard error."""

from __future__ import annotations

import hashlib
import logging
import logging.handlers
import sys
import time
from pathlib import Path

import platformdirs

LOG_FILE_BYTES_MAX = 5 * 1024 * 1024
LOG_FILES_KEPT = 3


def log_file_of(store: Path, log_directory: Path | None = None) -> Path:
    """The log of the worker of a store. Each store has its own, as rotation suffers no second writer."""
    directory = log_directory or Path(platformdirs.user_log_dir("orbit", appauthor=False))
    digest = hashlib.sha256(str(store.absolute()).encode()).hexdigest()[:8]
    return directory / f"broker-{digest}.log"


def start_logging(log_file: Path | None, *, level: int = logging.INFO) -> None:
    """Send the log to standard error, and to a file where one is given and can be written."""
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
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
    logging.basicConfig(level=level, handlers=handlers, force=True)
    logging.captureWarnings(capture=True)
    if refused:
        logging.getLogger(__name__).warning(refused)
