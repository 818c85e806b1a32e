"""From exec to the first painted frame: Orbit's window against a bare PySide6 window, in turn, as whole processes.

    python benchmarks/window_start.py [--rounds N]

Prints medians in milliseconds and the ratio of the medians; runs offscreen, on a store and settings of its own.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
CHILD_TIMEOUT_S = 120


def bare_window() -> None:
    """Show an empty main window and leave after its first paint event."""
    from PySide6.QtCore import QTimer
    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QApplication, QMainWindow

    class Bare(QMainWindow):
        def paintEvent(self, event: QPaintEvent) -> None:
            super().paintEvent(event)
            tell_painted()
            QTimer.singleShot(0, QApplication.quit)

    application = QApplication(sys.argv[:1])
    window = Bare()
    window.resize(1440, 900)
    window.show()
    application.exec()


def orbit_window(folder: Path) -> None:
    """Show Orbit's window and close it after its first paint event."""
    gc.disable()  # as `main` does
    from PySide6.QtGui import QPaintEvent

    from gui.app.console import Console, make_application
    from gui.app.window_options import WindowOptions
    from gui.main_window.window import MainWindow
    from gui.processes.worker_options import WorkerArguments

    original = MainWindow.paintEvent

    def paint_and_tell(window: MainWindow, event: QPaintEvent) -> None:
        original(window, event)
        tell_painted()  # before Orbit goes on with pages and worker

    setattr(MainWindow, "paintEvent", paint_and_tell)  # noqa: B010  a plain assignment is no method to the type checker
    worker = WorkerArguments(folder / "store", name_server_port=0, broker_port=0)
    application = make_application()
    console = Console(application, WindowOptions(worker, settings_file=folder / "window.ini"))
    console.window.first_painted.connect(console.window.close)
    console.window.show()
    application.exec()


def tell_painted() -> None:
    """Say when the first frame was painted, on the clock that parent and child share."""
    print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), flush=True)


def measure(kind: str) -> float:
    """Milliseconds from exec to the first frame of one run."""
    with tempfile.TemporaryDirectory(prefix="orbit-window-") as folder:
        command = [sys.executable, str(Path(__file__)), "--child", kind, "--folder", folder]
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(CHECKOUT)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as ./orbit does: modules are compiled once
        started_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True, timeout=CHILD_TIMEOUT_S)
    return (int(done.stdout.split()[0]) - started_ns) / 1e6


def main() -> None:
    """Measure both in turn and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--child", choices=("bare", "orbit"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child == "bare":
        bare_window()
    elif arguments.child == "orbit":
        orbit_window(arguments.folder)
    else:
        compare(arguments.rounds)


def compare(rounds: int) -> None:
    """Alternate the two, once each to warm the file cache, then ``rounds`` times."""
    measure("bare"), measure("orbit")
    pairs = [(measure("bare"), measure("orbit")) for _ in range(rounds)]
    bare, orbit = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(one[1] / one[0] for one in pairs)
    print(f"bare window {bare:.0f} ms, Orbit {orbit:.0f} ms, ratio {orbit / bare:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    main()
