"""Owners and permission bits of files, and what counts where there are none."""

from __future__ import annotations

import os

import pytest

from broker_core.platform import files, owners
from tests.support.plain_ways import take_plain_ways


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "secret"
    os.close(files.open_new(path, 0o600))
    return path


def test_the_bits_of_a_file_say_who_may_read_and_write_it(file):
    assert owners.is_own(file.stat())
    assert not owners.others_may_read(file.stat())
    file.chmod(0o640)
    assert owners.others_may_read(file.stat())
    assert owners.is_own(file.stat())
    file.chmod(0o620)
    assert not owners.is_own(file.stat())


def test_the_superuser_s_files_count_where_that_is_asked_for(file):
    fields = list(file.stat())
    fields[4] = 0 if os.getuid() else 4711
    other = os.stat_result(fields)
    assert not owners.is_own(other)
    assert owners.is_own(other, or_root=True) == (fields[4] == 0)


@pytest.mark.parametrize(("mode", "can"), [(0o755, False), (0o777, True), (0o775, True), (0o1777, False)])
def test_in_a_folder_that_others_may_write_they_may_rename_unless_it_is_sticky(tmp_path, mode, can):
    tmp_path.chmod(mode)
    assert owners.others_may_rename(tmp_path.stat()) == can


def test_a_system_without_bits_takes_files_as_the_user_s_own(file, monkeypatch):
    take_plain_ways(monkeypatch)
    file.chmod(0o666)
    assert owners.is_own(file.stat())
    assert not owners.others_may_read(file.stat())
    assert not owners.others_may_rename(file.stat())
    assert (owners.user_text(), owners.user_name()) == ("this user", "user")
    assert not owners.is_superuser()


def test_the_user_is_named_by_number():
    assert owners.user_text() == f"this user (uid {os.getuid()})"
    assert owners.is_superuser() == (os.geteuid() == 0)
