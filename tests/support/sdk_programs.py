"""Programs from tests/support with the SDKs of RocketMQ 5, ready to run: one command and environment a language."""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.support.foreign_client import case_results
from tests.support.toolchains import (
    GO_SDK,
    NODE_SDK,
    SHORT_LIVED,
    SUPPORT,
    go_module,
    go_program,
    java_sdk,
    node_packages,
    python_sdk,
    run,
    rust_project,
)

LINE_SECONDS = 100.0
_FAULT = re.compile(r"\bERROR\b|level=error")
_FAULTS_OF_SDKS = ("get_meter", "process received message error", "get event loop has been running")
"""Of the Python SDK: its push consumer looks for metrics that the broker has switched off, and logs its own end."""


@dataclass(frozen=True)
class SdkProgram:
    """One program; ``home`` is where its SDK logs."""

    language: str
    command: Sequence[str]
    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def results(self, *arguments: str) -> dict[str, str]:
        """What it prints as ``case NAME RESULT``."""
        return case_results([*self.command, *arguments], self._environment())

    def start(self, *arguments: str) -> RunningProgram:
        """Run it beside the test."""
        return RunningProgram([*self.command, *arguments], self._environment())

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment, "HOME": str(self.home)}

    def faults(self) -> list[str]:
        """Lines of its SDK's log that report an error, without those that its SDK makes of itself."""
        texts = [path.read_text("utf-8", "replace") for path in self.home.rglob("*.log")]
        lines = [line for text in texts for line in text.splitlines() if _FAULT.search(line)]
        return [line for line in lines if not any(known in line for known in _FAULTS_OF_SDKS)]


class RunningProgram:
    """A program that waits at some points for a line of its input. Use it as a context manager."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._lines: queue.Queue[str] = queue.Queue()
        self.results: dict[str, str] = {}

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        self._reader = threading.Thread(target=self._read, name="output of an SDK program")
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put("")

    def until_it_waits(self) -> None:
        """Read its results until it waits."""
        while (line := self._lines.get(timeout=LINE_SECONDS)) != "waiting":
            assert line, f"the program ended with {self._process.wait()}"
            words = line.split(" ", 2)
            if words[0] == "case":
                self.results[words[1]] = words[2]

    def go_on(self) -> None:
        """Have it go on."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()


def java_program(folder: Path, home: Path, name: str) -> SdkProgram:
    """A class of the same name as its file."""
    path = java_sdk(folder, f"{name}.java")
    options = [*SHORT_LIVED, f"-Duser.home={home}", "-Dmq.consoleAppender.enabled=false"]
    return SdkProgram("java", ["java", *options, "-cp", path, name], home)


def python_program(folder: Path, home: Path, name: str) -> SdkProgram:
    command = [sys.executable, "-P", str(SUPPORT / f"{name}.py")]
    return SdkProgram("python", command, home, {"PYTHONPATH": str(python_sdk(folder))})


def node_program(folder: Path, home: Path, name: str) -> SdkProgram:
    packages = node_packages(folder, (NODE_SDK,))
    program = shutil.copy(SUPPORT / f"{name}.js", home)
    return SdkProgram("node", ["node", str(program)], home, {"NODE_PATH": str(packages / "node_modules")})


def go_sdk_program(folder: Path, home: Path, name: str) -> SdkProgram:
    module = go_module(folder, GO_SDK, ("",))
    shutil.copy(SUPPORT / f"{name}.go", module)
    run(["go", "mod", "tidy"], cwd=module)
    return SdkProgram("go", [str(go_program(module, f"{name}.go"))], home)


def rust_program(folder: Path, home: Path, name: str) -> SdkProgram:
    project = rust_project(folder)
    shutil.copy(SUPPORT / f"{name}.rs", project / "src" / "main.rs")
    run(["cargo", "build", "-q", "--offline"], cwd=project)
    return SdkProgram("rust", [str(project / "target" / "debug" / "interop")], home)
