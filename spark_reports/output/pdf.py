"""The page as PDF, printed by a browser of this machine: Chromium, Chrome or Edge, without a window or network."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from broker_core.children import environment
from broker_core.errors import ReportError, UsageError
from broker_core.platform.owners import is_superuser
from broker_core.platform.programs import BROWSERS

PDF = "report.pdf"
PRINT_TIMEOUT_S = 180
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")


def find_browser() -> Path:
    """The browser that prints; raises `UsageError` if there is none."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    found = found or next((name for name in BROWSERS if Path(name).is_file()), None)
    if found is None:
        raise UsageError(
            "a PDF is printed by Chromium, Chrome or Edge, and none of them is on the PATH. Install one, or leave --also pdf "
            "away: report.html prints well from any browser."
        )
    return Path(found)


def print_page(page: Path, browser: Path) -> str:
    """Print a page next to itself; return the name of the file. Raises `ReportError` if the browser failed."""
    target = page.with_name(PDF)
    with tempfile.TemporaryDirectory(prefix="orbit-pdf-") as profile:
        command = [str(browser), "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions",
                   f"--user-data-dir={profile}", "--no-pdf-header-footer", "--virtual-time-budget=10000",
                   "--window-size=1280,1000",  # charts are drawn for a window and scaled to the paper
                   *_sandbox(), f"--print-to-pdf={target.absolute()}", page.absolute().as_uri()]  # fmt: skip
        try:
            run = subprocess.run(
                command, capture_output=True, encoding="utf-8", errors="replace", timeout=PRINT_TIMEOUT_S, check=False,
                env=environment(),
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise ReportError(
                f"{browser} did not print the page within {PRINT_TIMEOUT_S} s. Print report.html by hand."
            ) from error
    if run.returncode or not target.is_file():
        lines = run.stderr.strip().splitlines() or ["nothing"]
        raise ReportError(f"{browser} could not print the page; it says: {lines[-1]}. Print report.html by hand.")
    return PDF


def _sandbox() -> list[str]:
    """The browser refuses its sandbox to the superuser; it opens only our own page, without a network."""
    return ["--no-sandbox"] if is_superuser() else []
