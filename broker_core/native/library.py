"""The shared library with machine code: where it is, whether it may be used, and its functions.

It is made when Orbit is set up (`broker_core.native.build`). It is not loaded where it is missing, was made of other sources,
was changed since, or the processor lacks what it needs. Everything then runs in Python.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
from collections.abc import Callable
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from broker_core.platform import owners

PREFIX: Final = "orbit_"
"""Of the names of the functions in the library."""


class Kind(Enum):
    """What an argument of an entry is."""

    BYTES = "bytes"
    TABLE = "table"
    NUMBER = "number"


_B, _T, _N = Kind.BYTES, Kind.TABLE, Kind.NUMBER
ENTRIES: Final[dict[str, tuple[Kind, ...]]] = {
    "scan_units": (_B, _T, _T, _T, _B, _T, _B, _T, _T),
    "gather_units": (_T, _T, _T, _B, _T, _B),
    "scan_keys": (_B, _T, _T),
    "serve_pulls": (_T, _B, _B, _B, _T, _T, _T, _B, _B, _T, _T, _T, _T, _B, _B),
    "serve_sends": (_T, _B, _B, _B, _T, _B, _T, _T, _T, _B, _T),
    "scan_heads": (_B, _T, _T, _T),
    "find_bytes": (_B, _N, _T, _T, _N, _B, _N, _B),
    "mark_between": (_T, _N, _T, _N, _B),
    "mark_with": (_T, _N, _N, _B),
    "merge": (_T, _N, _T, _N, _T),
    "touch_pages": (_B, _N, _N, _N),
    "number_texts": (_B, _T, _T, _T, _T, _T, _T, _T),
    "tags_codes": (_B, _N, _T, _N, _T),
    "find_faults": (_B, _N, _T, _N, _T),
    "make_units": (_N, _T, _T, _T, _T, _T, _T, _N, _T, _T, _B, _T),
    "check_units": (_T, _B),
    "unit_places": (_T, _B, _T),
    "follow": (_B, _T, _T),
    "add_up": (_B, _T, _T, _B, _T, _T, _T, _B, _T),
    "add_items": (_T, _T, _B, _B),
    "fill_slots": (_T, _B),
    "check_items": (_T, _B, _T),
    "check_slots": (_T, _B, _T),
    "has_items": (_T, _T, _B),
}
"""Kernel that is called from Python → its arguments."""
GATHERED: Final = frozenset({"serve_pulls", "serve_sends"})
"""Those of them that take one address, of a table with their arguments, because they are called for each read of a socket:
twelve arguments take a microsecond of `ctypes`, one 0.2.
"""
SWITCH: Final = "ORBIT_NATIVE"
"""Variable of the environment, for programs without settings of their own."""
FOLDER: Final = Path(__file__).parent / "machine"
_HERE: Final = Path(__file__).parent
_FORMATS: Final = _HERE.parent / "protocol" / "message"
_PROCESSOR_FILE: Final = Path("/proc/cpuinfo")
_NEEDED_FLAGS: Final = frozenset({"pclmulqdq", "sse4_2", "popcnt"})

Function = Callable[..., int]


class Library:
    """Functions of a shared library.

    Args:
        path: The file.

    Raises:
        OSError: It cannot be loaded.
    """

    def __init__(self, path: Path) -> None:
        free, held = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
        self._functions: dict[str, Function] = {}
        for name, kinds in ENTRIES.items():
            is_gathered = name in GATHERED
            function = getattr(held if is_gathered else free, PREFIX + name)
            function.argtypes, function.restype = [ctypes.c_int64] * (1 if is_gathered else len(kinds)), ctypes.c_int64
            self._functions[name] = function

    def function(self, name: str) -> Function:
        """A function of addresses and numbers, in the order of `ENTRIES`; other threads run meanwhile.

        One of `GATHERED` takes the address of a table of them, and no other thread runs: it takes less time than a change of
        threads.
        """
        return self._functions[name]


def sources() -> list[Path]:
    """Files that machine code is made of: kernels, formats and the builder."""
    formats = [_FORMATS / "record.py", _FORMATS / "sys_flag.py"]
    return [*sorted(_HERE.glob("*.py")), *sorted((_HERE / "build").glob("*.py")), *formats]


def sources_checksum() -> str:
    """SHA-256 of the sources and of the name of the machine, in hexadecimal digits."""
    digest = hashlib.sha256(platform.machine().encode())
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def installed() -> Library | None:
    """That of this installation; None where it may not be used, cannot be loaded, or ``ORBIT_NATIVE=off`` leaves it out."""
    return None if os.environ.get(SWITCH) == "off" else _loaded()


@cache
def _loaded() -> Library | None:
    if reason_not_usable():
        return None
    try:
        return Library(library_path())
    except OSError:
        return None


def reason_without() -> str:
    """Why there is no `installed` one, as a sentence without an end."""
    if os.environ.get(SWITCH) == "off":
        return f"{SWITCH}=off switches machine code off"
    return reason_not_usable() or "machine code could not be loaded"


def library_path(folder: Path = FOLDER) -> Path:
    """The shared library."""
    return folder / "kernels.so"


def note_path(folder: Path = FOLDER) -> Path:
    """What the library was made of: JSON with ``sources`` and ``library``, two checksums."""
    return folder / "kernels.json"


def reason_not_usable(folder: Path = FOLDER) -> str:
    """Why the machine code in a folder is not used, as a sentence without an end; empty where it is."""
    try:
        note = json.loads(note_path(folder).read_bytes())
        library, status = library_path(folder).read_bytes(), library_path(folder).stat()
    except (OSError, ValueError):
        return "there is no machine code; set Orbit up again to make it"
    if not isinstance(note, dict) or note.get("sources") != sources_checksum():
        return "machine code was made of other sources; set Orbit up again to make it"
    if note.get("library") != hashlib.sha256(library).hexdigest():
        return f"{library_path(folder)} was changed since it was made; set Orbit up again to make it"
    if not owners.is_own(status, or_root=True):
        return f"{library_path(folder)} belongs to somebody else, or others may write it"
    missing = _NEEDED_FLAGS - _processor_flags()
    if missing:
        return f"this processor lacks {', '.join(sorted(missing))}"
    return ""


def _processor_flags() -> frozenset[str]:
    try:
        with _PROCESSOR_FILE.open(encoding="utf-8", errors="replace") as file:
            line = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return frozenset()
    return frozenset(line.partition(":")[2].split())
