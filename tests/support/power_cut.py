"""A disk that remembers what is surely on it, and makes the images that a power cut may leave.

Works on real files. For each file it keeps the pages of 4096 bytes that were last synced, and those that the system happened to
write since; an image takes each page, each size and each name from either side, by the given randomness.

Not modelled: bytes within a page that are neither old nor new.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from broker_core.platform.kernel_sync import KernelSync
from tests.support.store_bench import FaultyDisk

PAGE_BYTES = 4096
_NOT_PART = ("lock", "orbit.owner")


class PowerCutDisk(FaultyDisk):
    """See the module.

    Args:
        root: Store directory.
        moment: Called before and after everything that makes bytes durable.
    """

    def __init__(self, root: Path, moment: Callable[[], None]) -> None:
        super().__init__()
        self.root = root
        self.moment = moment
        self.durable: dict[Path, bytes] = {}
        """Content of each file as far as it is surely on the disk, under its last synced name or not."""
        self.named: set[Path] = set()
        """Names that are surely on the disk."""

    def sync(self, descriptor: int) -> None:
        self.moment()
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        self.durable[path] = path.read_bytes()
        self.moment()

    def kernel_sync(self) -> KernelSync:
        return PowerCutKernel(self)

    def sync_directory(self, path: Path) -> None:
        self.moment()
        present = {entry for entry in path.iterdir() if entry.is_file()}
        self.named = {name for name in self.named if name.parent != path} | present
        for name in [name for name in self.durable if name.parent == path and name not in present]:
            del self.durable[name]
        self.moment()

    def replace_file(self, path: Path, data: bytes, *, mode: int = 0o644) -> None:
        self.moment()
        path.write_bytes(data)
        path.chmod(mode)
        self.durable[path] = bytes(data)
        self.named.add(path)
        self.moment()

    def write_back(self, randomness: random.Random) -> None:
        """Let the system write some pages, as it may at any time."""
        for path, current in self._files().items():
            if randomness.random() < 0.3:
                self.durable[path] = _mixed(self.durable.get(path, b""), current, randomness)

    def image(self, place: Path, randomness: random.Random) -> None:
        """Write what a power cut now may leave."""
        files = self._files()
        for path in sorted(files.keys() | self.named):
            is_sure = path in files and path in self.named
            if not is_sure and randomness.random() < 0.5:
                continue
            old = self.durable.get(path, b"")
            copy = place / path.relative_to(self.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(_mixed(old, files.get(path, old), randomness))

    def _files(self) -> dict[Path, bytes]:
        paths = (path for path in sorted(self.root.rglob("*")) if path.is_file() and path.name not in _NOT_PART)
        return {path: path.read_bytes() for path in paths}


class PowerCutKernel:
    """Syncs of a `PowerCutDisk` that end when somebody looks: sure is only what was there at their start."""

    def __init__(self, disk: PowerCutDisk) -> None:
        self.descriptor = -1
        self.is_under_way = False
        self._disk = disk
        self._path = Path()
        self._content = b""

    def start(self, descriptor: int) -> None:
        self._path = Path(f"/proc/self/fd/{descriptor}").readlink()
        self._content = self._path.read_bytes()
        self.is_under_way = True
        self._disk.moment()

    def ended(self) -> bool:
        was_under_way, self.is_under_way = self.is_under_way, False
        if was_under_way:
            self._disk.durable[self._path] = self._content
            self._disk.moment()
        return was_under_way

    def close(self) -> bool:
        return True


def _mixed(old: bytes, new: bytes, randomness: random.Random) -> bytes:
    """Each page from one side; the new size, or with none of what lies behind it the old one."""
    if old == new:
        return new
    share = randomness.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    size = len(new) if randomness.random() < 0.7 or len(new) < len(old) else len(old)
    pages = []
    for at in range(0, size, PAGE_BYTES):
        side = new if randomness.random() < share else old
        pages.append(side[at : at + PAGE_BYTES].ljust(min(PAGE_BYTES, size - at), b"\0"))
    return b"".join(pages)[:size]


class QuickDisk(FaultyDisk):
    """A disk without syncs, for stores that nobody cuts the power of."""

    def sync(self, descriptor: int) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        pass
