"""Java programs of the tests, compiled against a published client."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.toolchains import SHORT_LIVED, java_class_path

ADMIN_TOOL = "org.apache.rocketmq.tools.command.MQAdminStartup"

_RUN_SECONDS = 150


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """A compiled program and what it needs; its home is a folder of its own."""

    class_path: str
    home: Path
    options: tuple[str, ...]

    @classmethod
    def compile(cls, source: str, version: str, folder: Path, *, options: tuple[str, ...] = SHORT_LIVED) -> JavaProgram:
        """Compile a source of this folder against a client; skips the test where that cannot be had.

        Args:
            source: Its file name.
            version: Of the client.
            folder: Where the program and its files are.
            options: Of the Java machines that run it.
        """
        class_path = java_class_path(folder, version, source)
        (folder / "conf").mkdir()
        (folder / "conf" / "logback_tools.xml").write_text("<configuration/>")  # the admin tool insists on it
        return cls(class_path, folder, options)

    def command(self, main: str, *arguments: object) -> list[str]:
        """The command line of one run."""
        options = [*self.options, f"-Duser.home={self.home}", f"-Drocketmq.home.dir={self.home}"]
        options += ["-Dfile.encoding=UTF-8", "-Xmx256m", "-Drocketmq.client.logUseSlf4j=true"]
        return ["java", *options, "-cp", self.class_path, main, *map(str, arguments)]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a run."""
        return {**os.environ, "LC_ALL": "C.UTF-8", "ROCKETMQ_HOME": str(self.home)}

    def run(self, main: str, *arguments: object) -> list[str]:
        """Run it to its end; its lines."""
        command: Sequence[str] = self.command(main, *arguments)
        try:
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, env=self.environment, timeout=_RUN_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            # A program whose main thread failed goes on with its others, and only what it wrote tells why.
            said = b"".join(text for text in (error.stdout, error.stderr) if isinstance(text, bytes))
            raise AssertionError(
                f"{main} did not end in {_RUN_SECONDS} s; it wrote: {said[-3000:].decode(errors='replace')}"
            ) from None
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
