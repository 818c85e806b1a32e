"""The commands of ``./orbit``: the paths that it passes to its tests exist."""

import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from packaging.markers import Marker

ROOT = Path(__file__).resolve().parents[2]


def test_every_test_path_that_the_script_names_exists():
    named = re.findall(r"\btests/[\w/.]+", (ROOT / "orbit").read_text(encoding="utf-8"))
    assert {"tests/unit", "tests/golden"} < set(named)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_script_for_windows_has_every_label_that_it_goes_to_and_line_ends_of_windows():
    data = (ROOT / "orbit.cmd").read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")
    lines = data.decode("ascii").splitlines()
    labels = {line[1:] for line in lines if line.startswith(":")}
    named = {name for line in lines if not line.startswith("rem") for name in re.findall(r"(?:goto |call :)(\w+)", line)}
    assert named == labels


def test_both_scripts_install_run_and_check_in_the_same_way():
    shell, windows = ((ROOT / name).read_text(encoding="utf-8") for name in ("orbit", "orbit.cmd"))
    options = "--quiet --disable-pip-version-check --no-input --require-hashes --no-deps --prefer-binary"
    alike = (
        options, "requirements-build.lock", "--no-build-isolation", "-E -s -X utf8", "-m ruff format --check .",
        "-m ruff check .", "main.py broker_core monitoring gui spark_reports", "darwin", "lint-imports",
        "tests/unit tests/golden", "-o faulthandler_exit_on_timeout=true", "sys.version_info",
        '-m "clients and not slow and not bench"', '-m "not slow and not bench and not packaging"',
    )  # fmt: skip
    assert [words for words in alike if words not in shell or words not in windows] == []


def test_both_scripts_install_from_the_same_lock_files_and_all_of_them_exist():
    shell, windows = (set(re.findall(r"requirements-\w+\.lock|requirements\.lock", (ROOT / name).read_text("utf-8")))
                      for name in ("orbit", "orbit.cmd"))  # fmt: skip
    assert shell == windows
    assert [name for name in sorted(shell) if not (ROOT / name).is_file()] == []


MEASURED = sys.platform == "linux" and platform.machine() == "x86_64" and sys.implementation.name == "cpython"


@pytest.mark.skipif(not MEASURED, reason="the figures are those of x86-64 Linux")
@pytest.mark.parametrize(
    ("words", "locks"),
    [
        ("packages", ["requirements-window.lock", "requirements-reports.lock"]),
        ("packages with the tools for tests", ["requirements-dev.lock"]),
    ],
)
def test_the_set_up_says_what_it_takes_on_disk(words, locks):
    stated = re.search(rf'what="{words} \((\d\.\d) GB"', (ROOT / "orbit").read_text(encoding="utf-8"))
    assert stated is not None
    named = {name for lock in locks for name in names_of(lock)}
    installed = {canonical(one.name): one for one in distributions()}
    if missing := sorted(name for name in named if name not in installed):
        pytest.skip(f"not installed here: {', '.join(missing[:5])}")
    taken = sum(disk_bytes(installed[name]) for name in {*named, "pip"} if name in installed)
    assert float(stated[1]) * 1e9 == pytest.approx(taken, rel=0.15)


def test_both_scripts_say_the_same_of_the_disk():
    shell, windows = ((ROOT / name).read_text(encoding="utf-8") for name in ("orbit", "orbit.cmd"))
    (stated,) = re.findall(r'what="packages \((\d\.\d GB)', shell)
    assert re.findall(r"about (\d\.\d GB) on disk", windows) == [stated]


def names_of(lock: str) -> set[str]:
    """The packages of a lock file that are installed on this system."""
    lines = re.findall(r"^([\w.-]+)==[^;\n]+?(;[^\\\n]+)?\\?$", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE)
    return {canonical(name) for name, marker in lines if not marker or Marker(marker[1:].strip()).evaluate()}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def disk_bytes(one: Distribution) -> int:
    """Blocks of the files that were installed, compiled modules among them."""
    files = (Path(str(one.locate_file(file))) for file in one.files or ())
    return sum(file.lstat().st_blocks * 512 for file in files if file.exists())


@pytest.mark.parametrize(
    ("parts", "locks", "requirement"),
    [
        ([], ["window", "reports"], "orbit[window,reports]"),
        (["reports"], ["reports"], "orbit[reports]"),
        (["core"], ["core"], "orbit"),
    ],
)
def test_the_folder_of_wheels_gets_the_named_parts_and_the_hint_installs_them(tmp_path, parts, locks, requirement):
    done, calls = bundle_wheels(tmp_path, *parts)
    assert done.returncode == 0
    assert f"--find-links {tmp_path / 'wheels'} '{requirement}'" in done.stderr
    assert re.findall(r"requirements-(\w+)\.lock", calls) == ["build", *locks]  # tools of the build come first


def test_a_part_that_does_not_exist_is_named(tmp_path):
    done, calls = bundle_wheels(tmp_path, "dev")
    assert (done.returncode, calls) == (1, "")
    assert "there is no part dev" in done.stderr


def test_a_link_starts_the_checkout_that_it_leads_to(tmp_path):
    (checkout := tmp_path / "checkout").mkdir()
    script, calls = with_python(checkout)
    (tmp_path / "bin").mkdir()
    (link := tmp_path / "bin" / "orbit").symlink_to(script)
    subprocess.run([link, "bundle-wheels", tmp_path / "wheels", "core"], capture_output=True, check=True, timeout=60)
    assert str(checkout / "requirements-core.lock") in calls.read_text(encoding="utf-8")
    assert list(link.parent.iterdir()) == [link]


def test_python_is_not_told_the_place_of_another(tmp_path):
    script, calls = with_python(tmp_path, "$PYTHONEXECUTABLE")
    other = os.environ | {"PYTHONEXECUTABLE": "/bin/false"}
    command = [script, "bundle-wheels", tmp_path / "wheels", "core"]
    subprocess.run(command, env=other, capture_output=True, check=True, timeout=60)
    assert "/bin/false" not in calls.read_text(encoding="utf-8")


def with_python(folder, noted="$*"):
    """The script in a folder with a Python that notes what it is called with; and the file of its notes."""
    calls = folder / "calls"
    calls.touch()
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "{noted}" >>"{calls}"\n', encoding="utf-8")
    python.chmod(0o755)
    return shutil.copy(ROOT / "orbit", folder), calls


def bundle_wheels(folder, *parts):
    script, calls = with_python(folder)
    command = ["/bin/sh", script, "bundle-wheels", folder / "wheels", *parts]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done, calls.read_text(encoding="utf-8")
