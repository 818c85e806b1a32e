"""The folder of one result: written next to its place under another name and moved there when complete."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from broker_core.errors import ReportError, UsageError

MANIFEST = "manifest.json"
PAGE = "report.html"
CHARTS = "charts.json"


def check_target(out: Path) -> None:
    """Check that the result can be written, before any work is done.

    Raises:
        UsageError: Something else exists there.
        ReportError: This user cannot write there.
    """
    if out.exists() and not _is_result(out):
        what = "is a file" if not out.is_dir() else "holds other files and no manifest.json of an earlier report"
        raise UsageError(f"{out} {what}. Name a new or empty folder with --out DIR.", path=str(out))
    parent = out.absolute().parent
    while not parent.exists():
        parent = parent.parent
    try:
        tempfile.TemporaryDirectory(prefix=".orbit-", dir=parent).cleanup()
    except OSError as error:
        raise ReportError(
            f"the result cannot be written to {out}: {parent} takes no new folder from this user ({error.strerror}). "
            "Choose another folder with --out DIR.",
            path=str(out),
        ) from error


def _is_result(out: Path) -> bool:
    return out.is_dir() and ((out / MANIFEST).is_file() or not any(out.iterdir()))


@contextlib.contextmanager
def result_folder(out: Path) -> Iterator[Path]:
    """A folder to write to, renamed to ``out`` when the block ends well, else removed. `ReportError` if the disk is full."""
    target = out.absolute()
    partial = target.parent / f".{target.name}.partial-{os.getpid()}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
        yield partial
        _replace(target, partial)
    except OSError as error:
        raise ReportError(
            f"the result could not be written to {target}: {error.strerror}. "
            "Free some room or choose another folder with --out DIR.",
            path=str(target),
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _replace(target: Path, partial: Path) -> None:
    """Rename the new result to its place; an earlier one is removed only after that."""
    if not target.exists():
        partial.rename(target)
        return
    former = target.parent / f".{target.name}.former-{os.getpid()}"
    target.rename(former)
    try:
        partial.rename(target)
    except OSError:
        former.rename(target)
        raise
    shutil.rmtree(former, ignore_errors=True)
