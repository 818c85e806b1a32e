"""Reports where the user's shell, folder and locale stand in their way."""

import contextlib
import json
import os
import subprocess
import uuid
from pathlib import Path

import pytest

from broker_core.children import environment, main_command
from broker_core.errors import JavaError
from tests.support.store_writer import StoreWriter

pytestmark = [pytest.mark.spark, pytest.mark.environment, pytest.mark.timeout(400)]

NAME = "Bücher 商店 😀"
MODULES = ("json", "types", "select", "numpy", "site", "pyspark", "broker_core")
MESSAGES = 40
OF_OTHERS = {
    "_JAVA_OPTIONS": "-Xmx8m", "JDK_JAVA_OPTIONS": "-Xmx8m", "JAVA_TOOL_OPTIONS": "-Xmx8m", "JAVA_HOME": "/nowhere",
    "SPARK_HOME": "/nowhere", "SPARK_LOCAL_DIRS": "/dev/null", "SPARK_REMOTE": "sc://nowhere", "SPARK_CONF_DIR": "/nowhere",
    "PYSPARK_SUBMIT_ARGS": "--nothing", "PYSPARK_PYTHON": "/usr/bin/false", "NUMBA_DISABLE_JIT": "1",
    "PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONHOME": "/nowhere",
}  # fmt: skip
UNNAMED = {"PYTHONHASHSEED": "none", "PYTHONDEVMODE": "1", "PYTHONVERBOSE": "1", "PYTHONIOENCODING": "ascii"}
"""They change nothing that one would look for, and would break Spark's workers."""


@pytest.fixture
def folder(tmp_path):
    """A folder with other letters in its name, a store, and modules that end whoever imports them."""
    found = tmp_path / NAME
    writer = StoreWriter(found / "store", file_bytes=1 << 16)
    for number in range(MESSAGES):
        writer.append("orders", b"x" * number)
    writer.flush()
    (found / "temporary").mkdir()
    for name in MODULES:
        (found / f"{name}.py").write_text("raise SystemExit('the module of the folder was imported')\n", encoding="utf-8")
    return found


def orbit(folder, *words):
    environment = (
        os.environ | OF_OTHERS | UNNAMED | {"PYTHONPATH": str(folder), "LC_ALL": "C", "TMPDIR": str(folder / "temporary")}
    )
    done = subprocess.run(
        main_command(*words), cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


def test_workers_and_java_do_as_ever(folder):
    # Spark's Python workers read the log for prepared messages, Spark's Java reads these for the report.
    done = orbit(folder, "report", "throughput", "--store", "store", "--parquet", "prepared", "--out", "out")
    assert json.loads((folder / "out" / "manifest.json").read_text(encoding="utf-8"))["rows"]["read"] == MESSAGES
    ignored = done.stderr.splitlines()[0].partition(": variables of other programs are ignored: ")[2].split(", ")
    # The tests' own Spark may have set more in this process.
    assert set(ignored) >= {*OF_OTHERS, "PYTHONPATH"} - {"JAVA_HOME"}
    assert list((folder / "temporary").iterdir()) == []


def test_rows_that_this_process_reads_reach_java_by_any_name(folder):
    orbit(folder, "report", "sizes", "--store", "store", "--out", "out", "--memory-mib", "512")
    assert json.loads((folder / "out" / "manifest.json").read_text(encoding="utf-8"))["rows"]["read"] == MESSAGES


@pytest.fixture
def in_group():
    """Runs a command in a control group of its own with a bound of memory, where this user may make one."""
    top = Path("/sys/fs/cgroup")
    old = (top / "memory" / "memory.limit_in_bytes").exists()
    group = (top / "memory" if old else top) / f"orbit-test-{uuid.uuid4().hex}"
    bound = group / ("memory.limit_in_bytes" if old else "memory.max")
    with contextlib.suppress(OSError):
        group.mkdir()
    if not bound.exists():
        pytest.skip("no control group with a bound of memory can be made here")

    def run(mebibytes, *command):
        bound.write_text(str(mebibytes << 20))
        joined = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', group / "cgroup.procs", *command]
        return subprocess.run(joined, env=environment(), capture_output=True, encoding="utf-8", check=False, timeout=300)

    yield run
    group.rmdir()


def test_a_container_with_too_little_memory_is_told_before_the_start(in_group, folder):
    done = in_group(700, *main_command("report", "throughput", "--store", str(folder / "store"), "--out", str(folder / "out")))
    assert done.returncode == JavaError.exit_code
    assert (
        "needs about 1,024 MiB of free memory and the control group (container) of Orbit, which may use 700 MiB" in done.stderr
    )


@pytest.mark.slow
def test_a_report_fits_into_a_container(in_group, folder):
    done = in_group(1500, *main_command("report", "throughput", "--store", str(folder / "store"), "--out", str(folder / "out")))
    assert done.returncode == 0, done.stderr
