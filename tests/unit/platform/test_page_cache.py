"""Which pages of files are in memory."""

from __future__ import annotations

import mmap
import os

from broker_core.engine.store.file_map import map_file
from broker_core.native.addresses import address
from broker_core.platform.page_cache import is_resident, plain_is_resident


def test_the_system_tells_which_pages_are_in_memory(tmp_path):
    page, path = mmap.PAGESIZE, tmp_path / "file"
    path.write_bytes(b"x" * 8 * page)
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    mapped = map_file(path)
    start = address(memoryview(mapped))
    assert is_resident(start + 3 * page + 5, 4 * page), "it was just written"
    mapped.madvise(mmap.MADV_DONTNEED)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    is_gone = not is_resident(start + 3 * page, 1)
    os.close(descriptor)
    mapped.madvise(mmap.MADV_RANDOM)
    assert mapped[3 * page] == ord("x")
    assert is_resident(start + 3 * page, page)
    assert not is_gone or not is_resident(start, 8 * page), "the others are missing"
    assert is_gone or tmpfs(tmp_path)


def tmpfs(path) -> bool:
    """Whether a path lies in memory anyway, as tmpfs and some others do."""
    return os.major(path.stat().st_dev) == 0


def test_where_the_system_does_not_tell_each_page_counts_as_in_memory():
    assert plain_is_resident(0, 1)
