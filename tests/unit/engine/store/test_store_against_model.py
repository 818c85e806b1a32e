"""The store against a plain model: puts, reads, queries, flushes, stops, crashes, torn ends, lost queues and cleaning in any
order; checked to the byte."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_core.config import StoreConfig
from broker_core.engine.store.inspection.verify import Verification
from broker_core.engine.store.results import GetStatus, PutStatus
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.record import decode_record
from tests.support.plain_ways import take_plain_ways
from tests.support.queue_rows import check_rows_of
from tests.support.store_bench import StoreBench, message
from tests.support.store_check import check_closed_store

pytestmark = pytest.mark.timeout(600)  # twenty stores, opened and checked again and again

LOG_FILE_BYTES = 1 << 13
TORN_FROM = 60  # behind the times, before the length of the body

_topics = st.sampled_from(["Orders", "%RETRY%group", "t" * 140])
_queue_ids = st.integers(0, 1)
_bodies = st.binary(max_size=40) | st.integers(0, 3000).map(bytes)
_keys = st.sampled_from(["a", "b", "c d", ""])


class Put(NamedTuple):
    """A message that was stored; ``place`` is its queue, None for one that enters none."""

    physical_offset: int
    body: bytes
    store_ms: int
    keys: str
    place: tuple[str, int] | None


def properties(keys: str) -> bytes:
    return b"TAGS\x01TagA" + (b"\x02KEYS\x01" + keys.encode() if keys else b"")


class StoreMachine(RuleBasedStateMachine):
    @initialize()
    def start(self):
        self.place = Path(tempfile.mkdtemp(prefix="orbit-store-"))
        self.bench = StoreBench(self.place / "store")
        self.store = self.open()
        self.model: dict[tuple[str, int], list[Put]] = {}
        self.log: list[Put] = []
        self.is_cleaned = False

    def open(self):
        return self.bench.open(commit_log_file_bytes=LOG_FILE_BYTES, file_reserved_hours=0)

    def stored(self, put: Put) -> None:
        self.log.append(put)
        if put.place is not None:
            self.model[put.place].append(put)

    # ---- putting -------------------------------------------------------------------------------------------------------

    @rule(topic=_topics, queue_id=_queue_ids, body=_bodies, keys=_keys)
    def put(self, topic, queue_id, body, keys):
        queue = self.model.setdefault((topic, queue_id), [])
        result = self.store.put(message(body, topic=topic, queue_id=queue_id, properties=properties(keys)))
        assert (result.status, result.queue_offset) == (PutStatus.PUT_OK, len(queue))
        self.stored(Put(result.physical_offset, body, self.bench.clock.now_ms, keys, (topic, queue_id)))

    @rule(
        topic=_topics,
        queue_id=_queue_ids,
        bodies=st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=8),
        keys=_keys,
    )
    def put_batch(self, topic, queue_id, bodies, keys):
        queue = self.model.setdefault((topic, queue_id), [])
        framed = encode_batch(BatchMember(0, body, properties(keys)) for body in bodies)
        result = self.store.put_batch(message(framed, topic=topic, queue_id=queue_id, properties=b"CLUSTER\x01c"))
        assert (result.status, result.queue_offset) == (PutStatus.PUT_OK, len(queue))
        for offset, body in zip(result.physical_offsets, bodies, strict=True):
            self.stored(Put(offset, body, self.bench.clock.now_ms, keys, (topic, queue_id)))

    @rule(body=st.binary(max_size=20))
    def put_half(self, body):
        result = self.store.put(message(body, sys_flag=0x4))
        assert result.status is PutStatus.PUT_OK
        self.stored(Put(result.physical_offset, body, self.bench.clock.now_ms, "", None))

    @rule(milliseconds=st.integers(0, 20_000))
    def wait(self, milliseconds):
        self.bench.clock.advance(milliseconds)

    # ---- the disk ------------------------------------------------------------------------------------------------------

    @rule()
    def flush(self):
        self.store.flush()
        assert self.store.flushed_offset == self.store.commit_log_max_offset

    @rule()
    def write_queues(self):
        self.store._parts.writer.write_queues()

    @rule()
    def stop_and_start(self):
        self.store.close()
        self.check_files()
        self.store = self.open()

    @rule()
    def crash_and_start(self):
        self.bench.crash(self.store)
        self.store = self.open()

    @precondition(lambda self: self.log and self.log[-1].physical_offset >= self.store.commit_log_min_offset)
    @rule()
    def tear_the_last_record_and_start(self):
        end = self.store.commit_log_max_offset
        self.bench.crash(self.store)
        torn = self.log.pop()
        if torn.place is not None:
            assert self.model[torn.place].pop() == torn
        base = torn.physical_offset - torn.physical_offset % LOG_FILE_BYTES
        with (self.bench.root / "commitlog" / f"{base:020d}").open("r+b") as file:
            file.seek(torn.physical_offset - base + TORN_FROM)
            file.write(bytes(end - torn.physical_offset - TORN_FROM))
        self.store = self.open()
        assert self.store.commit_log_max_offset <= torn.physical_offset

    @precondition(lambda self: any(self.model.values()))
    @rule(data=st.data(), crashed=st.booleans())
    def lose_a_queue(self, data, crashed):
        self.store.flush()
        topic, queue_id = data.draw(st.sampled_from(sorted(key for key, queue in self.model.items() if queue)))
        if crashed:
            self.bench.crash(self.store)
        else:
            self.store.close()
        shutil.rmtree(self.bench.root / "consumequeue" / topic / str(queue_id))
        self.store = self.open()

    @rule(count=st.integers(1, 3))
    def clean(self, count):
        for path in sorted((self.bench.root / "commitlog").iterdir())[:count]:
            os.utime(path, (0, 0))
        self.store.flush()
        for path in sorted((self.bench.root / "commitlog").iterdir())[:count]:
            os.utime(path, (0, 0))
        before = self.store.commit_log_min_offset
        cleaned = self.store.clean()
        assert cleaned.log_bytes == self.store.commit_log_min_offset - before
        self.is_cleaned = self.is_cleaned or bool(cleaned.log_files)

    # ---- reading -------------------------------------------------------------------------------------------------------

    def first_kept(self, queue: list[Put]) -> int:
        return sum(put.physical_offset < self.store.commit_log_min_offset for put in queue)

    @precondition(lambda self: any(self.model.values()))
    @rule(data=st.data(), upper=st.booleans())
    def search_by_time(self, data, upper):
        key = data.draw(st.sampled_from(sorted(key for key, queue in self.model.items() if queue)))
        times = [put.store_ms for put in self.model[key]]
        wanted = data.draw(st.sampled_from(times)) + data.draw(st.integers(-1, 1))
        if upper:
            expected = max(sum(time_ms <= wanted for time_ms in times) - 1, 0)
        else:
            expected = sum(time_ms < wanted for time_ms in times)
        expected = max(expected, self.first_kept(self.model[key]))
        assert self.store.offset_by_time(*key, wanted, upper=upper) == expected

    @rule(topic=_topics, key=st.sampled_from("abcde"), data=st.data())
    def query(self, topic, key, data):
        times = sorted({put.store_ms for put in self.log}) or [0]
        start, end = sorted((data.draw(st.sampled_from(times)), data.draw(st.sampled_from(times))))
        expected = [
            put.physical_offset
            for put in reversed(self.log)
            if put.place is not None
            and put.place[0] == topic
            and key in put.keys.split()
            and start <= put.store_ms <= end
            and put.physical_offset >= self.store.commit_log_min_offset
        ]
        found = self.store.query(topic, key, max_count=10_000, from_ms=start, to_ms=end)
        assert [decode_record(record).physical_offset for record in found] == expected

    @invariant()
    def serves_the_model(self):
        if not hasattr(self, "model"):
            return
        check_rows_of(self.store)
        for (topic, queue_id), queue in self.model.items():
            offset = self.first_kept(queue)
            assert self.store.max_offset(topic, queue_id) == len(queue)
            assert self.store.min_offset(topic, queue_id) == offset
            while offset < len(queue):
                found = self.store.get_messages(topic, queue_id, offset, 32)
                assert found.status is GetStatus.FOUND
                stored = [decode_record(record, check_crc=True) for record in found.records]
                assert [one.body for one in stored] == [put.body for put in queue[offset : offset + len(stored)]]
                assert [one.queue_offset for one in stored] == list(range(offset, offset + len(stored)))
                offset = found.next_offset

    def check_files(self) -> None:
        """The files of a closed store."""
        if not self.is_cleaned:
            assert check_closed_store(self.bench.root) == len(self.log)
        run = Verification(self.bench.root, DelayLevels(StoreConfig().message_delay_level))
        assert [str(finding) for finding in run.findings()] == []
        assert run.records == sum(put.physical_offset >= run.log_min_offset for put in self.log)

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            self.check_files()
            shutil.rmtree(self.place)


class PlainWaysStoreMachine(StoreMachine):
    """The same with nothing of the system that only some systems have."""

    def __init__(self) -> None:
        super().__init__()
        self.ways = pytest.MonkeyPatch()
        take_plain_ways(self.ways)

    def teardown(self):
        try:
            super().teardown()
        finally:
            self.ways.undo()


StoreMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
TestStoreAgainstAModel = StoreMachine.TestCase

PlainWaysStoreMachine.TestCase.settings = settings(max_examples=10, stateful_step_count=25, deadline=None)
TestStoreAgainstAModelByPlainWays = PlainWaysStoreMachine.TestCase
