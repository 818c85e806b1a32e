"""Memory of the window process with every page open, beside a bare PySide6 window.

    python -m benchmarks.gui.memory [--topics N] [--groups N]

Each is a process of its own. Figures are the memory that is the process's alone plus its part of what is shared (PSS), and the
resident set (RSS). Wanted: at most 250 MiB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

CHECKOUT = Path(__file__).resolve().parents[2]
SETTLE_S = 10.0
CHILD_TIMEOUT_S = 1_200


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=1_000)
    parser.add_argument("--groups", type=int, default=2_000)
    parser.add_argument("--child", choices=("bare", "orbit"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child == "bare":
        bare()
    elif arguments.child == "orbit":
        orbit(arguments.topics, arguments.groups)
    else:
        for kind in ("bare", "orbit"):
            counts = ["--topics", str(arguments.topics), "--groups", str(arguments.groups)]
            command = [sys.executable, "-m", "benchmarks.gui.memory", "--child", kind, *counts]
            subprocess.run(command, check=True, cwd=CHECKOUT, timeout=CHILD_TIMEOUT_S)


def bare() -> None:
    """An empty main window."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication, QMainWindow

    application = QApplication(sys.argv[:1])
    window = QMainWindow()
    window.resize(1_440, 900)
    window.show()
    application.processEvents()
    tell("bare PySide6 window")


def orbit(topics: int, groups: int) -> None:
    """Orbit with all pages open and figures coming."""
    from benchmarks.gui.frames import create_topics
    from benchmarks.gui.running import Running
    from gui.views.registry import PAGES

    with tempfile.TemporaryDirectory(prefix="orbit-memory-") as folder, Running(Path(folder)) as running:
        tell("Orbit, frame")
        create_topics(running, topics, groups)
        for entry in PAGES:
            running.window.navigate(entry.page_id)
            running.wait(0.5)
        running.play_demo(SETTLE_S)
        tell(f"Orbit, {len(PAGES)} pages, {topics:,} topics, {groups:,} groups")


def tell(what: str) -> None:
    """Print what this process takes."""
    memory = psutil.Process().memory_full_info()
    pss = getattr(memory, "pss", memory.rss)
    print(f"{what:46} PSS {pss / 2**20:6.0f} MiB   RSS {memory.rss / 2**20:6.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
