"""Compiles and runs small Java programs with RocketMQ's own client; needs Java, Maven, and Maven's repository or its cache."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.toolchains import java_class_path


@dataclass(frozen=True)
class JavaProgram:
    """A compiled program."""

    main: str
    class_path: str
    home: Path

    def run(self, *arguments: object, timeout_s: float = 180) -> list[list[str]]:
        """Run it to its end; the words of each line it printed."""
        options = [f"-Duser.home={self.home}", "-Dfile.encoding=UTF-8", "-Xmx256m", "-Drocketmq.client.logUseSlf4j=true"]
        command = ["java", *options, "-cp", self.class_path, self.main, *map(str, arguments)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout_s)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return [line.split() for line in done.stdout.splitlines()]


def compiled(main: str, client_version: str, folder: Path) -> JavaProgram:
    """Compile ``tests/support/MAIN.java`` against a version of the client; skips without the toolchain, fails otherwise."""
    return JavaProgram(main, java_class_path(folder, client_version, f"{main}.java"), folder)
