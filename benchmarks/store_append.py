"""Appending messages to a store, beside a bare loop that packs the same bytes: `python -m benchmarks.store_append`.

The bare loop packs head, body, topic and properties with the body's CRC into a mapped file, and does nothing else. Least of
several rounds, taken in turn, in time of the processor; small files are made beforehand by neither.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from zlib import crc32

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import CRC_MASK, HEADS, MAGIC_V1, encode_record, topic_field

MESSAGES = 40_000
BATCHES = (50, 200)
"""Messages of a batch: what one request costs is shared by them."""
_ROUNDS = 5
_HOST = HostAddress.parse("127.0.0.1:10911")
_BODY = bytes(range(128))
_PROPERTIES = b"KEYS\x01K0000001\x02UNIQ_KEY\x01C0A801141A2B18B4AAC2400000000001\x02TAGS\x01TagA\x02CLUSTER\x01DefaultCluster"
_TOPIC = "OrdersOfShop"


def message(body: bytes, properties: bytes) -> MessageToStore:
    return MessageToStore(_TOPIC, 0, 0, 0, 1, _HOST, _HOST, 0, 0, body, properties)


def taken_s(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def bare_loop_s(place: Path) -> float:
    """Pack the same records into a mapped file."""
    one = message(_BODY, _PROPERTIES)
    size = len(encode_record(one, queue_offset=0, physical_offset=0, store_timestamp_ms=0))
    path = place / "bare"
    with path.open("w+b") as file:
        file.truncate(size * MESSAGES)
        mapped = mmap.mmap(file.fileno(), 0)
    pack_into, topic = HEADS[0].pack_into, topic_field(_TOPIC.encode()).field
    head_bytes = HEADS[0].size

    def loop() -> None:
        position = 0
        for number in range(MESSAGES):
            body, properties = one.body, one.properties
            pack_into(
                mapped, position, size, MAGIC_V1, crc32(body) & CRC_MASK, 0, 0, number, position, 0, 1, _HOST.packed, 2,
                _HOST.packed, 0, 0, len(body),
            )  # fmt: skip
            tail = b"".join((body, topic, len(properties).to_bytes(2), properties))
            mapped[position + head_bytes : position + size] = tail
            position += size

    taken = taken_s(loop)
    mapped.close()
    path.unlink()
    return taken


def store_s(place: Path, put_all: Callable[[MessageStore], None]) -> float:
    """Put messages into a new store."""
    root = place / "store"
    with MessageStore.open(StoreConfig(root=root, commit_log_file_bytes=1 << 26)) as store:
        taken = taken_s(lambda: put_all(store))
        assert store.max_offset(_TOPIC, 0) == MESSAGES
    shutil.rmtree(root)
    return taken


def put_singly(store: MessageStore) -> None:
    one = message(_BODY, _PROPERTIES)
    for _ in range(MESSAGES):
        store.put(one)


def put_batches(size: int, store: MessageStore) -> None:
    member = BatchMember(0, _BODY, _PROPERTIES)
    batch = message(encode_batch([member] * size), b"")
    for _ in range(MESSAGES // size):
        store.put_batch(batch)


def main() -> None:
    place = Path(tempfile.mkdtemp(prefix="orbit-append-"))
    try:
        rounds = [
            (bare_loop_s(place), store_s(place, put_singly), *(store_s(place, partial(put_batches, size)) for size in BATCHES))
            for _ in range(_ROUNDS)
        ]
    finally:
        shutil.rmtree(place)
    bare, single, *batches = (min(column) / MESSAGES * 1e6 for column in zip(*rounds, strict=True))
    told = [
        f"batches of {size} {batch:.2f} µs, {single / batch:.1f} x the rate of single puts"
        for size, batch in zip(BATCHES, batches, strict=True)
    ]
    put = f"put {single:.2f} µs, {bare / single:.2f} x the bare loop's rate"
    print("; ".join([f"128 B bodies: bare loop {bare:.2f} µs a message", put, *told]))


if __name__ == "__main__":
    main()
