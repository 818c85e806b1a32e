"""An archive of Spark's Java classes that Java maps: it more than halves a report's start.

The archive is created once, on request, for one Java and one Spark, in the user's cache folder. Without a valid one reports
only start slower: Java checks it against the class path and ignores one that does not fit.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from broker_core.errors import JavaError
from broker_core.platform import replacing
from spark_reports.java import HEAP_BYTES_MIN, class_path, machine_environment, machine_options, spark_home

DUMP_TIMEOUT_S = 300.0


def cache_folder() -> Path:
    return Path(platformdirs.user_cache_dir("orbit")) / "java"


class ClassCache:
    """The archive of one Java and one Spark installation."""

    def __init__(self, folder: Path, java: Path) -> None:
        self._folder = folder
        self._java = java
        identity = f"{java.resolve()}:{java.stat().st_mtime_ns}:{class_path(spark_home())}"
        self.path = folder / f"spark-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"

    def options(self) -> list[str]:
        """Options that make Java use the archive; none if there is no archive."""
        return [f"-XX:SharedArchiveFile={self.path}", "-Xshare:auto"] if self.path.is_file() else []

    def recording_options(self) -> list[str]:
        """Options that make Java record the classes it loads."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return [f"-XX:DumpLoadedClassList={self._list_path}"]

    def build(self) -> None:
        """Create the archive from a recorded list in half a minute of one core; raises `JavaError` if Java fails."""
        partial = self.path.with_suffix(f".partial-{self._list_path.stat().st_mtime_ns}")
        command: Sequence[str] = [
            str(self._java), *machine_options(HEAP_BYTES_MIN), "-Xshare:dump", "-Xlog:cds=off", "-Xlog:cds+dynamic=off",
            f"-XX:SharedClassListFile={self._list_path}", f"-XX:SharedArchiveFile={partial}", "-cp", class_path(spark_home()),
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, capture_output=True, encoding="utf-8", errors="replace", timeout=DUMP_TIMEOUT_S, check=False,
                cwd=self._folder, env=machine_environment(),
            )  # fmt: skip
            if done.returncode != 0 or not partial.is_file():
                last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-3:])
                raise JavaError(f"the class archive {self.path} could not be made (exit code {done.returncode}). {last}")
            replacing.replace(partial, self.path)
        except subprocess.TimeoutExpired as error:
            # Without its cause, which quotes the command with all of Spark's file names.
            raise JavaError(
                f"the class archive {self.path} was not ready after {error.timeout:.0f} s, where it takes half a minute: the "
                "machine is busy. Reports work without it; prepare it again when there is less to do."
            ) from None
        finally:
            partial.unlink(missing_ok=True)
            self._list_path.unlink(missing_ok=True)
        self._forget_others()

    @property
    def _list_path(self) -> Path:
        return self.path.with_suffix(".classes")

    def _forget_others(self) -> None:
        for other in self._folder.glob("spark-*.jsa"):
            if other != self.path:
                other.unlink(missing_ok=True)
