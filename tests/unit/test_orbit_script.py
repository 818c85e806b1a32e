"""The commands of ``./orbit``: the paths that it passes to its tests exist."""

import re
from pathlib import Path

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
