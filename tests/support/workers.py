"""How tests are read and shared out when several processes run them (pytest-xdist): whole files, long ones first."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

_Node = TypeVar("_Node", bound=pytest.Item | pytest.Collector)

WORKERS_MORE = 2
"""Beside one for each processor, because many tests wait for processes they have started."""
GROUPS = {"tests/spark/test_report.py": "", "tests/spark/": "one Java machine"}
"""Beginnings of test ids that one process runs as one group; the first that fits counts, empty: the file is the group."""
FIRST = ("tests/spark/", "tests/interop/", "tests/crash/", "tests/e2e/", "tests/gui/", "tests/golden/", "tests/unit/")
"""Folders by the time of their longest group, so that no process is left with a long one at the end."""
SPREAD = "tests/unit/"


def worker_count() -> int:
    """Processes that run tests side by side on this machine."""
    return (os.cpu_count() or 1) + WORKERS_MORE


def group_of(test_id: str) -> str:
    """Group of a test: its file, unless `GROUPS` names another."""
    name = next((group for start, group in GROUPS.items() if test_id.startswith(start)), "")
    return name or test_id.partition("::")[0]


def begun_elsewhere(read: list[_Node], worker: Mapping[str, Any]) -> list[_Node]:
    """Content of a folder in the order in which one of the processes reads it: each begins at another place.

    Python and pytest compile what is read for the first time, and keep it: side by side, all processes would compile all files.
    """
    first = len(read) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    return [*read[first:], *read[:first]]


def long_ones_first(items: list[pytest.Item]) -> None:
    """Sort tests by folder and file, in whatever order the files were read; the order within a file stays.

    Files of one room of the unit tests, which mostly wait or mostly compute, are spread: side by side they would leave the
    processors idle, or crowd them. Files of other folders follow each other, because they share what a file has started.
    """
    items.sort(key=lambda item: (_rank(item.nodeid, FIRST), *_place(item.nodeid.partition("::")[0])))


def _place(path: str) -> tuple[int, str]:
    return zlib.crc32(path.encode()) if path.startswith(SPREAD) else 0, path


def _rank(test_id: str, starts: Sequence[str]) -> int:
    return next((number for number, start in enumerate(starts) if test_id.startswith(start)), len(starts))


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a process that is almost through its group the next one, in the order of collection."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False  # by the number of tests; a group of few tests may be the longest
        super().__init__(config, log)

    def remove_node(self, node: WorkerController) -> str | None:
        """Take a process away; the test that ended it is reported and, unlike in the base class, not run again."""
        groups = self.assigned_work.pop(node)
        left = [(group, test) for group, tests in groups.items() for test, is_done in tests.items() if not is_done]
        if not left:
            return None
        group, crashed = left[0]
        groups[group][crashed] = True
        self.workqueue.update({name: tests for name, tests in groups.items() if not all(tests.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return str(crashed)

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
