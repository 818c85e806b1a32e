"""What an installation must be able to do, wherever it is."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtGui import QImage

from tests.support.fresh_machine import Place
from tests.support.virtual_screen import COLOURS_OF_A_PAGE, VirtualScreen, colours, wait_for

Command = Sequence[str | Path]


def run_the_core(place: Place, orbit: Command, folder: str) -> None:
    """Start a broker, send and consume, then search and verify its store."""
    place.run("mkdir", "-p", folder)
    store = f"{folder}/store"
    with place.broker(orbit, store) as name_server:
        place.run(*orbit, "demo", "--ns", name_server, "--seconds", "4", "--rate", "400")
        assert '"topic"' in place.run(*orbit, "search", "--ns", name_server, "topic = 'orders'")
        assert "orders" in place.run(*orbit, "cluster", "--ns", name_server)
    assert '"topic"' in place.run(*orbit, "search", "--store", store, "topic = 'orders'")
    place.run(*orbit, "store", "verify", store)


def run_a_report(place: Place, orbit: Command, folder: str, picture: Path) -> None:
    """Make a report on the store of `run_the_core`; keep a picture of its page where this machine has Chromium."""
    out = f"{folder}/report"
    place.run(*orbit, "report", "throughput", "--store", f"{folder}/store", "--out", out)
    page = _outside(place, out) / "report.html"
    assert b"plotly" in page.read_bytes()
    if shutil.which("chromium"):
        picture.parent.mkdir(parents=True, exist_ok=True)
        Place().run(
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--window-size=1280,1000",
            f"--user-data-dir={page.parent / 'browser'}", f"--screenshot={picture}", page.as_uri(),
        )  # fmt: skip
        assert colours(QImage(str(picture))) > COLOURS_OF_A_PAGE


def open_the_window(place: Place, orbit: Command, folder: str, screen: VirtualScreen, picture: Path) -> None:
    """Open the window on a virtual screen until a page is shown and its broker has a store; keep the picture."""
    shown = place.on_display(screen.display)
    store = f"{folder}/window-store"
    shown.run("mkdir", "-p", folder)
    options = ("--store", store, "--ns-port", "0", "--port", "0", "--lang", "en", "--theme", "light")
    with shown.running(*orbit, "orbit://overview", *options) as window:
        wait_for(lambda: window.poll() is not None or screen.shows_a_page(), "a page of the window")
        wait_for(
            lambda: window.poll() is not None or (_outside(place, store) / "commitlog").exists(), "the broker of the window"
        )
        assert window.poll() is None, window.stdout.read() if window.stdout else ""
        wait_for(screen.shows_a_page, "a page of the window")
        picture.parent.mkdir(parents=True, exist_ok=True)
        assert screen.picture().save(str(picture))
    assert window.stdout is not None
    with window.stdout as output:
        assert "nothing caught" not in output.read()


def _outside(place: Place, path: str) -> Path:
    """The path as this machine sees it."""
    return place.root / path.lstrip("/") if place.is_chroot else Path(path)
