from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest

from broker_core.native import library
from broker_core.native.unit_scan import UnitScan
from broker_core.protocol.message.record import encode_record
from tests.support.machine_code import library as machine_code
from tests.support.store_bench import message
from tests.unit.native.test_unit_scan import scanned


@pytest.fixture
def made(tmp_path):
    """A folder with machine code that may be used."""
    machine_code()
    source = library.FOLDER
    if library.reason_not_usable():
        subprocess.run([sys.executable, "-m", "broker_core.native.build", "--folder", str(tmp_path)], check=True)
        return tmp_path
    for path in (library.library_path(source), library.note_path(source)):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_what_was_made_here_is_used(made):
    assert library.reason_not_usable(made) == ""
    library.Library(library.library_path(made))


@pytest.mark.parametrize("damage", ["missing", "no note", "odd note", "other sources", "changed", "writable", "processor"])
def test_what_is_not_to_be_trusted_is_not_used(made, damage, monkeypatch):
    path, note = library.library_path(made), library.note_path(made)
    said = json.loads(note.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "no note":
        note.unlink()
    elif damage == "odd note":
        note.write_text("[]")
    elif damage == "other sources":
        note.write_text(json.dumps({**said, "sources": "0"}))
    elif damage == "changed":
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    elif damage == "writable":
        path.chmod(0o666)
    else:
        monkeypatch.setattr(library, "_processor_flags", lambda: frozenset({"sse4_2"}))
    assert library.reason_not_usable(made)


@pytest.mark.timeout(400)  # a build takes 10 s of a processor
@pytest.mark.slow
def test_two_builds_are_the_same_bytes(made, tmp_path):
    again = tmp_path / "again"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-m", "broker_core.native.build", "--folder", str(again)]
    subprocess.run(command, check=True, env=environment)
    assert library.library_path(again).read_bytes() == library.library_path(made).read_bytes()


def test_checksums_of_bodies_of_every_size_are_right_and_each_turned_bit_is_found():
    randomness = random.Random(3)
    scan = UnitScan(machine_code())
    for size in [*range(1, 300), 1_000, 1_023, 1_024, 1_025, 4_096, 65_536, 100_001]:
        value = message(randomness.randbytes(size), topic="T")
        data = bytearray(encode_record(value, queue_offset=0, physical_offset=0, store_timestamp_ms=1))
        found = scanned(scan, bytes(data))
        assert found is not None
        assert found.end == len(data)
        data[data.index(value.body) + randomness.randrange(size)] ^= 1 << randomness.randrange(8)
        assert scanned(scan, bytes(data)) is None
