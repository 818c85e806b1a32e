"""Reading all heads of a commit log, beside a copy of the same bytes: `python -m benchmarks.store_scan [--mib N] [--body N]`.

Prints the least of several rounds, taken in turn, in time of the processor: what others do on the machine only adds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from broker_core.engine.store.layout import scan_records
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record

_HOST = HostAddress.parse("127.0.0.1:10911")
_PROPERTIES = b"KEYS\x01K%07d\x02UNIQ_KEY\x01C0A801141A2B18B4AAC24%011d\x02TAGS\x01TagA\x02CLUSTER\x01DefaultCluster"
_ROUNDS = 7
_WINDOW_BYTES = 8 << 20


def log_of(log_bytes: int, body_bytes: int) -> tuple[bytes, int]:
    """A log of records, and how many."""
    body = bytes(range(256)) * (body_bytes // 256 + 1)
    parts: list[bytes] = []
    position = number = 0
    while position < log_bytes:
        message = MessageToStore(
            "OrdersOfShop", number % 8, 0, 0, 1, _HOST, _HOST, 0, 0, body[:body_bytes], _PROPERTIES % (number, number)
        )
        parts.append(encode_record(message, queue_offset=number // 8, physical_offset=position, store_timestamp_ms=number))
        position += len(parts[-1])
        number += 1
    return b"".join(parts), number


def taken_s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def heads_in(log: bytes) -> int:
    """Read the heads of a log, a window at a time as readers do; returns how many there are."""
    at = count = 0
    while at < len(log):
        heads = scan_records(log, 0, at, min(at + _WINDOW_BYTES, len(log)))
        at, count = heads.end, count + len(heads)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=128, help="size of the log (default: %(default)s)")
    parser.add_argument("--body", type=int, default=128, help="bytes of a body (default: %(default)s)")
    arguments = parser.parse_args()
    log, count = log_of(arguments.mib << 20, arguments.body)
    assert heads_in(log) == count
    scans, copies = [], []
    for _ in range(_ROUNDS):
        scans.append(taken_s(lambda: heads_in(log)))
        copies.append(taken_s(lambda: bytearray(log)))
    scan_s, copy_s = min(scans), min(copies)
    print(
        f"{arguments.body} B bodies, {len(log) / count:.0f} B records: {count / scan_s / 1e6:.2f} M heads/s, "
        f"{len(log) / scan_s / 1e9:.2f} GB/s; a memory copy {len(log) / copy_s / 1e9:.2f} GB/s; "
        f"scan : copy = {scan_s / copy_s:.2f}"
    )


if __name__ == "__main__":
    main()
