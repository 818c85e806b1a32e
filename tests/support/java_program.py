"""Compiles and runs small Java programs with RocketMQ's own client; needs Java, Maven, and Maven's repository or its cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.broker_process import CHECKOUT

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>orbit</groupId><artifactId>interop</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-client</artifactId><version>CLIENT_VERSION</version></dependency>
</dependencies></project>"""


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
    for program in ("java", "javac", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    (folder / "pom.xml").write_text(_POM.replace("CLIENT_VERSION", client_version))
    fetch = ["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    fetched = subprocess.run(fetch, check=False, capture_output=True, text=True, timeout=280)
    assert fetched.returncode == 0, fetched.stdout[-1000:]
    path = f"{folder}{os.pathsep}{folder}/*"
    source = CHECKOUT / "tests" / "support" / f"{main}.java"
    subprocess.run(["javac", "-encoding", "UTF-8", "-cp", path, "-d", str(folder), str(source)], check=True, timeout=120)
    return JavaProgram(main, path, folder)
