"""Line ends: what a checkout on any system must leave as it is, by `.gitattributes` and by the bytes of the files."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (".ci", "benchmarks", "broker_core", "docs", "gui", "monitoring", "resources", "spark_reports", "tests")
AS_THEY_ARE = (".gz", ".png", ".ttf")


def git(*words: str, stdin: str = "") -> list[str]:
    """What git prints for this checkout, split at its NULs; a tree without one has no attributes to ask for."""
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is not a git checkout: only the bytes of its scripts are checked")
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\0")[:-1]


def attributes(names: list[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    words = git("check-attr", "-z", "--stdin", "text", "eol", stdin="".join(f"{name}\0" for name in names))
    for name, attribute, value in zip(words[::3], words[1::3], words[2::3], strict=True):
        found[name][attribute] = value
    return found


def keeps_its_ends(name: str) -> bool:
    """Whether a tracked file is a script or a list of packages."""
    return name.endswith((".py", ".sh", ".lock")) or (ROOT / name).read_bytes().startswith(b"#!")


def test_each_script_and_each_lock_file_is_checked_out_with_line_feeds():
    tracked = [entry.partition("\t") for entry in git("ls-files", "-s", "-z")]
    names = [name for mode, _tab, name in tracked if mode.startswith("100755") or keeps_its_ends(name)]
    assert {"orbit", ".ci/run", "tests/support/peer/peer", "requirements-core.lock"} <= set(names)
    others = {name: kept for name, kept in attributes(names).items() if kept != {"text": "set", "eol": "lf"}}
    assert others == {}


def test_archives_pictures_and_fonts_are_checked_out_as_they_are():
    names = [name for name in git("ls-files", "-z") if name.endswith(AS_THEY_ARE)]
    assert {Path(name).suffix for name in names} == set(AS_THEY_ARE)
    assert {name for name, kept in attributes(names).items() if kept["text"] != "unset"} == set()


def test_no_script_and_no_lock_file_holds_a_carriage_return():
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = {path: path.read_bytes() for path in files if path.suffix != ".py" and path.suffix not in AS_THEY_ARE}
    scripts = {path: text for path, text in texts.items() if text.startswith(b"#!") or path.suffix == ".lock"}
    assert {ROOT / "orbit", ROOT / "requirements-core.lock"} <= scripts.keys()
    assert [path for path, text in scripts.items() if b"\r" in text] == []
