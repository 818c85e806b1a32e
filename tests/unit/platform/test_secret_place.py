"""A place of secret text: the user's alone, read by children, gone afterwards."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.platform.secret_place import plain_secret_place, secret_place


@pytest.mark.parametrize("place_of", [secret_place, plain_secret_place])
def test_a_child_reads_the_text_and_nothing_is_left(place_of):
    read = "import pathlib, sys; print(pathlib.Path(sys.argv[1]).read_text())"
    with place_of(b"secret") as place:
        assert stat.S_IMODE(Path(place).stat().st_mode) == 0o600
        done = subprocess.run([sys.executable, "-c", read, place], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "secret\n"
    assert not Path(place).exists()
