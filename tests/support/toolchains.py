"""Programs with third-party clients: their tool chains, and how each gets its client."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.support.foreign_tools import need

SUPPORT = Path(__file__).resolve().parent

GO_CLIENT = "github.com/apache/rocketmq-client-go/v2@v2.1.2"
SDK_VERSION = "5.2.0"
"""Of the Java SDK, which speaks gRPC."""
GO_SDK = "github.com/apache/rocketmq-clients/golang/v5@v5.1.4"
NODE_SDK = "rocketmq-client-nodejs@1.0.8"
PYTHON_SDK = "rocketmq-python-client==5.1.2"
RUST_SDK = "5.0.0"
NODE_PACKAGES = ("ali-ons@3.12.0", "urllib@4.9.1")

SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of Java machines that run for seconds: without the optimizing compiler they take half of the processor."""

_FETCH_SECONDS = 280
_BUILD_SECONDS = 800
_CARGO = """[package]
name = "interop"
version = "0.1.0"
edition = "2021"

[dependencies]
rocketmq = "=VERSION"
tokio = { version = "1", features = ["full"] }
time = { version = "0.3", features = ["local-offset"] }
"""
_WORKER_VARIABLE = "PYTEST_XDIST_WORKER"
_SDK_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>orbit</groupId><artifactId>interop</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-client-java</artifactId><version>VERSION</version></dependency>
</dependencies></project>"""
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>orbit</groupId><artifactId>interop</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-client</artifactId><version>VERSION</version></dependency>
<dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-tools</artifactId><version>VERSION</version></dependency>
</dependencies></project>"""


def run(
    command: Sequence[object],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = _FETCH_SECONDS,
) -> str:
    """Run a tool to its end and return what it printed; fails the test when the tool does."""
    words = list(map(str, command))
    done = subprocess.run(words, check=False, cwd=cwd, env=environment, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"{' '.join(words)}\n{(done.stdout + done.stderr)[-3000:]}"
    return done.stdout


def java_class_path(folder: Path, version: str, *sources: str) -> str:
    """Class path with the Java client and its admin tool, and programs from tests/support compiled.

    Args:
        folder: For classes; one of pytest's, as the jars beside it serve all tests of the run.
        version: Of the client.
        sources: File names in tests/support.
    """
    need("java", "javac", "mvn")
    return _compiled(folder, _java_jars(folder.parent, f"java-{version}-jars", _POM.replace("VERSION", version)), sources)


def java_sdk(folder: Path, *sources: str) -> str:
    """Class path with the Java SDK of gRPC, and programs from tests/support compiled."""
    need("java", "javac", "mvn")
    return _compiled(folder, _java_jars(folder.parent, "java-sdk-jars", _SDK_POM.replace("VERSION", SDK_VERSION)), sources)


def _compiled(folder: Path, jars: Path, sources: Sequence[str]) -> str:
    path = f"{folder}{os.pathsep}{jars}/*"
    if sources:
        compile_java(path, folder, *(SUPPORT / source for source in sources))
    return path


def compile_java(class_path: str, folder: Path, *sources: Path) -> None:
    """Compile Java programs into a folder."""
    fast = [f"-J{option}" for option in SHORT_LIVED]
    run(["javac", *fast, "-proc:none", "-nowarn", "-encoding", "UTF-8", "-cp", class_path, "-d", folder, *sources])


def _java_jars(base: Path, name: str, pom: str) -> Path:
    def copy(jars: Path) -> None:
        (jars / "pom.xml").write_text(pom)
        command = ["mvn", "-q", "-B", "-f", jars / "pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        run(command, environment={**os.environ, "MAVEN_OPTS": " ".join(SHORT_LIVED)})

    return _made_once(base, name, copy)


def _made_once(base: Path, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first test that needs it makes for all tests of the run, because that takes longer than most tests.

    Args:
        base: Folder of pytest's for this process; when several run the tests, the one above is common to them.
        name: Of the folder.
        make: Fills it.
    """
    common = base.parent if _WORKER_VARIABLE in os.environ else base
    made = common / name
    with (common / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            part = common / f"{name}.part"
            shutil.rmtree(part, ignore_errors=True)  # of a try that failed
            part.mkdir()
            make(part)
            part.rename(made)
    return made


def java_command(class_path: str, home: Path, *, serialize: str = "JSON") -> tuple[list[str], dict[str, str]]:
    """Start of a command that runs a Java program, and its environment.

    Args:
        class_path: From `java_class_path`.
        home: Where the client keeps its files.
        serialize: How it writes headers: ``JSON`` or ``ROCKETMQ``.
    """
    (home / "conf").mkdir(exist_ok=True)
    (home / "conf" / "logback_tools.xml").write_text("<configuration/>")  # the admin tool insists on it
    options = [*SHORT_LIVED, f"-Duser.home={home}", f"-Drocketmq.home.dir={home}", "-Dfile.encoding=UTF-8", "-Xmx256m"]
    options += ["-Drocketmq.client.logUseSlf4j=true", f"-Drocketmq.serialize.type={serialize}"]
    return ["java", *options, "-cp", class_path], {**os.environ, "LC_ALL": "C.UTF-8", "ROCKETMQ_HOME": str(home)}


def go_module(folder: Path, client: str = GO_CLIENT, packages: Sequence[str] = ("", "/consumer", "/producer")) -> Path:
    """A module in which programs that use a Go client can be built."""
    need("go")

    def get(module: Path) -> None:
        run(["go", "mod", "init", "interop"], cwd=module)
        run(["go", "get", client], cwd=module)
        # Its first build takes a minute of processor; each of several processes would do it.
        path = client.partition("@")[0]
        run(["go", "build", *(f"{path}{package}" for package in packages)], cwd=module)

    name = f"go-{client.rpartition('@')[2]}"
    return Path(shutil.copytree(_made_once(folder.parent, name, get), folder, dirs_exist_ok=True))


def go_program(module: Path, source: str) -> Path:
    """A program from tests/support, built."""
    shutil.copy(SUPPORT / source, module)
    program = module / Path(source).stem
    run(["go", "build", "-o", program, source], cwd=module)
    return program


def python_sdk(folder: Path) -> Path:
    """A folder in which the Python SDK of gRPC is installed, with what it needs; the same for all tests of the run."""

    def install(packages: Path) -> None:
        run([sys.executable, "-m", "pip", "install", "-q", "--target", packages, PYTHON_SDK])

    return _made_once(folder.parent, "python-sdk", install)


def node_packages(folder: Path, packages: Sequence[str] = NODE_PACKAGES) -> Path:
    """A folder in which a Node client is installed; the same for all tests of the run.

    Args:
        folder: One of pytest's.
    """
    need("node", "npm")

    def install(made: Path) -> None:
        run(["npm", "install", "--prefix", made, "--no-audit", "--no-fund", "--ignore-scripts", *packages])

    return _made_once(folder.parent, f"node-{packages[0].partition('@')[0]}", install)


def rust_project(folder: Path) -> Path:
    """A project of Cargo with the Rust SDK of gRPC, built once; its program is ``src/main.rs``."""
    need("cargo")

    def build(project: Path) -> None:
        (project / "Cargo.toml").write_text(_CARGO.replace("VERSION", RUST_SDK))
        (project / "src").mkdir()
        (project / "src" / "main.rs").write_text("fn main() {}\n")
        run(["cargo", "build", "-q"], cwd=project, seconds=_BUILD_SECONDS)

    return _made_once(folder.parent, "rust-sdk", build)
