"""How long a store takes to open after a crash: `python -m benchmarks.store_recovery [--mib N]`.

A store is filled, then opened as after a crash, once without a checkpoint (everything is scanned) and once with one (only what
lies past it is). Measured for bodies of 128 bytes and of 1 KiB, beside a copy of the same bytes in memory.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.model import HostAddress, MessageToStore

GIB = 1 << 30
_HOST = HostAddress.parse("127.0.0.1:10911")
_QUEUES = 8
_BATCH = 200
_MEMBER_PROPERTIES = b"KEYS\x01K%07d\x02UNIQ_KEY\x01C0A801141A2B18B4AAC24%011d\x02TAGS\x01TagA"


def fill(config: StoreConfig, log_bytes: int, body_bytes: int) -> int:
    """Put messages until the log has so many bytes; returns how many."""
    body = bytes(range(256)) * (body_bytes // 256 + 1)
    count = 0
    with MessageStore.open(config) as store:
        while store.commit_log_max_offset < log_bytes:
            members = [BatchMember(0, body[:body_bytes], _MEMBER_PROPERTIES % (count + n, count + n)) for n in range(_BATCH)]
            message = MessageToStore(
                "OrdersOfShop",
                count // _BATCH % _QUEUES,
                0,
                0,
                1,
                _HOST,
                _HOST,
                0,
                0,
                encode_batch(members),
                b"CLUSTER\x01DefaultCluster",
            )
            store.put_batch(message)
            count += _BATCH
    return count


def reopened_s(config: StoreConfig) -> tuple[float, float, int]:
    """Seconds that opening takes after a crash, by the clock and of the processor, and bytes scanned."""
    (config.root / "abort").touch()
    scanned = [0]
    start, start_cpu = time.perf_counter(), time.process_time()
    store = MessageStore.open(config, progress=lambda _what, done, _total: scanned.append(done))
    taken, taken_cpu = time.perf_counter() - start, time.process_time() - start_cpu
    store.close()
    return taken, taken_cpu, max(scanned)


def copied_s(root: Path) -> float:
    """Seconds to copy the same bytes in memory."""
    data = [path.read_bytes() for path in sorted((root / "commitlog").iterdir())]
    start = time.perf_counter()
    for piece in data:
        bytearray(piece)
    return time.perf_counter() - start


def measure(log_bytes: int, body_bytes: int) -> None:
    place = Path(tempfile.mkdtemp(prefix="orbit-recovery-"))
    try:
        config = StoreConfig(root=place / "store", commit_log_file_bytes=min(GIB, log_bytes // 2))
        count = fill(config, log_bytes, body_bytes)
        part_s, _, part_bytes = reopened_s(config)
        (config.root / "checkpoint").unlink()
        shutil.rmtree(config.root / "consumequeue")
        # Without checkpoint the index is built anew, too; its share shows beside an open without one.
        whole_s, whole_cpu_s, whole_bytes = reopened_s(replace(config, message_index=False))
        (config.root / "checkpoint").unlink()
        shutil.rmtree(config.root / "consumequeue")
        shutil.rmtree(config.root / "index", ignore_errors=True)
        _, all_cpu_s, _ = reopened_s(config)
        copy_s = copied_s(config.root)
        print(
            f"{body_bytes:5} B bodies: {count:,} records, {whole_bytes / GIB:.2f} GiB scanned in {whole_s:.2f} s: "
            f"{whole_s * GIB / whole_bytes:.2f} s/GiB, {whole_cpu_s * GIB / whole_bytes:.2f} of the processor "
            f"({all_cpu_s * GIB / whole_bytes:.2f} with the index built anew), {whole_s / count * 1e6:.2f} µs a record, "
            f"{whole_s / copy_s:.1f} x a memory copy; with a checkpoint {part_bytes / GIB:.3f} GiB in {part_s:.2f} s"
        )
    finally:
        shutil.rmtree(place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the log (default: %(default)s)")
    arguments = parser.parse_args()
    for body_bytes in (128, 1024):
        measure(arguments.mib << 20, body_bytes)


if __name__ == "__main__":
    main()
