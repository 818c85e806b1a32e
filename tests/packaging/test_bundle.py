"""The bundle and the folder of wheels, where there is no network and, for the bundle, no Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.packaging.journeys import open_the_window, run_a_report, run_the_core
from tests.packaging.test_wheel import environment
from tests.support.fresh_machine import LONGEST_S, Figures, Place, debian, size_mib
from tests.support.virtual_screen import VirtualScreen

KINDS = {"window": ["window"], "all": ["window", "reports"]}


@pytest.mark.parametrize("kind", KINDS)
def test_the_bundle_runs_without_python_and_network(
    kind: str, scratch: Path, sources: Path, figures: Figures, screen: VirtualScreen
):
    made = scratch / f"bundle-{kind}"
    shutil.rmtree(made, ignore_errors=True)
    command = [sys.executable, str(sources / "packaging" / "bundle.py"), str(made), "--parts", *KINDS[kind]]
    with figures.timed(f"bundle, {kind}, build"):
        subprocess.run(command, check=True, timeout=2 * LONGEST_S)
    (archive,) = made.glob("*.tar.gz")
    machine = debian(scratch, "bookworm", f"bundle-{kind}-machine")
    with tarfile.open(archive) as tar:
        tar.extractall(machine.root / "opt", filter="fully_trusted")
    (home,) = (machine.root / "opt").glob("orbit-*")
    figures.note(f"bundle, {kind}", MiB=size_mib(home), archive_MiB=archive.stat().st_size / 2**20)
    with machine.offline() as place:
        picture = scratch / "pictures" / f"bundle-{kind}.png"
        use_the_bundle(place, home.name, kind, screen=screen, picture=picture, figures=figures)


def use_the_bundle(place: Place, name: str, kind: str, *, screen: VirtualScreen, picture: Path, figures: Figures) -> None:
    orbit, folder = [f"/opt/{name}/orbit"], "/root/work"
    place.run("sh", "-c", "! command -v python3")
    run_the_core(place, orbit, folder)
    open_the_window(place, orbit, folder, screen, picture)
    if "reports" in KINDS[kind]:
        with figures.timed(f"bundle, {kind}, first report"):
            run_a_report(place, orbit, folder)
    else:
        assert "part “reports”" in place.run(*orbit, "report", "throughput", "--store", "s", "--out", "o", code=1)
    place.run(*orbit, "desktop", "--install")
    entry = place.root / "root/.local/share/applications/orbit.desktop"
    assert f'Exec="/opt/{name}/bin/orbit" %u' in entry.read_text(encoding="utf-8")


def test_a_folder_of_wheels_installs_without_a_network(scratch: Path, sources: Path, figures: Figures):
    folder = scratch / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    Place().run(sources / "orbit", "bundle-wheels", folder)
    figures.note("folder of wheels", MiB=size_mib(folder))
    programs = environment(scratch / "from-wheels", f"{sys.version_info[0]}.{sys.version_info[1]}")
    words = ("install", "--no-index", "--find-links", folder, "orbit[window,reports]")
    with Place(programs.parent).offline() as place:
        place.run(programs / "python", "-I", "-m", "pip", *words)
        run_the_core(place, [programs / "orbit"], str(programs.parent / "core"))
        run_a_report(place, [programs / "orbit"], str(programs.parent / "core"))
