"""`python -m broker_core.native.build [--folder DIR]`: make the machine code of these sources, unless it is there and current.

Ends with 1, and one line on the standard error, where it cannot be made; Orbit then works in Python.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path

from broker_core.errors import OrbitError
from broker_core.native.library import FOLDER, library_path, note_path, reason_not_usable, sources_checksum


def main() -> int:
    """Make it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m broker_core.native.build", description="Make the machine code of Orbit.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where it goes; by default to where Orbit looks for it")
    folder = parser.parse_args().folder
    if not reason_not_usable(folder):
        return 0
    try:
        from broker_core.native.build.compiler import object_file, processor
        from broker_core.native.build.shared_object import shared_library

        _write(folder, shared_library(object_file(processor())))
    except (ImportError, OSError, OrbitError, RuntimeError) as error:
        sys.stderr.write(f"orbit: machine code could not be made ({error}); Orbit works without it, more slowly\n")
        return 1
    return 0


def _write(folder: Path, library: bytes) -> None:
    """Put the library in its place, and the note that it is whole after it."""
    folder.mkdir(mode=0o755, exist_ok=True)
    note = {"sources": sources_checksum(), "library": hashlib.sha256(library).hexdigest()}
    note_path(folder).unlink(missing_ok=True)
    _replace(library_path(folder), library)
    _replace(note_path(folder), json.dumps(note, indent=2).encode() + b"\n")


def _replace(path: Path, data: bytes) -> None:
    making = path.with_name(f"{path.name}.{os.getpid()}")
    making.write_bytes(data)
    making.chmod(0o644)
    making.replace(path)


if __name__ == "__main__":
    sys.exit(main())
