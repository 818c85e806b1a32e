"""Java programs of the tests, compiled against a published client."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parent
ADMIN_TOOL = "org.apache.rocketmq.tools.command.MQAdminStartup"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>orbit</groupId><artifactId>interop</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-client</artifactId><version>VERSION</version></dependency>
<dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-tools</artifactId><version>VERSION</version></dependency>
</dependencies></project>"""
_RUN_SECONDS = 150


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """A compiled program and what it needs; its home is a folder of its own."""

    class_path: str
    home: Path

    @classmethod
    def compile(cls, source: str, version: str, folder: Path) -> JavaProgram:
        """Compile a source of this folder against a client; skips the test where that cannot be had."""
        for program in ("java", "javac", "mvn"):
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed")
        (folder / "pom.xml").write_text(_POM.replace("VERSION", version))
        fetch = [
            "mvn",
            "-q",
            "-B",
            "-f",
            str(folder / "pom.xml"),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}",
        ]
        fetched = subprocess.run(fetch, check=False, capture_output=True, text=True, timeout=280)
        if fetched.returncode != 0:
            pytest.skip(f"Maven cannot get the Java client: {fetched.stdout.strip()[-300:]}")
        class_path = f"{folder}{os.pathsep}{folder}/*"
        compiler = ["javac", "-encoding", "UTF-8", "-cp", class_path, "-d", str(folder), str(SUPPORT / source)]
        subprocess.run(compiler, check=True, timeout=120)
        (folder / "conf").mkdir()
        (folder / "conf" / "logback_tools.xml").write_text("<configuration/>")  # the admin tool insists on it
        return cls(class_path, folder)

    def command(self, main: str, *arguments: object) -> list[str]:
        """The command line of one run."""
        options = [f"-Duser.home={self.home}", f"-Drocketmq.home.dir={self.home}", "-Dfile.encoding=UTF-8", "-Xmx256m"]
        options.append("-Drocketmq.client.logUseSlf4j=true")
        return ["java", *options, "-cp", self.class_path, main, *map(str, arguments)]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a run."""
        return {**os.environ, "LC_ALL": "C.UTF-8", "ROCKETMQ_HOME": str(self.home)}

    def run(self, main: str, *arguments: object) -> list[str]:
        """Run it to its end; its lines."""
        command: Sequence[str] = self.command(main, *arguments)
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=self.environment, timeout=_RUN_SECONDS)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout.splitlines()

    def start(self, main: str, *arguments: object) -> subprocess.Popen[str]:
        """Start it; its output is a pipe of text."""
        return subprocess.Popen(
            self.command(main, *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.environment,
        )
