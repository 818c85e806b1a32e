"""System libraries that programs and extension modules load: found, copied, and searched for beside them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

ELF_MAGIC = b"\x7fELF"
LEFT_OUT = re.compile(
    r"(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|anl|nsl|mvec|thread_db|nss_\w+|stdc\+\+|gcc_s))\.so.*|linux-vdso.*"
)
"""Of the system that runs the bundle: drivers of its displays are made for its own ones."""
_LINE = re.compile(r"^\s*(\S+) => (\S+|not found)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)
_GLIBC = re.compile(rb"GLIBC_(\d+)\.(\d+)\x00")


def elf_files(folder: Path) -> list[Path]:
    """Programs and libraries in a folder, sorted; no links."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and _is_elf(path))


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == ELF_MAGIC


def loaded_by(path: Path) -> dict[str, str]:
    """Libraries that the loader takes for a file, with those that they load: name → path, empty where there is none."""
    done = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    return {name: "" if found == "not found" else found for name, found in _LINE.findall(done.stdout)}


def needed_by(path: Path, patchelf: Path) -> list[str]:
    """Names of the libraries that a file itself asks for."""
    done = subprocess.run([patchelf, "--print-needed", str(path)], capture_output=True, text=True, check=False)
    return done.stdout.split()


def collect(home: Path, target: Path, patchelf: Path) -> None:
    """Copy what the files of a bundle load of this system to a folder of it, and let them search there.

    Exits the program where a library is missing here.
    """
    files = elf_files(home)
    copied = copy_libraries(files, home, target)
    for path in [*files, *(target / name for name in copied)]:
        if copied & set(needed_by(path, patchelf)):
            _search_in(path, target, patchelf)


def copy_libraries(files: Iterable[Path], home: Path, target: Path) -> set[str]:
    """Copy the system's libraries that files load; returns their names."""
    found: dict[str, str] = {}
    missing: set[str] = set()
    own = {path.name for path in home.rglob("*.so*")}
    for file in files:
        for name, path in loaded_by(file).items():
            if LEFT_OUT.fullmatch(name):
                continue
            if not path and name not in own:
                missing.add(f"{name} (of {file.relative_to(home)})")
            elif path and not Path(path).is_relative_to(home):
                found[name] = path
    if missing:
        raise SystemExit("these libraries are not installed here: " + ", ".join(sorted(missing)))
    target.mkdir(parents=True, exist_ok=True)
    for name, path in found.items():
        shutil.copy(os.path.realpath(path), target / name)
        (target / name).chmod(0o644)
        strip(target / name)
    return set(found)


def strip(path: Path) -> None:
    """Delete symbols for debuggers, half of an interpreter that was built here, where the tool for it is installed."""
    if tool := shutil.which("strip"):
        subprocess.run([tool, "--strip-unneeded", str(path)], check=True)


def _search_in(path: Path, target: Path, patchelf: Path) -> None:
    """Add a folder to those that the loader searches for what a file needs, by a path from the file."""
    place = os.path.relpath(target, path.parent)
    mode = path.stat().st_mode
    path.chmod(mode | 0o200)
    subprocess.run([patchelf, "--add-rpath", f"$ORIGIN/{place}" if place != "." else "$ORIGIN", str(path)], check=True)
    path.chmod(mode)


def least_glibc(home: Path) -> str:
    """The oldest C library that has all that the files ask for."""
    versions = {
        (int(major), int(minor))
        for path in elf_files(home)
        for major, minor in _GLIBC.findall(path.read_bytes())
    }  # fmt: skip
    return ".".join(map(str, max(versions)))
