"""The longest turns of the GUI thread: each page opened for the first and the second time, theme and language switched.

    python -m benchmarks.gui.stalls [--profile PAGE] [--reports COUNT]

A real worker runs with demo traffic. Figures are processor time of the GUI thread in ms, then time by the clock; nothing
should keep it longer than 50 ms. A bare window restyled by the same style sheet stands beside the theme switch. ``--reports``
runs so many reports from the window over the demo's store, and tells of each the longest turn until its result is shown.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLabel, QMainWindow

from benchmarks.gui.running import Running
from gui.theme.manager import ThemeMode
from gui.theme.style import style_sheet
from gui.theme.tokens import DARK, LIGHT
from gui.views.registry import PAGES
from spark_reports.catalog import ReportSpec, reports
from tests.support.loop_watch import LoopWatch

SETTLE_S = 1.2
REPORT_TIMEOUT_S = 120.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", metavar="PAGE", help="where the time of opening a page, or of `theme`, goes")
    parser.add_argument("--reports", type=int, default=0, metavar="COUNT", help="run so many reports too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="orbit-stalls-") as folder, Running(Path(folder)) as running:
        running.play_demo(3.0)
        watch = LoopWatch()

        def measure(what: str, act: Callable[[], None]) -> None:
            profile = cProfile.Profile() if arguments.profile == what else None
            watch.take()
            QTimer.singleShot(0, lambda: profile.runcall(act) if profile else act())
            running.wait(SETTLE_S)
            seen = watch.take()
            print(f"{what:28} {seen.worst_cpu_ms:7.1f} ms  ({seen.worst_late_ms:.1f} ms by the clock)")
            if profile:
                pstats.Stats(profile).sort_stats("cumulative").print_stats(45)

        window = running.window
        for entry in PAGES:
            measure(entry.page_id, partial(window.navigate, entry.page_id))
        for entry in PAGES:
            measure(f"{entry.page_id} again", partial(window.navigate, entry.page_id))
        for mode in (ThemeMode.LIGHT, ThemeMode.DARK):
            name = "theme" if mode is ThemeMode.DARK else "theme, first"
            measure(name, partial(window.commands.set_theme_mode, mode))
        for code in ("zh", "en"):
            measure(f"language {code}", partial(window.services.set_language, code))
        bare = QMainWindow()
        bare.setCentralWidget(QLabel("bare"))
        bare.show()
        running.wait(0.2)
        for tokens in (LIGHT, DARK):
            name = f"bare window, {'dark' if tokens.dark else 'light'} sheet"
            measure(name, partial(bare.setStyleSheet, style_sheet(tokens)))
        bare.close()
        for spec in reports()[: arguments.reports]:
            run_report(running, spec, Path(folder, "store"))
            running.wait(SETTLE_S)
            seen = watch.take()
            print(f"report {spec.name:21} {seen.worst_cpu_ms:7.1f} ms  ({seen.worst_late_ms:.1f} ms by the clock)")
        watch.close()


def run_report(running: Running, spec: ReportSpec, store: Path) -> None:
    """Run a report in the window, its page in front."""
    runner = running.console.reports
    running.window.navigate("reports")
    runner.submit(runner.order(spec, (str(store),)))
    if not running.wait_for(lambda: not runner.is_running, REPORT_TIMEOUT_S):
        raise RuntimeError(f"the report {spec.name} was not over after {REPORT_TIMEOUT_S:.0f} s")


if __name__ == "__main__":
    main()
