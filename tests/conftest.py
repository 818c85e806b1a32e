"""What holds for all tests."""

from __future__ import annotations

import gc
import logging
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from broker_core.engine.store import machine_code
from tests.support import foreign_tools, temporary_files, workers
from tests.support.machine_code import uses_machine_code

# No test fails by the clock: a slow machine is no fault of the code.
settings.register_profile("orbit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("orbit")

temporary_files.keep_in_memory()

# Secrets of tests do not go into the key store of whoever runs them.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"


if not uses_machine_code():
    machine_code._loaded = lambda: None  # type: ignore[assignment]  # as where it was never made


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    return workers.worker_count()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> workers.GroupScheduling:
    return workers.GroupScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Python does not look for garbage among modules and tests: not while they are read, nor with each full look after that."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker is not None and isinstance(collector, pytest.Directory):
        report.result = workers.begun_elsewhere(report.result, worker)
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        workers.long_ones_first(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    foreign_tools.note_running(item)


@pytest.fixture(autouse=True)
def _log_of_a_command_ends_with_its_test() -> Iterator[None]:
    """A command that runs inside a test sends the log to the standard error of that test, which is gone after it."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in set(root.handlers) - set(handlers):
        if type(handler).__module__.partition(".")[0] != "_pytest":
            root.removeHandler(handler)
            handler.close()
    root.setLevel(level)
    logging.captureWarnings(capture=False)


@pytest.fixture(autouse=True)
def _children_do_not_see_the_session_of_spark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's tests leave their session, and its variables, to the next ones of their process."""
    if "spark" not in request.node.path.parts:
        for name in [name for name in os.environ if name.startswith(("PYSPARK_", "SPARK_"))]:
            monkeypatch.delenv(name)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder as ``tmp_path``, whose path leaves room for that of a socket."""
    with tempfile.TemporaryDirectory(prefix="o-") as folder:
        yield Path(folder)


@pytest.fixture(params=["machine code", "python"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test runs with machine code, and without."""
    from tests.support.machine_code import library  # what tests of the window do not load

    if request.param == "machine code":
        monkeypatch.setattr("broker_core.native.library._loaded", library)
    else:
        monkeypatch.setenv("ORBIT_NATIVE", "off")


@pytest.fixture(params=["own ways", "plain ways"])
def both_platforms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test runs with what this system has, and with the plain ways that need nothing of it (`broker_core.platform`)."""
    if request.param == "plain ways":
        from tests.support.plain_ways import take_plain_ways  # what tests of the window do not load

        take_plain_ways(monkeypatch)
