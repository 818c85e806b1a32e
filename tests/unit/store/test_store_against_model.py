"""The store against a plain model: puts, reads, flushes, stops, crashes and lost queues in any order; checked to the byte."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_core.message.batch import BatchMember, encode_batch
from broker_core.message.record import decode_record
from broker_core.store.results import GetStatus, PutStatus
from tests.support.store_bench import StoreBench, message
from tests.support.store_check import check_closed_store

_topics = st.sampled_from(["Orders", "%RETRY%group", "t" * 140])
_queue_ids = st.integers(0, 1)
_bodies = st.binary(max_size=40) | st.integers(0, 3000).map(bytes)


class StoreMachine(RuleBasedStateMachine):
    @initialize()
    def start(self):
        self.place = Path(tempfile.mkdtemp(prefix="orbit-store-"))
        self.bench = StoreBench(self.place / "store")
        self.store = self.bench.open(commit_log_file_bytes=1 << 13)
        self.model: dict[tuple[str, int], list[tuple[bytes, int]]] = {}
        self.records = 0

    @rule(topic=_topics, queue_id=_queue_ids, body=_bodies)
    def put(self, topic, queue_id, body):
        queue = self.model.setdefault((topic, queue_id), [])
        result = self.store.put(message(body, topic=topic, queue_id=queue_id))
        assert (result.status, result.queue_offset) == (PutStatus.PUT_OK, len(queue))
        queue.append((body, self.bench.clock.now_ms))
        self.records += 1

    @rule(topic=_topics, queue_id=_queue_ids, bodies=st.lists(st.binary(max_size=60), min_size=1, max_size=8))
    def put_batch(self, topic, queue_id, bodies):
        queue = self.model.setdefault((topic, queue_id), [])
        framed = encode_batch(BatchMember(0, body, b"TAGS\x01TagB") for body in bodies)
        result = self.store.put_batch(message(framed, topic=topic, queue_id=queue_id, properties=b"CLUSTER\x01c"))
        assert (result.status, result.queue_offset) == (PutStatus.PUT_OK, len(queue))
        queue += [(body, self.bench.clock.now_ms) for body in bodies]
        self.records += len(bodies)

    @rule(body=st.binary(max_size=20))
    def put_half(self, body):
        assert self.store.put(message(body, sys_flag=0x4)).status is PutStatus.PUT_OK
        self.records += 1

    @rule(milliseconds=st.integers(0, 20_000))
    def wait(self, milliseconds):
        self.bench.clock.advance(milliseconds)

    @rule()
    def flush(self):
        self.store.flush()
        assert self.store.flushed_offset == self.store.commit_log_max_offset

    @rule()
    def write_queues(self):
        self.store._writer.write_queues()

    @rule()
    def stop_and_start(self):
        self.store.close()
        assert check_closed_store(self.bench.root) == self.records
        self.store = self.bench.open()

    @rule()
    def crash_and_start(self):
        self.bench.crash(self.store)
        self.store = self.bench.open()

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
        self.store = self.bench.open()

    @precondition(lambda self: any(self.model.values()))
    @rule(data=st.data(), upper=st.booleans())
    def search_by_time(self, data, upper):
        key = data.draw(st.sampled_from(sorted(key for key, queue in self.model.items() if queue)))
        times = [time_ms for _, time_ms in self.model[key]]
        wanted = data.draw(st.sampled_from(times)) + data.draw(st.integers(-1, 1))
        if upper:
            expected = max(sum(time_ms <= wanted for time_ms in times) - 1, 0)
        else:
            expected = sum(time_ms < wanted for time_ms in times)
        assert self.store.offset_by_time(*key, wanted, upper=upper) == expected

    @invariant()
    def serves_the_model(self):
        if not hasattr(self, "model"):
            return
        for (topic, queue_id), queue in self.model.items():
            assert self.store.max_offset(topic, queue_id) == len(queue)
            offset = 0
            while offset < len(queue):
                found = self.store.get_messages(topic, queue_id, offset, 32)
                assert found.status is GetStatus.FOUND
                stored = [decode_record(record, check_crc=True) for record in found.records]
                assert [one.body for one in stored] == [body for body, _ in queue[offset : offset + len(stored)]]
                assert [one.queue_offset for one in stored] == list(range(offset, offset + len(stored)))
                offset = found.next_offset

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            assert check_closed_store(self.bench.root) == self.records
            shutil.rmtree(self.place)


StoreMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
TestStoreAgainstAModel = StoreMachine.TestCase
