"""What a third-party transactional producer does against our broker, whatever language it is written in."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.record import decode_record
from tests.support.worker_driver import WorkerDriver

SETTINGS = (
    "transactionTimeOut=500", "transactionCheckInterval=1000", "transactionCheckMax=1000", "mappedFileSizeCommitLog=1048576",
    "mappedFileSizeConsumeQueue=20000", "maxHashSlotNum=1000", "maxIndexNum=4000",
)  # fmt: skip
_SECONDS = 90.0


@contextlib.contextmanager
def transaction_worker(store: Path) -> Iterator[WorkerDriver]:
    """A worker with short times."""
    with WorkerDriver(store, [word for setting in SETTINGS for word in ("--set", setting)]) as driver:
        driver.wait_ready()
        yield driver
        assert driver.end_input() == 0


class ForeignProducer:
    """A program that sends in transactions or answers checks.

    Args:
        command: How it is started, with all arguments.
        environment: Of its process.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            list(command), env=dict(environment), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self.seen: list[str] = []
        self._reader = threading.Thread(target=self._read, name="foreign producer", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put("")

    def wait_for(self, word: str) -> None:
        """Wait for a line, the end of the output included as an empty one."""
        while True:
            line = self._lines.get(timeout=_SECONDS)
            self.seen.append(line)
            if line == word:
                return
            assert line, f"the program ended with {self._process.wait()}; it said {self.seen}"

    def end(self) -> None:
        """Let it end, and wait for that."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()
            self._process.stdout.close()


def delivered(store: Path, topic: str) -> Counter[str]:
    """Bodies in a topic of a closed store, each with how often it is there."""
    found: Counter[str] = Counter()
    with MessageStore.open(StoreConfig(root=store, max_hash_slots=1_000, max_index_items=4_000), read_only=True) as opened:
        for queue_id in [queue_id for known, queue_id in opened.queues() if known == topic]:
            offset = 0
            while offset < opened.max_offset(topic, queue_id):
                result = opened.get_messages(topic, queue_id, offset, 32)
                found.update(bytes(decode_record(record).body).decode() for record in result.records)
                offset = result.next_offset
    return found


def expected(count: int, *, orphan: bool = False) -> set[str]:
    """Bodies that must be delivered of ``count`` messages."""
    kinds = ("check-commit", "check-rollback") if orphan else ("commit", "rollback", "check-commit", "check-rollback")
    bodies = [f"{kinds[number % len(kinds)]}-{number}" for number in range(count)]
    return {body for body in bodies if "commit" in body}
