"""A reader that shares no code with the engine finds in each archive what its description says."""

import gzip
import json
import subprocess
import sys

from tests.support.golden import GOLDEN, GOLDEN_NAMES, golden_store


def checked(*archives):
    command = [sys.executable, str(GOLDEN / "check.py"), *map(str, archives)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout


def test_archives_and_descriptions_agree():
    code, said = checked()
    assert code == 0, said
    assert {line.partition(":")[0] for line in said.splitlines() if ": OK (" in line} == set(GOLDEN_NAMES)


def test_one_wrong_value_of_one_message_is_a_mismatch(tmp_path):
    golden = golden_store("lmq")
    place = golden.expected["messageColumns"].index("bodyCrc")
    golden.expected["queues"][0]["messages"][0][place] ^= 1
    (tmp_path / golden.archive.name).write_bytes(golden.archive.read_bytes())
    (tmp_path / "lmq.expected.json.gz").write_bytes(gzip.compress(json.dumps(golden.expected).encode()))
    code, said = checked(tmp_path / golden.archive.name)
    assert (code, said.partition(" (")[0]) == (1, "lmq: 1 MISMATCHES")
