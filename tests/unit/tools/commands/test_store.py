from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.tools.commands.store import main
from tests.support.store_bench import StoreBench, message

CHECKOUT = Path(__file__).resolve().parents[4]


@pytest.fixture
def root(tmp_path):
    bench = StoreBench(tmp_path / "store")
    with bench.open() as store:
        for number in range(50):
            store.put(message(b"%d" % number, queue_id=number % 2))
    return bench.root


def test_a_sound_store_is_said_to_be_sound(root, capsys):
    assert main(["verify", str(root)]) == 0
    assert "50 records from 0 to" in capsys.readouterr().out


def test_an_inconsistency_is_printed_and_counted(root, capsys):
    (root / "checkpoint").unlink()
    assert main(["verify", str(root)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("checkpoint at 0: there is no checkpoint")
    assert lines[-1].endswith("1 inconsistency")


def test_each_record_is_one_line(root, capsys):
    assert main(["dump", str(root)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["queueId"], row["queueOffset"]) for row in rows] == [(number % 2, number // 2) for number in range(50)]
    assert rows[7]["body"] == "Nw=="
    assert rows[7]["properties"] == {"TAGS": "TagA"}


def test_a_dump_says_what_it_leaves_out(root, capsys):
    path = root / "commitlog" / ("0" * 20)
    data = bytearray(path.read_bytes())
    data[88] ^= 1
    path.write_bytes(data)
    assert main(["dump", str(root)]) == 1
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 49
    assert output.err.startswith(f"commitlog/{path.name} at 0: the record's body of 1 bytes")


def test_a_log_in_several_directories_is_verified_and_dumped(tmp_path, capsys):
    bench = StoreBench(tmp_path / "store")
    with bench.open() as store:
        for number in range(200):
            store.put(message(b"%d" % number * 40))
    other = tmp_path / "other"
    other.mkdir()
    for path in sorted((bench.root / "commitlog").iterdir())[1::2]:
        path.rename(other / path.name)
    directories = ["--commit-log", f"{bench.root / 'commitlog'},{other}"]
    assert main(["verify", str(bench.root)]) == 1
    capsys.readouterr()
    assert main(["verify", str(bench.root), *directories]) == 0
    assert "200 records from 0 to" in capsys.readouterr().out
    assert main(["dump", str(bench.root), *directories]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 200
    first = min(other.iterdir())
    data = bytearray(first.read_bytes())
    data[88] ^= 1
    first.write_bytes(data)
    assert main(["verify", str(bench.root), *directories]) == 1
    assert capsys.readouterr().out.startswith(f"{first} at 0: ")
    assert main(["verify", str(bench.root), "--commit-log", str(tmp_path / "nowhere")]) != 0
    assert "there is no commit log directory" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["verify", "dump"])
def test_a_wrong_directory_is_an_error_in_words(command, tmp_path, capsys):
    assert main([command, str(tmp_path / "nowhere")]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert "there is no directory" in output.err


def test_delay_levels_that_cannot_be_are_refused(root, capsys):
    assert main(["verify", str(root), "--delay-levels", "1x"]) == 2
    assert "is no delay" in capsys.readouterr().err


PEAK = """
import re, sys
from pathlib import Path
from broker_core.tools.commands.store import main
assert main(sys.argv[1:]) == 0
# Not ru_maxrss: that begins with what the parent had.
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["verify"], ["dump"], ["dump", "--kind", "index"], ["dump", "--kind", "queues"]])
def test_what_is_not_used_of_a_large_file_takes_no_memory(arguments, tmp_path):
    """A log file has 1 GiB and an index file 420 MB from the start, most of it holes."""
    with MessageStore.open(StoreConfig(root=tmp_path / "store")) as store:
        for number in range(50):
            store.put(message(b"%d" % number, properties=b"KEYS\x01k%d" % number))
    command = [sys.executable, "-c", PEAK, arguments[0], str(tmp_path / "store"), *arguments[1:]]
    done = subprocess.run(command, check=True, cwd=CHECKOUT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert int(done.stderr.split()[-1]) < 300 * 1024, "KiB resident"


def test_a_closed_store_is_cleaned_by_age(tmp_path, capsys):
    bench = StoreBench(tmp_path / "store")
    with bench.open() as store:
        for number in range(400):
            store.put(message(b"%d" % number * 10))
    files = sorted((bench.root / "commitlog").iterdir())
    assert main(["clean", str(bench.root)]) == 0
    assert "0 commit log files" in capsys.readouterr().out
    for path in files:
        os.utime(path, (0, 0))
    assert main(["clean", str(bench.root), "--reserved-hours", "48"]) == 0
    assert f"{len(files) - 1} commit log files" in capsys.readouterr().out
    assert sorted((bench.root / "commitlog").iterdir()) == files[-1:]
    assert main(["verify", str(bench.root)]) == 0


def test_a_store_in_use_is_not_cleaned(tmp_path, capsys):
    bench = StoreBench(tmp_path / "store")
    with bench.open() as store:
        store.put(message())
        assert main(["clean", str(bench.root)]) == 3
    assert "in use" in capsys.readouterr().err
    assert main(["clean", str(tmp_path / "nothing")]) == 3
