"""The machine code that a store uses, if it may, and a mark on the disk of a process that it ended."""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path

from broker_core.config import StoreConfig
from broker_core.engine.store.paths import StorePaths
from broker_core.native.library import SWITCH, Library, installed, reason_without

_log = logging.getLogger(__name__)


class MachineCodeState(Enum):
    """Whether a store works with machine code."""

    USED = "used"
    OFF = "off"
    """``orbitNative`` switches it off."""
    NOT_USED = "not used"
    """It is missing, not to be trusted, or ended a process on this store. The log has the reason."""


def machine_code(config: StoreConfig) -> Library | None:
    """The kernels; None where they are switched off, missing, not to be trusted, or ended a process on this store."""
    if config.native == "off":
        return None
    fault = _fault_of(config)
    if fault is not None:
        _log.warning(
            "a process on this store ended by a fault, which %s describes; machine code is not used until that file is deleted",
            fault,
        )
        return None
    return _loaded()


def machine_code_state(config: StoreConfig) -> MachineCodeState:
    """Whether `machine_code` gives the kernels."""
    if config.native == "off":
        return MachineCodeState.OFF
    return MachineCodeState.NOT_USED if _fault_of(config) is not None or _loaded() is None else MachineCodeState.USED


def _fault_of(config: StoreConfig) -> Path | None:
    """The mark of a process that ended by a fault."""
    return next((path for path in _marks(config) if path.stat().st_size), None)


def _marks(config: StoreConfig) -> list[Path]:
    try:
        return sorted(StorePaths(config.root).faults.iterdir())
    except OSError:
        return []


@cache
def _loaded() -> Library | None:
    """The kernels of this process; why there are none is logged once."""
    library = installed()
    if library is None:
        _log.info("the store works without machine code, more slowly: %s", reason_without())
    return library


def _sweep(config: StoreConfig) -> None:
    """Delete the empty marks of processes that were killed; a process that still runs keeps its mark."""
    empty = [path for path in _marks(config) if path.name.isdecimal() and not path.stat().st_size]
    if empty:
        import psutil  # noqa: PLC0415  only after a kill

        for path in empty:
            if not psutil.pid_exists(int(path.name)):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def faults_noted(config: StoreConfig) -> Iterator[None]:
    """Write a fault that ends the process inside the block (SIGSEGV, SIGBUS, SIGILL) to a file of the store directory.

    The file stays until a person deletes it. A process that is killed leaves an empty one, which means nothing. Where the store
    may not use machine code, other readers in the process, and the processes that it starts, do without, too.
    """
    with _alike_elsewhere(config), _fault_written(config):
        yield


@contextlib.contextmanager
def _alike_elsewhere(config: StoreConfig) -> Iterator[None]:
    is_left_out = machine_code_state(config) is not MachineCodeState.USED and SWITCH not in os.environ
    if is_left_out:
        os.environ[SWITCH] = "off"
    try:
        yield
    finally:
        if is_left_out:
            del os.environ[SWITCH]


@contextlib.contextmanager
def _fault_written(config: StoreConfig) -> Iterator[None]:
    paths = StorePaths(config.root)
    mark = paths.faults / str(os.getpid())
    try:
        if not (paths.commit_log.is_dir() or paths.consume_queue.is_dir()):
            raise FileNotFoundError  # a new store, or a directory that is none
        paths.faults.mkdir(exist_ok=True)
        _sweep(config)
        file = mark.open("wb")
    except OSError:
        yield
        return
    with file:
        faulthandler.enable(file, all_threads=False)
        try:
            yield
        finally:
            faulthandler.disable()
            with contextlib.suppress(OSError):
                mark.unlink()
                paths.faults.rmdir()
