"""Machine code for tests: that of the checkout, or one made for the run where that is missing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from broker_core.native.library import FOLDER, Library, library_path, reason_not_usable


@cache
def library() -> Library:
    """The kernels, compiled."""
    folder = FOLDER
    if reason_not_usable():
        folder = Path(tempfile.mkdtemp(prefix="orbit-machine-code-"))
        subprocess.run([sys.executable, "-m", "broker_core.native.build", "--folder", str(folder)], check=True)
    assert not reason_not_usable(folder)
    return Library(library_path(folder))
