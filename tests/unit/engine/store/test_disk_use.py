from __future__ import annotations

import errno
import os

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.disk_use import NOT_KNOWN, DiskUse, clean_forcibly_percent, max_used_percent, warning_percent
from broker_core.engine.store.write_gate import WriteGate, WriteRefusal
from tests.support.store_bench import message


class Disks(Disk):
    """Disks of 1,000 bytes, by the name of the directory."""

    def __init__(self, **used: int) -> None:
        self.used = used

    def usage(self, path):
        used = self.used[path.name]
        if used < 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return used, 1_000


@pytest.fixture
def place(tmp_path):
    for name in ("log", "log2", "queues"):
        (tmp_path / name).mkdir()
    return tmp_path


def checked(place, config=None, **used):
    gate = WriteGate()
    logs = [place / name for name in used if name.startswith("log")]
    percent = DiskUse(Disks(**used), gate, logs, place / "queues").check(config or StoreConfig())
    return percent, gate


@pytest.mark.parametrize(
    ("used", "percent", "refused"),
    [
        ({"log": 900, "queues": 100}, 90, False),
        ({"log": 901, "queues": 100}, 91, True),
        ({"log": 100, "queues": 901}, 91, True),
        ({"log": 999, "log2": 400, "queues": 100}, 40, False),
        ({"log": 999, "log2": 910, "queues": 100}, 91, True),
        ({"log": -1, "queues": 100}, NOT_KNOWN, False),
        ({"log": 100, "queues": -1}, NOT_KNOWN, False),
        ({"log": -1, "queues": 990}, 99, True),
    ],
)
def test_every_disk_of_the_store_counts(place, used, percent, refused):
    found, gate = checked(place, **used)
    assert found == percent
    assert gate.holds(WriteRefusal.DISK_USE) == refused
    assert gate.is_shut == refused


def test_the_refusal_names_the_disk_and_the_figures(place):
    _, gate = checked(place, log=100, queues=950)
    assert str(place / "queues") in gate.text
    assert "95 % full, more than 90 %" in gate.text


def test_limits_are_brought_into_their_bounds():
    low = StoreConfig(disk_warning_percent=1, disk_clean_forcibly_percent=1, disk_max_used_percent=1)
    high = StoreConfig(disk_warning_percent=100, disk_clean_forcibly_percent=100, disk_max_used_percent=100)
    for config, expected in ((low, (35, 30, 10)), (high, (90, 85, 95)), (StoreConfig(), (90, 85, 75))):
        assert (warning_percent(config), clean_forcibly_percent(config), max_used_percent(config)) == expected


def test_a_directory_that_is_not_there_yet_is_on_the_disk_of_the_one_above_it(tmp_path):
    use = DiskUse(Disk(), WriteGate(), [tmp_path], tmp_path)
    assert use.percent(tmp_path / "a" / "b") == use.percent(tmp_path) >= 0


def test_a_disk_that_cannot_be_asked_does_not_stop_the_store(bench, monkeypatch):
    def fail(_path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(bench.disk, "usage", fail)
    with bench.open() as store:
        assert store.put(message()).status.value == "PUT_OK"
