"""The bundle as a Debian package: in /opt/orbit, with a command, a menu entry and its icon."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from shared_libraries import least_glibc

ROOT = Path(__file__).resolve().parents[1]
CONTROL = """\
Package: orbit-console
Version: %(version)s
Architecture: %(architecture)s
Maintainer: Orbit
Depends: libc6 (>= %(glibc)s), libstdc++6, libgcc-s1
Recommends: fonts-wqy-microhei
Section: admin
Priority: optional
Installed-Size: %(kibibytes)d
Description: desktop console for RocketMQ with a broker inside
 Shows topics, queues, groups and messages of a RocketMQ cluster, runs a broker
 of its own, and makes reports with Spark. Needs no Python of the system.
"""


def write_debian_package(home: Path, version: str) -> Path:
    """Write the package of a bundle beside it; returns its path."""
    package = home.with_name(f"{home.name}.deb")
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="orbit-deb-", dir=home.parent) as folder:
        tree = Path(folder)
        tree.chmod(0o755)
        (tree / "opt").mkdir()
        home.rename(tree / "opt" / "orbit")
        try:
            _write_desktop_files(tree)
            size = sum(path.lstat().st_size for path in tree.rglob("*") if not path.is_dir())
            values = {"version": version, "architecture": architecture, "kibibytes": size >> 10}
            control = CONTROL % {**values, "glibc": least_glibc(tree)}
            (tree / "DEBIAN").mkdir()
            (tree / "DEBIAN" / "control").write_text(control, encoding="utf-8")
            build = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z3", "--build", str(tree), str(package)]
            subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        finally:
            (tree / "opt" / "orbit").rename(home)
    return package


def _write_desktop_files(tree: Path) -> None:
    """Write the command, the entry of the menu and the icon."""
    sys.path.insert(0, str(ROOT))
    from broker_core.tools.commands.desktop import DesktopFiles

    program = tree / "usr" / "bin" / "orbit"
    program.parent.mkdir(parents=True)
    program.symlink_to("/opt/orbit/bin/orbit")
    icon = (ROOT / "resources" / "icons" / "orbit.svg").read_bytes()
    DesktopFiles(tree / "usr" / "share").install(["/opt/orbit/bin/orbit"], icon)
