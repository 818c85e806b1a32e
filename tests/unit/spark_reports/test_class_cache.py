import os

import pytest

from broker_core.errors import JavaError
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
