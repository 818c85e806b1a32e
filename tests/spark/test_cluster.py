"""The same report on a standalone cluster and on this machine gives the same figures."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.spark.standalone import connect_server, java_home, standalone
from tests.support import known_store as known

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.clients, pytest.mark.timeout(1500)]

ROOT = Path(__file__).resolve().parents[2]


def report(store, out, *words):
    command = [sys.executable, "-m", "spark_reports", "throughput", "--store", str(store), "--out", str(out), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "manifest.json").read_text())


def test_a_standalone_cluster_gives_the_same_figures(tmp_path):
    home = java_home()
    store = known.write_known_store(tmp_path / "store")
    options = ["--java-home", str(home), "--spark-conf", "spark.executor.memory=512m",
               "--spark-conf", "spark.sql.shuffle.partitions=4"]  # fmt: skip
    alone = report(store.root, tmp_path / "alone", "--java-home", str(home))
    with standalone(tmp_path, home) as master:
        together = report(store.root, tmp_path / "together", "--master", master, *options)
        prepared = report(
            store.root, tmp_path / "prepared", "--master", master, "--parquet", str(tmp_path / "messages"), *options
        )
        executors = sorted((tmp_path / "work").glob("app-*/*"))
    assert len(executors) >= 2, "one worker did all"
    for other in (together, prepared):
        assert other["master"] == master
        assert (other["rows"], other["findings"], other["skipped"]) == (alone["rows"], alone["findings"], alone["skipped"])
    for table in alone["tables"]:
        tables = [pyarrow.parquet.read_table(tmp_path / name / f"{table['name']}.parquet").to_pylist()
                  for name in ("alone", "together", "prepared")]  # fmt: skip
        assert tables[0] == tables[1] == tables[2]


def test_a_spark_connect_server_gives_the_same_figures(tmp_path):
    home = java_home()
    store = known.write_known_store(tmp_path / "store")
    alone = report(store.root, tmp_path / "alone", "--java-home", str(home))
    with connect_server(tmp_path, home) as address:
        there = report(store.root, tmp_path / "there", "--master", address, "--parquet", str(tmp_path / "messages"))
    assert (there["master"], there["versions"]["java"]) == (address, "at the Spark Connect server")
    assert (there["rows"], there["findings"], there["skipped"]) == (alone["rows"], alone["findings"], alone["skipped"])
