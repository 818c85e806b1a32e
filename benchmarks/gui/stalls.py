"""The longest turns of the GUI thread: each page opened for the first and the second time, theme and language switched.

    python -m benchmarks.gui.stalls [--profile PAGE]

A real worker runs with demo traffic. Figures are processor time of the GUI thread in ms, then time by the clock; nothing
should keep it longer than 50 ms. A bare window restyled by the same style sheet stands beside the theme switch.
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
from tests.support.loop_watch import LoopWatch

SETTLE_S = 1.2


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", metavar="PAGE", help="where the time of opening a page, or of `theme`, goes")
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
            measure(f"language {code}", partial(window.commands.ask_language, code))
        bare = QMainWindow()
        bare.setCentralWidget(QLabel("bare"))
        bare.show()
        running.wait(0.2)
        for tokens in (LIGHT, DARK):
            name = f"bare window, {'dark' if tokens.dark else 'light'} sheet"
            measure(name, partial(bare.setStyleSheet, style_sheet(tokens)))
        bare.close()
        watch.close()


if __name__ == "__main__":
    main()
