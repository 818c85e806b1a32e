"""Build hook: makes the machine code that the wheel carries.

A wheel with it fits x86-64 Linux and every Python, because the library knows neither Python nor numpy. Where it cannot be made
the wheel is for every machine, and Orbit works in Python.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "broker_core/native/machine"
FILES = ("kernels.so", "kernels.json")
TAG = "py3-none-manylinux_2_17_x86_64"
"""The library needs the C library alone, by names without versions."""


class MachineCodeHook(BuildHookInterface[Any]):
    """Runs `broker_core.native.build` on the sources that go into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library and its note; an editable installation gets them from ``./orbit setup``."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="orbit-machine-code-")
        folder = Path(self._folder.name) / "machine"
        command = [sys.executable, "-m", "broker_core.native.build", "--folder", str(folder)]
        if subprocess.run(command, cwd=self.root, check=False).returncode != 0:
            self.app.display_warning("the wheel has no machine code")
            return
        build_data["force_include"].update({str(folder / name): f"{PLACE}/{name}" for name in FILES})
        if sys.platform == "linux":
            build_data["tag"], build_data["pure_python"] = TAG, False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  hatchling's
        """Remove the folder that the files were made in."""
        if version != "editable":
            self._folder.cleanup()
