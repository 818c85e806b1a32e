import json

import psutil
import pytest

from broker_core.errors import ForeignStoreError
from spark_reports.__main__ import main
from spark_reports.datasource.estimate import estimate
from tests.support import known_store as known


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return known.write_known_store(tmp_path_factory.mktemp("estimate") / "store")


def test_an_estimate_is_near_what_is_stored(store):
    found = estimate([str(store.root)])
    assert (found.files, found.passed_over) == (len(list((store.root / "commitlog").iterdir())), 0)
    written = sum(file.stat().st_size for file in (store.root / "commitlog").iterdir())
    assert 0 < found.byte_count <= written
    assert found.records is not None
    assert found.records > known.ORDERS // 2


def test_a_range_leaves_files_out(store):
    later = estimate([str(store.root)], from_ms=known.NOW_MS + known.DAY_MS)
    every = estimate([str(store.root)])
    assert (later.files, later.passed_over) == (1, every.files - 1)  # the last one may get more
    assert later.byte_count < every.byte_count


def test_too_little_memory_is_said(store, monkeypatch):
    little = psutil.virtual_memory()._replace(available=100 << 20)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: little)
    assert "100 MiB" in estimate([str(store.root)]).shortage


def test_a_store_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ForeignStoreError):
        estimate([str(tmp_path / "missing")])


def test_the_command_line_tells_it_as_json(store, capsys):
    assert main(["throughput", "--store", str(store.root), "--estimate"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == estimate([str(store.root)]).fields() | {"shortage": told["shortage"]}
