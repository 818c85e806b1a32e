"""Places and tools for the tests of installations; each test is skipped where root, debootstrap or Xvfb is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fresh_machine import Figures, copy_sources
from tests.support.virtual_screen import VirtualScreen, virtual_screen

HERE = "tests/packaging/"
"""How the ids of these tests begin."""
LIMIT_S = 3_600
TOOLS = ("debootstrap", "Xvfb", "unshare", "ip", "git")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(HERE):
            item.add_marker(pytest.mark.packaging)
            item.add_marker(pytest.mark.timeout(LIMIT_S))


@pytest.fixture(scope="session", autouse=True)
def _able() -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if sys.platform != "linux" or os.geteuid() != 0 or missing:
        pytest.skip(f"fresh machines need root on Linux and {', '.join(missing or TOOLS)}")


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """The folder of all places."""
    if named := os.environ.get("ORBIT_PACKAGING_FOLDER"):
        Path(named).mkdir(parents=True, exist_ok=True)
        yield Path(named)
        return
    with tempfile.TemporaryDirectory(prefix="orbit-packaging-", dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def figures(scratch: Path) -> Figures:
    return Figures(scratch / "figures.txt")


@pytest.fixture(scope="session")
def sources(scratch: Path) -> Path:
    """The sources of this checkout, without what was made of them."""
    return copy_sources(scratch / "sources")


@pytest.fixture(scope="session")
def wheel(scratch: Path, sources: Path, figures: Figures) -> Path:
    """The wheel of these sources."""
    folder = scratch / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    with figures.timed("wheel"):
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(sources)]
        subprocess.run(command, check=True, timeout=LIMIT_S)
    (made,) = folder.glob("orbit-*.whl")
    return made


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[VirtualScreen]:
    with virtual_screen(tmp_path / "screen") as made:
        yield made
