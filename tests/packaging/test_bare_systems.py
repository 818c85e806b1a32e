"""`./orbit` on bare releases of Debian and Ubuntu: two commands, and the window opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.journeys import open_the_window, run_a_report, run_the_core
from tests.support.fresh_machine import Figures, can_make, copy_sources, fresh_system, size_mib
from tests.support.virtual_screen import VirtualScreen

RELEASES = {"bookworm": "Debian 12", "trixie": "Debian 13", "noble": "Ubuntu 24.04"}


@pytest.mark.parametrize("suite", RELEASES)
def test_the_script_sets_all_up_on_a_bare_system(suite: str, scratch: Path, figures: Figures, screen: VirtualScreen):
    if not can_make(suite):
        pytest.skip(f"{RELEASES[suite]} needs the keys of Ubuntu: ubuntu-keyring")
    place = fresh_system(scratch, suite, f"script-{suite}", "python3", "python3-venv", "ca-certificates")
    copy_sources(place.root / "orbit")
    orbit = ["/orbit/orbit"]
    with figures.timed(f"./orbit setup, {RELEASES[suite]}"):
        place.run(*orbit, "setup")
    figures.note(f"./orbit, {RELEASES[suite]}", MiB=size_mib(place.root / "orbit"))
    folder = "/opt/work"
    run_the_core(place, orbit, folder)
    with place.offline() as cut_off:
        open_the_window(cut_off, orbit, folder, screen, scratch / "pictures" / f"script-{suite}.png")
        run_a_report(cut_off, orbit, folder, scratch / "pictures" / f"script-{suite}-report.png")
    place.run("rm", "-rf", "/orbit/.venv")
