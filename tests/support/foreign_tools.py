"""Programs and packages of other makers that tests use: clients, real brokers, browsers.

Only a test with the marker ``clients`` may use one. A machine without it skips the test; where it is there, whatever goes wrong
fails the test.
"""

from __future__ import annotations

import importlib.util
import shutil

import pytest

MARKER = "clients"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_running: list[pytest.Item] = []
"""The test that runs, if any."""


def note_running(item: pytest.Item) -> None:
    """Note which test runs; its marker decides."""
    _running[:] = [item]


def need(*programs: str) -> None:
    """Skip the test where a program is not installed; fail a test without the marker."""
    for program in programs:
        _check_marker(program)
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def need_package(name: str) -> None:
    """Skip the test where a Python package is not installed; fail a test without the marker."""
    _check_marker(name)
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"the PyPI package {name} is not installed")


def browser() -> str:
    """Path of Chromium or Chrome; skips the test where there is none."""
    _check_marker("Chromium")
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        pytest.skip("needs Chromium to open the page")
    return found


def _check_marker(tool: str) -> None:
    marked = [item for item in _running if item.get_closest_marker(MARKER)]
    assert marked, f"a test that uses {tool} needs the marker “{MARKER}”: {_running}"
