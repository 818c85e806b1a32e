"""A process that writes to a store until it is killed.

Tells ``ready``, then one line for each message once it is durable: physical offset, record bytes, queue id, queue offset, CRC
of the record. Files are small, so that kills also hit the changes from one file to the next.
"""

from __future__ import annotations

import os
import random
import threading
import zlib
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.model import HostAddress, MessageToStore

TOPIC = "Crash"
QUEUES = 4
_HOST = HostAddress.parse("127.0.0.1:10911")


def crash_config(root: Path) -> StoreConfig:
    """Small files, frequent checkpoints, synchronous flush."""
    return StoreConfig(
        root=root,
        commit_log_file_bytes=1 << 16,
        consume_queue_file_bytes=1_000,
        flush_disk_type="SYNC_FLUSH",
        flush_consume_queue_interval_ms=5,
        flush_consume_queue_thorough_interval_ms=40,
    )


def tell_until_killed(root: Path, seed: int, told: Connection) -> None:
    """Put messages and tell those that are durable, one line each; what a process does from its start to its end."""
    descriptor = told.fileno()

    def tell(text: str) -> None:
        os.write(descriptor, text.encode() + b"\n")

    write_until_killed(root, seed, tell)


def write_until_killed(root: Path, seed: int, tell: Callable[[str], None]) -> None:
    """Put messages and tell those that are durable."""
    randomness = random.Random(seed)
    with MessageStore.open(crash_config(root)) as store:
        tell("ready")
        while True:
            lines, end = _put_group(store, randomness)
            durable = threading.Event()
            outcome: list[bool] = []

            def done(ok: bool, outcome: list[bool] = outcome, durable: threading.Event = durable) -> None:
                outcome.append(ok)
                durable.set()

            store.when_durable(end, done)
            durable.wait()
            assert outcome == [True]
            tell("\n".join(lines))


def _put_group(store: MessageStore, randomness: random.Random) -> tuple[list[str], int]:
    lines: list[str] = []
    end = 0
    for _ in range(randomness.randint(1, 30)):
        message = _message(randomness)
        if randomness.random() < 0.1:
            members = [BatchMember(0, randomness.randbytes(randomness.randint(0, 200)), b"K\x01v") for _ in range(5)]
            message.body = encode_batch(members)
            result = store.put_batch(message)
        else:
            result = store.put(message)
        end = result.physical_offset + result.wrote_bytes
        for number, offset in enumerate(result.physical_offsets):
            record = store.record_at(offset)
            assert record is not None
            queue_offset = result.queue_offset + number
            lines.append(f"{offset} {len(record)} {message.queue_id} {queue_offset} {zlib.crc32(record)}")
    return lines, end


def _message(randomness: random.Random) -> MessageToStore:
    return MessageToStore(
        topic=TOPIC,
        queue_id=randomness.randrange(QUEUES),
        flag=0,
        sys_flag=0,
        born_timestamp_ms=1,
        born_host=_HOST,
        store_host=_HOST,
        reconsume_times=0,
        prepared_transaction_offset=0,
        body=randomness.randbytes(randomness.choice((0, 10, 300, 5_000))),
        properties=b"TAGS\x01TagA",
    )
