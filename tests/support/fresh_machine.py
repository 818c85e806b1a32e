"""Places where Orbit was never installed: chroots of Debian and Ubuntu and virtual environments, with and without a network.

All of it needs root on Linux. ``ORBIT_PACKAGING_FOLDER`` names the folder of the places; otherwise it is in ``/var/tmp`` and is
deleted at the end. A folder that is kept saves making the chroots again.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 1_500
"""For one command; an installation of all parts takes some minutes."""
UBUNTU = ("noble",)
_UBUNTU_KEYS = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
_UBUNTU_SCRIPT = Path("/usr/share/debootstrap/scripts/gutsy")
_SETTINGS_OF_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_VARIABLES_OF_NETWORK = re.compile(r"(PIP_\w+|\w+_proxy|SSL_CERT_FILE)", re.IGNORECASE)
_ENTER = """\
root=$1; shift
mount -t proc proc "$root/proc"
mkdir -p "$root/tmp/.X11-unix" && mount --bind /tmp/.X11-unix "$root/tmp/.X11-unix"
exec chroot "$root" "$@"
"""
_READY = re.compile(r"ready name-server=(\S+) broker=(\S+)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where commands run, in an environment of their own.

    Attributes:
        root: ``/`` as this machine sees it.
        is_chroot: Whether ``root`` is entered by chroot.
        network: File of the network that commands see; None: that of this machine.
        variables: Of the environment, beside HOME and PATH.
    """

    root: Path = Path("/")
    is_chroot: bool = False
    network: Path | None = None
    variables: dict[str, str] = field(default_factory=dict)

    @contextlib.contextmanager
    def offline(self) -> Iterator[Place]:
        """The same place with a loopback and no other network, which its commands share."""
        hold = ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"]
        with subprocess.Popen(hold, stdout=subprocess.PIPE, text=True) as holder:
            try:
                assert holder.stdout is not None
                assert holder.stdout.readline() == "up\n", "a network without a way out could not be made"
                yield replace(self, network=Path(f"/proc/{holder.pid}/ns/net"))
            finally:
                holder.terminate()

    def on_display(self, display: str) -> Place:
        """The same place, with an X server."""
        return replace(self, variables=self.variables | {"DISPLAY": display})

    def command(self, *words: str | Path) -> list[str]:
        """The command that runs another one here."""
        home = "/root" if self.is_chroot else str(self.root / "home" if self.root != Path("/") else Path.home())
        given = {"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", **self.variables}
        if self.network is None:
            given |= {name: text for name, text in os.environ.items() if _VARIABLES_OF_NETWORK.fullmatch(name)}
        inner = ["env", "-i", *(f"{name}={text}" for name, text in given.items()), *map(str, words)]
        enter = [] if self.network is None else ["nsenter", f"--net={self.network}"]
        if not self.is_chroot:
            return [*enter, *inner]
        return [
            *enter,
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            _ENTER,
            "sh",
            str(self.root),
            *inner,
        ]

    def run(self, *words: str | Path, code: int = 0) -> str:
        """Run a command to its end; returns what it prints, both streams. Fails unless it ends with this code."""
        done = subprocess.run(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
            errors="replace", check=False, timeout=LONGEST_S,
        )  # fmt: skip
        assert done.returncode == code, f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout[-8_000:]}"
        return done.stdout

    @contextlib.contextmanager
    def running(self, *words: str | Path) -> Iterator[subprocess.Popen[str]]:
        """A command while the block lasts; it is ended by SIGTERM."""
        process = subprocess.Popen(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
            errors="replace",
        )  # fmt: skip
        try:
            yield process
        finally:
            _end(process, is_chroot=self.is_chroot)

    @contextlib.contextmanager
    def broker(self, orbit: Sequence[str | Path], store: str | Path) -> Iterator[str]:
        """A broker without a window; yields the address of its name server."""
        with self.running(*orbit, "broker", "--ns-port", "0", "--port", "0", "--grpc-port", "0", "--store", store) as process:
            assert process.stdout is not None
            before = []
            for line in process.stdout:
                before.append(line)
                if found := _READY.match(line):
                    break
            else:
                raise AssertionError(f"the broker did not start: {''.join(before)}")
            reader = threading.Thread(target=process.stdout.read, daemon=True)  # its pipe must not fill
            reader.start()
            yield found[1]
        reader.join()
        process.stdout.close()


def _end(process: subprocess.Popen[str], *, is_chroot: bool) -> None:
    """End what runs by SIGTERM; in a chroot it is the child of the program that made its space of processes."""
    number = process.pid
    if is_chroot:
        children = Path(f"/proc/{number}/task/{number}/children")
        with contextlib.suppress(OSError, IndexError):
            number = int(children.read_text(encoding="ascii").split()[0])
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGTERM)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def can_make(suite: str) -> bool:
    """Whether this machine can check the signature of a release."""
    return suite not in UBUNTU or _UBUNTU_KEYS.exists()


def fresh_system(folder: Path, suite: str, name: str, *packages: str) -> Place:
    """A chroot of a Debian or Ubuntu release as its smallest installation leaves it, and these packages."""
    base = folder / f"base-{suite}"
    if not (base / "ready").exists():
        shutil.rmtree(base, ignore_errors=True)
        # Ubuntu's installers turn on "universe", which holds some of Qt's libraries. Its releases differ in no step of the
        # making, and older debootstraps do not know the newer names.
        ubuntu = suite in UBUNTU
        options, script = (["--components=main,universe"], ["", str(_UBUNTU_SCRIPT)]) if ubuntu else ([], [])
        _quiet(["debootstrap", "--variant=minbase", *options, suite, str(base), *script])
        (base / "ready").touch()
    root = folder / name
    shutil.rmtree(root, ignore_errors=True)
    _quiet(["cp", "-a", str(base), str(root)])
    for path in map(Path, _SETTINGS_OF_NETWORK):
        if path.exists():
            shutil.copy(path, root / path.relative_to("/"))
    place = Place(root, is_chroot=True)
    if packages:
        install = "apt-get -qq update && apt-get -qq install -y --no-install-recommends " + " ".join(packages)
        place.run("sh", "-c", f"export DEBIAN_FRONTEND=noninteractive; {install}")
        if (root / _CERTIFICATES.relative_to("/")).exists():
            shutil.copy(_CERTIFICATES, root / _CERTIFICATES.relative_to("/"))
    return place


def _quiet(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=LONGEST_S)
    assert done.returncode == 0, done.stdout[-4_000:]


def copy_sources(target: Path) -> Path:
    """The files of this checkout that git knows, as they are now."""
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-coz", "--exclude-standard"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        source = ROOT / name
        if source.is_file() and not source.is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)
    return target


def size_mib(*folders: Path, without: Sequence[Path] = ()) -> float:
    """MiB that the files of folders hold."""
    left_out = set(without)
    files = (path for folder in folders for path in folder.rglob("*") if not path.is_dir())
    return sum(path.lstat().st_size for path in files if not left_out.intersection(path.parents)) / 2**20


@dataclass(slots=True)
class Figures:
    """Sizes and times of a run, written to a file for the table in ``docs/packaging.md``; nothing is asserted on them."""

    file: Path

    def note(self, name: str, **values: float) -> None:
        """Add a line."""
        texts = (f"{key} {value:,.0f}" for key, value in values.items())
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"{name}: {', '.join(texts)}\n")

    @contextlib.contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Note how long the block takes."""
        started = time.monotonic()
        yield
        self.note(name, seconds=time.monotonic() - started)
