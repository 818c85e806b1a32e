"""Processes that Orbit starts: their commands and environments."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.children import disown, environment, main_command, module_command

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("broker_core", "monitoring", "spark_reports", "gui")
OF_OTHERS = {
    "PYTHONPATH": "/nowhere", "PYTHONWARNINGS": "error", "PYTHONSTARTUP": "/nowhere", "PYTHONOPTIMIZE": "2",
    "PYTHONHASHSEED": "none",
    "_JAVA_OPTIONS": "-Xmx8m", "JDK_JAVA_OPTIONS": "-Xmx8m", "JAVA_TOOL_OPTIONS": "-Xmx8m", "JAVA_HOME": "/nowhere",
    "SPARK_LOCAL_DIRS": "/nowhere", "PYSPARK_SUBMIT_ARGS": "--nothing", "NUMBA_DISABLE_JIT": "1", "LESS": "-R",
}  # fmt: skip
OF_THE_USER = {
    "HOME": "/home/me",
    "PATH": "/bin",
    "LC_ALL": "C",
    "XDG_DATA_HOME": "/data",
    "ORBIT_TO_ACCESS_KEY": "key",
    "PYTHON_KEYRING_BACKEND": "k",
}


def test_a_child_gets_what_is_the_users_and_nothing_of_other_programs():
    assert environment(OF_OTHERS | OF_THE_USER) == OF_THE_USER


def test_what_libraries_of_this_process_would_read_is_taken_away_and_named():
    whole = OF_OTHERS | OF_THE_USER | {"SPARK_HOME": ""}
    assert disown(whole, ignores_python=True) == [
        "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "NUMBA_DISABLE_JIT", "PYSPARK_SUBMIT_ARGS", "PYTHONOPTIMIZE", "PYTHONPATH",
        "PYTHONWARNINGS", "SPARK_LOCAL_DIRS", "_JAVA_OPTIONS",
    ]  # fmt: skip
    assert whole.keys() == OF_THE_USER.keys() | {"JAVA_HOME", "LESS", "SPARK_HOME"}
    assert disown(whole, ignores_python=True) == []


def test_variables_that_this_python_has_read_are_not_said_to_be_ignored():
    assert not {name for name in disown(dict(OF_OTHERS), ignores_python=False) if name.startswith("PYTHON")}


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A folder with modules of the names of Python's own, which end whoever imports them."""
    for name in ("json", "types", "select", "numpy", "site", "broker_core"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the module of the folder was imported')\n")
    return tmp_path


@pytest.mark.environment
def test_a_child_imports_nothing_from_where_the_user_stands(hostile_folder: Path):
    more = {"PYTHONPATH": str(hostile_folder), "PYTHONWARNINGS": "error", "PYTHONHOME": "/nowhere"}
    for command in (main_command("--version"), module_command("grpc_tools.protoc", "--version")):
        done = subprocess.run(
            command, cwd=hostile_folder, env=environment() | more, capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.startswith(("orbit ", "libprotoc "))


@pytest.mark.environment
def test_what_is_ignored_is_told_once_by_the_first_process():
    more = {"PYTHONPATH": "/nowhere", "_JAVA_OPTIONS": "-Xmx8m"}
    done = subprocess.run(main_command("--version"), env=environment() | more, capture_output=True, text=True, check=True)
    assert done.stderr == "orbit: variables of other programs are ignored: PYTHONPATH, _JAVA_OPTIONS\n"


def test_the_start_script_runs_the_program_as_children_are_run():
    python, *options, main = main_command()
    assert (python, main) == (sys.executable, str(ROOT / "main.py"))
    assert f'exec "$python" {" ".join(options)} "$here/main.py"' in (ROOT / "orbit").read_text(encoding="utf-8")


STARTING = ("subprocess.", "os.exec", "os.spawn", "os.posix_spawn", "os.system", "os.popen", "asyncio.create_subprocess")
STARTS = re.compile("|".join((*map(re.escape, STARTING), "QProcess")))


def calls() -> Iterator[tuple[str, ast.Call]]:
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if STARTS.search(source) else ():
            if isinstance(node, ast.Call):
                yield path.relative_to(ROOT).as_posix(), node


def starts_a_process(name: str) -> bool:
    return name.startswith(STARTING) or name in {"QProcess", "QProcess.startDetached", "QProcess.execute"}


def test_no_process_is_started_with_an_inherited_environment():
    found = {}
    for path, call in calls():
        if starts_a_process(ast.unparse(call.func)):
            given = {word.arg: ast.unparse(word.value) for word in call.keywords}
            found[path] = given.get("env", "inherited")
    assert found.pop("gui/processes/program.py") == "inherited"  # it sets the environment of each `QProcess`
    assert found.pop("broker_core/platform/process_groups.py") == "inherited"  # the same program, which drops what it ignores
    own = {"environment()", "child_environment()", "machine_environment()", "self._environment(java, home, conf)"}
    assert {path: given for path, given in found.items() if given not in own} == {}
    assert sorted(found) == [
        "broker_core/tools/commands/desktop.py", "broker_core/worker/search_process.py", "monitoring/payload/schemas.py",
        "spark_reports/class_cache.py", "spark_reports/java_machine.py", "spark_reports/output/pdf.py",
    ]  # fmt: skip
