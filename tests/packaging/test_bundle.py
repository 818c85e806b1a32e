"""The bundle and the folder of wheels, where there is no network and, for the bundle, no Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.packaging.journeys import open_the_window, run_a_report, run_the_core
from tests.packaging.test_wheel import environment
from tests.support.fresh_machine import LONGEST_S, Figures, Place, fresh_system, size_mib
from tests.support.virtual_screen import VirtualScreen

KINDS = {"window": ["window"], "all": ["window", "reports"]}


class Bundle(NamedTuple):
    """What the builder wrote."""

    kind: str
    archive: Path
    package: Path


@pytest.fixture(scope="module", params=KINDS)
def bundle(request: pytest.FixtureRequest, scratch: Path, sources: Path, figures: Figures) -> Bundle:
    """One build of each kind: folder, archive and Debian package."""
    kind = request.param
    made = scratch / f"bundle-{kind}"
    shutil.rmtree(made, ignore_errors=True)
    command = [sys.executable, str(sources / "packaging" / "bundle.py"), str(made), "--deb", "--parts", *KINDS[kind]]
    with figures.timed(f"bundle, {kind}, build"):
        subprocess.run(command, check=True, timeout=2 * LONGEST_S)
    (archive,), (package,) = made.glob("*.tar.gz"), made.glob("*.deb")
    home = made / archive.name.removesuffix(".tar.gz")
    packed = {"archive_MiB": archive.stat().st_size / 2**20, "package_MiB": package.stat().st_size / 2**20}
    figures.note(f"bundle, {kind}", MiB=size_mib(home), **packed)
    shutil.rmtree(home)  # the archive has it, and the disk may be small
    return Bundle(kind, archive, package)


@pytest.fixture
def machine(bundle: Bundle, scratch: Path) -> Iterator[Place]:
    """A Debian 12 without Python."""
    made = fresh_system(scratch, "bookworm", f"bundle-{bundle.kind}-machine")
    yield made
    shutil.rmtree(made.root)


def test_the_bundle_runs_without_python_and_network(
    bundle: Bundle, machine: Place, scratch: Path, figures: Figures, screen: VirtualScreen
):
    with tarfile.open(bundle.archive) as tar:
        tar.extractall(machine.root / "opt", filter="fully_trusted")
    (home,) = (machine.root / "opt").glob("orbit-*")
    orbit, folder, kind = [f"/opt/{home.name}/orbit"], "/opt/work", bundle.kind
    with machine.offline() as place:
        place.run("sh", "-c", "! command -v python3")
        place.run("rm", "-rf", "/usr/share/zoneinfo")  # smaller systems, such as containers, have none
        run_the_core(place, orbit, folder)
        open_the_window(place, orbit, folder, screen, scratch / "pictures" / f"bundle-{kind}.png")
        if "reports" in KINDS[kind]:
            with figures.timed(f"bundle, {kind}, first report"):
                run_a_report(place, orbit, folder, scratch / "pictures" / f"bundle-{kind}-report.png")
        else:
            said = place.run(*orbit, "report", "throughput", "--store", "s", "--out", "o", code=1)
            assert "This bundle of Orbit was made without its part “reports”" in said
        place.run(*orbit, "desktop", "--install")
        entry = place.root / "root/.local/share/applications/orbit.desktop"
        assert f'Exec="/opt/{home.name}/bin/orbit" %u' in entry.read_text(encoding="utf-8")


def test_the_debian_package_is_installed_and_removed(bundle: Bundle, machine: Place, scratch: Path, screen: VirtualScreen):
    shutil.copy(bundle.package, machine.root / "orbit.deb")
    machine.run("sh", "-c", "apt-get -qq update && apt-get -qq install -y --no-install-recommends /orbit.deb")
    with machine.offline() as place:
        place.run("sh", "-c", "! command -v python3")
        run_the_core(place, ["orbit"], "/opt/work")
        open_the_window(place, ["orbit"], "/opt/work", screen, scratch / "pictures" / f"package-{bundle.kind}.png")
        entry = place.root / "usr/share/applications/orbit.desktop"
        assert 'Exec="/opt/orbit/bin/orbit" %u' in entry.read_text(encoding="utf-8")
        place.run("dpkg", "--remove", "orbit-console")
    assert not (machine.root / "opt" / "orbit").exists()
    assert not entry.exists()


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
        run_a_report(place, [programs / "orbit"], str(programs.parent / "core"), scratch / "pictures" / "wheels-report.png")
