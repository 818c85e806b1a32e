"""`python3 packaging/bundle.py DIR`: Orbit as one folder that needs neither Python nor the network, as an archive.

The folder holds the Python that runs this script, the packages of the lock files, the wheel of this checkout, and the system
libraries that they load, but for the C and C++ libraries, which every Linux desktop has. It is a plain Python, not a frozen
program, because Spark starts Python processes of its own.

    DIR/orbit-0.1.0-linux-x86_64.tar.gz
    DIR/orbit-0.1.0-linux-x86_64/orbit           starts it, from any folder
    DIR/orbit-0.1.0-linux-x86_64/bin             the same, and Python
    DIR/orbit-0.1.0-linux-x86_64/lib/python3.X   standard library and packages
    DIR/orbit-0.1.0-linux-x86_64/lib/system      libraries of the system
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from debian_package import write_debian_package
from shared_libraries import collect, elf_files, least_glibc, strip
from trimming import trim_packages, trim_standard_library

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("window", "reports")
BUNDLE_NOTE = "lib/orbit-bundle"
"""Names the parts of the bundle; `broker_core.parts` knows a bundle by it."""
LAUNCHER = """\
#!/bin/sh
# Starts Orbit with the Python of this folder. -E -s: variables and packages of other Pythons change nothing.
here=$(dirname -- "$(readlink -f -- "$0")")
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="${FONTCONFIG_FILE:-$here/../lib/fonts.conf}"
exec "$here/python3" -E -s -X utf8 "$here/../lib/%(python)s/site-packages/main.py" "$@"
"""
FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<!-- For systems without a configuration of fonts; the window brings its own Latin fonts. -->
<fontconfig><dir>/usr/share/fonts</dir><dir prefix="xdg">fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
"""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in the bundle."""

    home: Path

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.home / "bin" / "python3"

    @property
    def standard_library(self) -> Path:
        """Folder of Python's own modules."""
        return self.home / "lib" / f"python{sysconfig.get_python_version()}"

    @property
    def packages(self) -> Path:
        """Folder of the packages."""
        return self.standard_library / "site-packages"

    @property
    def system(self) -> Path:
        """Folder of the system's libraries."""
        return self.home / "lib" / "system"


def main(argv: Sequence[str]) -> int:
    """Build it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="bundle.py", description="Build Orbit as one folder and an archive of it.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the folder and the archive go")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS, help="parts beside the core; default both")
    parser.add_argument("--deb", action="store_true", help="write a Debian package, too (needs dpkg-deb)")
    arguments = parser.parse_args(argv)
    if sys.platform != "linux":
        sys.exit("bundles are made on Linux, for Linux")
    os.umask(0o022)  # every user runs it, whoever builds it
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    kind = "" if set(arguments.parts) == set(PARTS) else "-" + ("-".join(arguments.parts) or "core")
    home = arguments.folder.absolute() / f"orbit-{version}-linux-{os.uname().machine}{kind}"
    build(Layout(home), arguments.parts)
    archive = write_archive(home)
    made = [archive, *([write_debian_package(home, version)] if arguments.deb else [])]
    for path in made:
        print(f"{path}: {path.stat().st_size / 2**20:,.0f} MiB")
    print(f"{home}: {size_bytes(home) / 2**20:,.0f} MiB, needs glibc {least_glibc(home)} or newer")
    return 0


def build(layout: Layout, parts: Sequence[str]) -> None:
    """Make the folder; a folder of before is replaced."""
    shutil.rmtree(layout.home, ignore_errors=True)
    copy_interpreter(layout)
    with build_tools() as tools:
        install_packages(layout, tools, parts)
        trim_packages(layout.packages)
        collect(layout.home, layout.system, tools / "patchelf")
    (layout.home / "lib" / "fonts.conf").write_text(FONTS, encoding="utf-8")
    (layout.home / BUNDLE_NOTE).write_text(f"{' '.join(parts)}\n", encoding="utf-8")
    write_launcher(layout)
    compile_all = [str(layout.python), "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "-j", "0"]
    # Some packages hold sources for other versions of Python, which do not compile.
    subprocess.run([*compile_all, str(layout.standard_library)], check=False, stdout=subprocess.DEVNULL)
    shutil.copy(ROOT / "LICENSE", layout.home / "LICENSE")


def copy_interpreter(layout: Layout) -> None:
    """Copy the Python that runs this script, without packages."""
    program = Path(sysconfig.get_config_var("BINDIR")) / f"python{sysconfig.get_python_version()}"
    layout.python.parent.mkdir(parents=True)
    shutil.copy(program, layout.python)
    source = Path(sysconfig.get_path("stdlib"))
    ignored = shutil.ignore_patterns("__pycache__", "site-packages", "dist-packages", "sitecustomize.py")
    shutil.copytree(source, layout.standard_library, ignore=ignored)
    extensions = Path(sysconfig.get_config_var("DESTSHARED"))
    if not extensions.is_relative_to(source):
        shutil.copytree(extensions, layout.standard_library / "lib-dynload", dirs_exist_ok=True)
    trim_standard_library(layout.standard_library)
    layout.packages.mkdir()
    for path in [layout.python, *elf_files(layout.standard_library)]:
        strip(path)


@contextmanager
def build_tools() -> Iterator[Path]:
    """The folder of programs that the build needs, in an environment of their own."""
    with tempfile.TemporaryDirectory(prefix="orbit-bundle-") as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / "bin"
        run_pip(programs, "--require-hashes", "-r", str(ROOT / "requirements-bundle.lock"))
        yield programs


def run_pip(programs: Path, *words: str) -> None:
    """Install something with the Python of the tools."""
    command = [str(programs / "python"), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*command, *words], check=True)


def install_packages(layout: Layout, tools: Path, parts: Sequence[str]) -> None:
    """Install the locked packages of the parts and the wheel of this checkout."""
    locks = [ROOT / f"requirements-{part}.lock" for part in parts or ("core",)]
    named = [word for lock in locks for word in ("-r", str(lock))]
    target = ("--target", str(layout.packages), "--no-deps", "--no-compile", "--prefer-binary")
    for words in (("--require-hashes", *named), (str(ROOT),)):
        run_pip(tools, *target, *words)
        shutil.rmtree(layout.packages / "bin", ignore_errors=True)  # programs for the Python of the build


def write_launcher(layout: Layout) -> None:
    """Write the program that a user starts; the one beside it leads there."""
    launcher = layout.python.with_name("orbit")
    launcher.write_text(LAUNCHER % {"python": layout.standard_library.name}, encoding="utf-8")
    launcher.chmod(0o755)
    (layout.home / "orbit").symlink_to("bin/orbit")


def write_archive(home: Path) -> Path:
    """Pack the folder; every Linux unpacks this form."""
    archive = home.with_name(f"{home.name}.tar.gz")
    with tarfile.open(archive, "w:gz", compresslevel=6) as tar:
        tar.add(home, home.name, filter=_of_root)
    return archive


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def size_bytes(folder: Path) -> int:
    """Bytes of the files of a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
