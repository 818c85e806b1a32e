"""Processes that are forked from one that has loaded everything, which saves starting an interpreter for each."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Iterator
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext, SpawnContext

import pytest

from tests.support.plain_ways import take_plain_ways


@contextlib.contextmanager
def fork_server(*preloaded: str) -> Iterator[ForkServerContext]:
    """Make processes by fork while the block lasts; nothing of the server is left behind it.

    Args:
        preloaded: Modules that the forked processes find loaded.
    """
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(list(preloaded))
    try:
        yield processes
    finally:
        # There is no public way to end the two helpers; they would live as long as this process.
        forkserver._forkserver._stop()  # type: ignore[attr-defined]
        resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


@contextlib.contextmanager
def plain_processes() -> Iterator[SpawnContext]:
    """Make processes without fork, which take the plain ways of the platform, as this one does while the block lasts."""
    with pytest.MonkeyPatch.context() as patch:
        take_plain_ways(patch)
        try:
            yield multiprocessing.get_context("spawn")
        finally:
            resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]
