from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from broker_core.protocol.message.sys_flag import COMPRESSED
from broker_core.tools.commands import search as search_command
from broker_core.tools.commands.search import main
from broker_core.tools.search.export import read_rows
from tests.support.broker_process import CHECKOUT
from tests.support.remoting_peer import eventually
from tests.support.store_writer import StoreWriter


@pytest.fixture
def root(tmp_path):
    writer = StoreWriter(tmp_path / "store")
    for number in range(50):
        writer.append(
            "orders", f'{{"n":{number},"city":"杭州"}}'.encode(), {"TAGS": "a,b", "KEYS": f'k"{number}'}, queue_id=number % 3
        )
    writer.flush()
    return tmp_path / "store"


def test_lines_and_the_last_word(root, capsys):
    assert main(["--store", str(root), "body.n in (3, 40)"]) == 0
    found = capsys.readouterr()
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert [row["properties"]["KEYS"] for row in rows] == ['k"3', 'k"40']
    assert found.err.splitlines()[0].startswith("plan: scan of the log")
    assert found.err.splitlines()[-1] == "complete: 2 hits in 50 messages"


def test_csv_reads_back_to_the_same_values(root, capsys):
    assert main(["--store", str(root), "queue = 0"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main(["--store", str(root), "queue = 0", "--format", "csv"]) == 0
    cells = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    assert len(cells) == len(rows) == 17
    for row, cell in zip(rows, cells, strict=True):
        assert list(cell) == list(row)
        assert json.loads(cell["properties"]) == row["properties"]
        assert {name: cell[name] for name in row if name != "properties"} == {
            name: "" if value is None else str(value) for name, value in row.items() if name != "properties"
        }


def test_csv_in_a_file_has_a_mark_and_no_formula(tmp_path):
    writer = StoreWriter(tmp_path / "store")
    writer.append("=topic", b"\xfb\xff\xfe", {"KEYS": "=1"})  # its Base64 begins with a plus sign
    writer.flush()
    path = tmp_path / "hits.csv"
    command = [sys.executable, "main.py", "search", "--store", str(tmp_path / "store"), "size > 0", "--format", "csv"]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
    with path.open("wb") as file:
        subprocess.run(command, cwd=CHECKOUT, env=environment, stdout=file, check=True)
    assert main([*command[3:], "--out", str(tmp_path / "out.csv")]) == 0
    assert path.read_bytes() == (tmp_path / "out.csv").read_bytes()
    cells = dict(zip(*csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")), strict=True))
    assert (cells["topic"], cells["body"], path.read_bytes()[:3]) == ("'=topic", "'+//+", b"\xef\xbb\xbf")
    ((_number, row),) = read_rows(path)
    assert (row["topic"], row["body"], row["properties"]["KEYS"]) == ("=topic", "+//+", "=1")


def test_a_limit_ends_with_partial(root, capsys):
    assert main(["--store", str(root), "size > 0", "--limit", "4"]) == 1
    found = capsys.readouterr()
    assert len(found.out.splitlines()) == 4
    assert found.err.splitlines()[-1] == "partial: 4 hits in 4 messages; the limit of 4 hits was reached"


def test_a_file_gets_its_name_when_it_is_whole(root, tmp_path, capsys):
    out = tmp_path / "hits.jsonl"
    assert main(["--store", str(root), "queue = 1", "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert len(out.read_text("utf-8").splitlines()) == 17
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("hits")] == ["hits.jsonl"]
    assert main(["--store", str(root), "queue = 1", "--out", str(tmp_path / "none" / "x")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_pipe_is_written_itself_and_stays_one(root, tmp_path, form):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.extend(pipe.read_text("utf-8").splitlines()))
    reader.start()
    assert main(["--store", str(root), "queue = 1", "--format", form, "--out", str(pipe)]) == 0
    assert pipe.is_fifo()
    reader.join(60)
    assert len(read) == 17 + (form == "csv")
    assert list(tmp_path.glob("pipe?*")) == []


def test_the_target_of_a_link_is_written_and_the_link_stays(root, tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)
    assert main(["--store", str(root), "queue = 1", "--out", str(link)]) == 0
    assert link.is_symlink()
    assert len(target.read_text("utf-8").splitlines()) == 17


def test_a_place_that_takes_no_more_is_named(root, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert main(["--store", str(root), "queue = 1", "--out", str(tmp_path / "folder")]) == 2
    assert f"could not be written to {tmp_path / 'folder'}: Is a directory" in capsys.readouterr().err
    command = [sys.executable, "main.py", "search", "--store", str(root), "queue = 1"]
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            command, cwd=CHECKOUT, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120
        )
    assert process.returncode == 2
    assert "could not be written to standard output: No space left on device" in process.stderr


def test_progress_is_told_while_a_file_is_written(root, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(search_command, "PROGRESS_INTERVAL_S", 0.0)
    assert main(["--store", str(root), "queue = 1", "--format", "parquet", "--out", str(tmp_path / "hits.parquet")]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("progress: ")]
    assert said[-1].startswith("progress: scanned 50 of ")
    assert said[-1].endswith(", 17 hits")
    assert main(["--store", str(root), "queue = 1"]) == 0
    assert "progress" not in capsys.readouterr().err


def test_parquet_needs_a_file(root, capsys):
    assert main(["--store", str(root), "queue = 1", "--format", "parquet"]) == 2
    assert "name a file" in capsys.readouterr().err


def test_a_wrong_filter_is_pointed_at(root, capsys):
    assert main(["--store", str(root), "queue = 1 and topik = 2"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "orbit search: at character 15: there is no field “topik”; did you mean topic?",
        "  queue = 1 and topik = 2",
        "                ^^^^^",
    ]


def test_places_that_cannot_be_searched(tmp_path, capsys):
    assert main(["--store", str(tmp_path / "none"), "size > 0"]) == 3
    assert "there is no directory" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main(["size > 0"])
    assert caught.value.code == 2
    with pytest.raises(SystemExit):
        main(["--store", "x", "--limit", "0", "size > 0"])


def test_an_interrupt_ends_with_partial(tmp_path):
    """The reader takes one line and then nothing until the interrupt is sent, so the search cannot have ended before."""
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 24)
    for number in range(20_000):
        writer.append("orders", b"%d" % number)
    writer.flush()
    command = [sys.executable, "main.py", "search", "--store", str(tmp_path / "store"), "size > 0"]
    read, write = os.pipe()
    process = subprocess.Popen(command, cwd=CHECKOUT, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    errors: list[str] = []
    assert process.stderr is not None
    listener = threading.Thread(target=lambda: errors.extend(process.stderr or ()), name="errors")
    listener.start()
    with Path(f"/proc/self/fd/{read}").open("rb", buffering=0) as output:
        os.close(read)
        assert output.read(10)
        process.send_signal(signal.SIGINT)
        while output.read(1 << 16):
            pass
    assert process.wait(60) == 130
    listener.join(60)
    process.stderr.close()
    assert errors[-1].startswith("partial: ")
    assert "it was cancelled" in errors[-1]


@pytest.fixture(scope="module")
def talkative(tmp_path_factory):
    """A store of bodies that do not decompress: an export says so of each, and stands still while nobody listens."""
    writer = StoreWriter(tmp_path_factory.mktemp("talkative") / "store")
    for _ in range(3_000):
        writer.append("orders", b"no zlib stream", sys_flag=COMPRESSED)
    writer.flush()
    return writer.root


@pytest.mark.parametrize("end", ["by a signal", "with the one who asked"])
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_export_that_is_given_up_leaves_no_file(talkative, tmp_path, form, end):
    command = [
        "main.py",
        "search",
        "--store",
        str(talkative),
        "--out",
        str(tmp_path / "hits"),
        "--format",
        form,
        "--parent-pipe",
    ]
    process = subprocess.Popen(
        [sys.executable, *command, "size > 0"], cwd=CHECKOUT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.readline().startswith("plan: ")
        assert process.stderr.readline()  # of the first message: it writes now, and will stand still
        assert [entry.name for entry in tmp_path.iterdir()] == ["hits.part"]
        if end == "by a signal":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        asyncio.run(eventually(lambda: not any(tmp_path.iterdir())))
        said = process.stderr.read()
    assert process.wait(60) == 143
    process.stdin.close()
    assert "complete" not in said
    assert list(tmp_path.iterdir()) == []
