import os

import pytest

from broker_core.errors import JavaError
from spark_reports import class_cache
from spark_reports.class_cache import ClassCache
from spark_reports.java import find_java


def test_without_an_archive_there_are_no_options(tmp_path):
    assert ClassCache(tmp_path, find_java()).options() == []


def test_an_archive_is_used(tmp_path):
    cache = ClassCache(tmp_path, find_java())
    cache.path.touch()
    assert cache.options() == [f"-XX:SharedArchiveFile={cache.path}", "-Xshare:auto"]


def test_another_java_has_another_archive(tmp_path):
    java = tmp_path / "java"
    java.touch()
    first = ClassCache(tmp_path, java).path
    os.utime(java, (1, 1))
    assert ClassCache(tmp_path, java).path != first


def test_a_dump_that_fails_leaves_nothing_and_says_why(tmp_path):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
    java.chmod(0o755)
    cache = ClassCache(tmp_path / "cache", java)
    cache.recording_options()
    cache.path.with_suffix(".classes").touch()
    with pytest.raises(JavaError, match="no room"):
        cache.build()
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_dump_that_takes_too_long_is_said_without_its_command(tmp_path, monkeypatch):
    monkeypatch.setattr(class_cache, "DUMP_TIMEOUT_S", 0.05)
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexec sleep 600\n")
    java.chmod(0o755)
    cache = ClassCache(tmp_path / "cache", java)
    cache.recording_options()
    cache.path.with_suffix(".classes").touch()
    with pytest.raises(JavaError, match="was not ready after 0 s") as told:
        cache.build()
    assert "-cp" not in str(told.value)
    assert list((tmp_path / "cache").iterdir()) == []
