"""Figures of the machine: each way has the same."""

from __future__ import annotations

import os
import shutil

import pytest

from broker_core.platform import machine


def test_the_memory_of_the_machine_is_the_same_by_each_way():
    assert machine.memory_bytes() == machine.plain_memory_bytes() > 0


def test_processors_are_at_least_one_and_at_most_all(both_platforms):
    assert 1 <= machine.usable_processors() <= (os.cpu_count() or 1)


def test_addresses_have_a_bound_or_none(both_platforms):
    bound = machine.address_bytes()
    assert bound is None or bound > 0


def test_a_disk_has_as_much_room_by_each_way(tmp_path):
    total = shutil.disk_usage(tmp_path).total
    for usage in (machine.disk_usage, machine.plain_disk_usage):
        used, usable = usage(tmp_path)
        assert 0 <= used <= usable <= total


def test_a_lower_priority_can_be_asked_for_on_each_system(monkeypatch):
    given = []
    monkeypatch.setattr(os, "nice", given.append)
    machine.plain_lower_priority(15)
    assert given == []


def test_a_missing_folder_has_no_figures(tmp_path, both_platforms):
    with pytest.raises(FileNotFoundError):
        machine.disk_usage(tmp_path / "absent")
