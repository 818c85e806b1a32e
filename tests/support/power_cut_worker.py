"""Takes the power of a worker: where it would kill itself it first leaves images of what its disk may hold. For its prelude."""

from __future__ import annotations

import errno
import random
import threading
from pathlib import Path

from broker_core.engine.store.disk import Disk
from broker_core.platform.kernel_sync import KernelSync
from tests.support import kill_points
from tests.support.power_cut import PowerCutDisk

_PARTS = ("commitlog", "consumequeue", "index", "config", "checkpoint", "abort")
"""Of a store's directory; the rest (history, logs) no broker reads to go on."""


def _no_kernel_sync(_disk: Disk) -> KernelSync:
    raise OSError(errno.ENOSYS, "power cuts are in `sync`")


class WorkerDisk(PowerCutDisk):
    """A `PowerCutDisk` for all threads of a worker; what is there when it is made is on the disk.

    Args:
        root: Store directory.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root, lambda: None)
        self._lock = threading.Lock()
        self.durable = self._files()
        self.named = set(self.durable)

    def arm(self) -> None:
        """Have the whole process use this one."""
        for name in ("sync", "sync_directory", "replace_file"):
            mine = getattr(self, name)
            setattr(Disk, name, lambda _disk, *arguments, mine=mine: mine(*arguments))
        setattr(Disk, "kernel_sync", _no_kernel_sync)  # noqa: B010  so that all syncs come by `sync`

    def sync(self, descriptor: int) -> None:
        with self._lock:
            super().sync(descriptor)

    def sync_directory(self, path: Path) -> None:
        with self._lock:
            super().sync_directory(path)

    def replace_file(self, path: Path, data: bytes, *, mode: int = 0o644) -> None:
        with self._lock:
            super().replace_file(path, data, mode=mode)

    def leave(self, images: Path, seed: int, count: int) -> None:
        """Write images, each what a power cut at this moment may leave."""
        randomness = random.Random(seed)
        with self._lock:
            for number in range(count):
                self.image(images / str(number) / "store", randomness)

    def _files(self) -> dict[Path, bytes]:
        if not self.root.exists():
            return {}
        return {path: data for path, data in super()._files().items() if path.relative_to(self.root).parts[0] in _PARTS}


def arm(root: str, images: str, seed: int, count: int) -> None:
    """Let the next `kill_points.die` of this process be a power cut.

    Args:
        root: Store directory.
        images: Where they are put: ``0/store``, ``1/store``, ….
        seed: Of what gets lost.
        count: How many.
    """
    disk = WorkerDisk(Path(root))
    disk.arm()
    die = kill_points.die

    def lose_power() -> None:
        disk.leave(Path(images), seed, count)
        die()

    kill_points.die = lose_power
