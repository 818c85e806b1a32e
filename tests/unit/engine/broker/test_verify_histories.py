"""`store verify` over what a broker leaves: it finds nothing after any history, and damage after each.

Sends of all kinds, topics deleted, made again and shrunk, cleaning, offsets of any value, restarts, kills and hand-overs come
in any order, over the whole broker.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.dispatch import further_queues
from broker_core.engine.store.index_file import index_files
from broker_core.engine.store.inspection.log_reader import LogReader
from broker_core.engine.store.inspection.queue_reader import QueueReaders
from broker_core.engine.store.inspection.verify import Verification
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import pull_fields, send_fields
from tests.support.clock import ManualClock
from tests.support.driven_broker import DrivenBroker
from tests.support.pop_bench import handle_fields, pop_fields, popped

pytestmark = pytest.mark.timeout(900)  # some dozens of brokers, started and stopped again and again

QUEUES = 3
COMMIT, ROLLBACK = 8, 12

PREPARED = 4
LEVELS = DelayLevels(StoreConfig().message_delay_level)

_topics = st.sampled_from(["A", "B"])
_queue_ids = st.integers(0, QUEUES - 1)
_bodies = st.integers(1, 3_000).map(lambda size: b"b" * size)
_properties = st.sampled_from(
    [
        "", "TAGS\x01a", "TAGS\x01b\x02KEYS\x01k1 k2", "KEYS\x01k1\x02UNIQ_KEY\x010A0000010000000000000000000000AA",
        "INNER_MULTI_DISPATCH\x01%LMQ%x,%LMQ%y",
        "INNER_MULTI_DISPATCH\x01%LMQ%x,B\x02INNER_MULTI_QUEUE_OFFSET\x013,1",
    ]
)  # fmt: skip
_which = st.integers(0, 99)
"""Of the messages at hand, counted around: how many there are depends on chance, as the queue does that a pop begins with."""
_offsets = st.integers(-5, 60) | st.sampled_from([-(1 << 63), 928803233967072000, (1 << 63) - 1])


def config_of(root: Path, *, multi_dispatch: bool, ext: bool, timers: bool) -> BrokerConfig:
    store = StoreConfig(
        root=root, commit_log_file_bytes=1 << 14, consume_queue_file_bytes=200, max_hash_slots=50, max_index_items=101,
        max_message_bytes=4_000, disk_warning_percent=100, file_reserved_hours=0, multi_dispatch=multi_dispatch,
        lmq=multi_dispatch, consume_queue_ext=ext, consume_queue_ext_file_bytes=4_096, timer_wheel=timers,
        timer_log_file_bytes=1 << 16, flush_commit_log_interval_ms=60_000, flush_consume_queue_interval_ms=60_000,
    )  # fmt: skip
    return BrokerConfig(listen_port=0, name_server_port=0, grpc="off", store=store)


def found_in(root: Path) -> list[str]:
    return [str(finding) for finding in Verification(root, LEVELS).findings()]


def damages(root: Path) -> Iterator[str]:
    """Damage a closed store in one place after the other, each time with what it is; the place is whole again afterwards."""
    log, readers = LogReader(root), QueueReaders(root)
    in_queues: set[tuple[str, int]] = set()
    for (topic, queue_id), reader in readers.by_key.items():
        for start, units in reader.blocks():
            named = {row: physical for row, (physical, size, _) in enumerate(UNIT.iter_unpack(units)) if size > 0}
            used = [row for row, physical in named.items() if physical >= log.min_offset]
            in_queues.update((topic, named[row]) for row in used)
            for row in {used[0], used[-1]} if used else ():
                name, at = reader.place(start + row)
                with changed(root / name, at, lambda data: bytes(len(data)), 20):
                    yield f"empty unit {start + row} of {topic}/{queue_id}"
                with changed(root / name, at + 7, lambda data: bytes((data[0] ^ 0x02,))):
                    yield f"place of unit {start + row} of {topic}/{queue_id}"
    for window in log.windows():
        row = len(window.heads) // 2
        physical, body_at = int(window.heads.physical_offset[row]), int(window.heads.body_position[row])
        topic_at, topic_bytes = int(window.heads.topic_position[row]), int(window.heads.topic_bytes[row])
        path, base = next((path, base) for path, base in log.files if 0 <= physical - base < log.file_bytes)
        places = {"size": physical - base, "magic code": physical - base + 4, "body": body_at}
        with path.open("rb") as file:
            topic = os.pread(file.fileno(), topic_bytes, topic_at).decode()
            properties = os.pread(
                file.fileno(), int(window.heads.properties_bytes[row]), int(window.heads.properties_position[row])
            )
        # What a deleted topic's record says of its queue can be compared with nothing. A property that names the record's own
        # topic says the same once more.
        further = {name for name, _queue_id, _offset in further_queues(int(window.heads.queue_id[row]), properties)}
        if (topic, physical) in in_queues and topic not in further:
            places["queue offset"] = physical - base + 27
        for name, place in places.items():
            with changed(path, place, lambda data: bytes((data[0] ^ 0x41,))):
                yield f"{name} of the record at {physical}"
    readers.close()
    log.close()
    topics = json.loads((root / "config" / "topics.json").read_text())["topicConfigTable"]
    for topic, queue_id, _ in json.loads((root / "orbit.queues").read_text())["queues"]:
        directory = root / "consumequeue" / topic / str(queue_id)
        if topic in topics:
            directory.rename(root / "away")
            yield f"no queue {topic}/{queue_id}"
            (root / "away").rename(directory)
    for path in index_files(root / "index"):
        if path.read_bytes()[36:40] != (1).to_bytes(4, "big"):
            with changed(path, 24, lambda data: bytes((data[0] ^ 0x40,))):
                yield f"last offset of {path.name}"


@contextmanager
def changed(path: Path, position: int, change: Callable[[bytes], bytes], size: int = 1) -> Iterator[None]:
    with path.open("r+b") as file:
        before = os.pread(file.fileno(), size, position)
        os.pwrite(file.fileno(), change(before), position)
        yield
        os.pwrite(file.fileno(), before, position)


class HistoryMachine(RuleBasedStateMachine):
    timers = False

    @initialize(multi_dispatch=st.booleans(), ext=st.booleans())
    def begin(self, multi_dispatch, ext):
        self.place = Path(tempfile.mkdtemp(prefix="orbit-history-"))
        config = config_of(self.place / "store", multi_dispatch=multi_dispatch, ext=ext, timers=self.timers)
        self.driven = DrivenBroker(config, ManualClock())
        self.ask = self.driven.ask
        self.halves_sent = 0
        self.halves: list[tuple[str, str, str]] = []
        self.popped: dict[str, list] = {"A": [], "B": []}

    def check(self, root: Path) -> None:
        assert found_in(root) == []

    # ---- producers ----

    def sent(self, fields, body, code=Q.SEND_MESSAGE_V2):
        answer = self.ask(code, fields, body)
        assert answer.code in (R.SUCCESS, R.SYSTEM_ERROR, R.MESSAGE_ILLEGAL, R.TOPIC_NOT_EXIST), answer.remark
        return answer

    @rule(topic=_topics, queue_id=_queue_ids, body=_bodies, properties=_properties, count=st.integers(1, 15))
    def send(self, topic, queue_id, body, properties, count):
        for _ in range(count):
            self.sent(send_fields(topic, queue_id, properties=properties, queues=QUEUES), body)

    @rule(topic=_topics, queue_id=_queue_ids, sizes=st.lists(st.integers(1, 200), min_size=1, max_size=12), one=_properties)
    def send_batch(self, topic, queue_id, sizes, one):
        body = encode_batch(BatchMember(0, b"m" * size, one.encode()) for size in sizes)
        self.sent(send_fields(topic, queue_id, batch="true", queues=QUEUES), body, Q.SEND_BATCH_MESSAGE)

    @rule(topic=_topics, queue_id=_queue_ids, level=st.integers(1, 4), properties=_properties)
    def send_delayed(self, topic, queue_id, level, properties):
        self.sent(send_fields(topic, queue_id, properties=f"DELAY\x01{level}\x02{properties}", queues=QUEUES), b"later")

    @rule(topic=_topics, queue_id=_queue_ids, properties=_properties)
    def send_half(self, topic, queue_id, properties):
        self.halves_sent += 1
        name = f"{self.halves_sent:032d}"
        half = f"TRAN_MSG\x01true\x02PGROUP\x01PG\x02UNIQ_KEY\x01{name}\x02{properties}"
        answer = self.sent(send_fields(topic, queue_id, properties=half, sys_flag=PREPARED, queues=QUEUES), b"half")
        if answer.code == R.SUCCESS:
            place = parse_offset_message_id(answer.ext_fields["msgId"])[1]
            self.halves.append((answer.ext_fields["queueOffset"], str(place), name))

    @rule(which=_which, decision=st.sampled_from([COMMIT, ROLLBACK]))
    def decide(self, which, decision):
        if not self.halves:
            return
        offset, place, name = self.halves.pop(which % len(self.halves))
        fields = {
            "producerGroup": "PG", "tranStateTableOffset": offset, "commitLogOffset": place, "commitOrRollback": decision,
            "fromTransactionCheck": "false", "msgId": name, "transactionId": name,
        }  # fmt: skip
        self.ask(Q.END_TRANSACTION, fields)

    # ---- consumers ----

    @rule(topic=_topics, count=st.integers(1, 20))
    def pop(self, topic, count):
        now_ms = self.driven.clock()
        answer = self.ask(Q.POP_MESSAGE, pop_fields(now_ms, topic=topic, maxMsgNums=count, invisibleTime=10_000))
        if all(decode_record(record).topic == topic for record in answer.body_slices):  # else a further queue of another topic
            self.popped[topic] += popped(answer, topic) if answer.code == R.SUCCESS else []

    @rule(topic=_topics, which=_which)
    def ack(self, topic, which):
        held = self.popped[topic]
        if held:
            self.ask(Q.ACK_MESSAGE, handle_fields(held.pop(which % len(held)), "CG", topic))

    @rule(topic=_topics, queue_id=_queue_ids, group=st.sampled_from(["CG", "H"]), offset=_offsets)
    def commit(self, topic, queue_id, group, offset):
        fields = {"consumerGroup": group, "topic": topic, "queueId": queue_id, "commitOffset": offset}
        self.ask(Q.UPDATE_CONSUMER_OFFSET, fields)

    @rule(topic=_topics, queue_id=_queue_ids, offset=st.integers(0, 60), committed=_offsets)
    def pull(self, topic, queue_id, offset, committed):
        self.ask(Q.PULL_MESSAGE, pull_fields(topic, queue_id, offset, sysFlag=5, commitOffset=committed))

    @rule(topic=_topics, queue_id=_queue_ids, level=st.integers(-1, 3))
    def send_back(self, topic, queue_id, level):
        found = self.driven.store.get_messages(topic, queue_id, self.driven.store.min_offset(topic, queue_id), 1)
        if found.records:
            place = int.from_bytes(bytes(found.records[0][28:36]), "big")
            fields = {"group": "CG", "offset": place, "delayLevel": level, "originTopic": topic}
            self.ask(Q.CONSUMER_SEND_MSG_BACK, fields)

    # ---- administrators ----

    @rule(topic=_topics)
    def delete_topic(self, topic):
        self.ask(Q.DELETE_TOPIC_IN_BROKER, {"topic": topic})

    @rule(topic=_topics, read=st.integers(1, QUEUES), write=st.integers(1, QUEUES))
    def make_or_shrink_topic(self, topic, read, write):
        fields = {
            "topic": topic, "defaultTopic": "TBW102", "readQueueNums": read, "writeQueueNums": write, "perm": 6,
            "topicFilterType": "SINGLE_TAG",
        }  # fmt: skip
        assert self.ask(Q.UPDATE_AND_CREATE_TOPIC, fields).code == R.SUCCESS

    @rule(count=st.integers(1, 3))
    def clean(self, count):
        self.driven.store.flush()
        for path in sorted((self.driven.root / "commitlog").iterdir())[:count]:
            os.utime(path, (0, 0))
        assert self.ask(Q.DELETE_EXPIRED_COMMITLOG).code == R.SUCCESS
        assert self.ask(Q.CLEAN_EXPIRED_CONSUMEQUEUE).code == R.SUCCESS

    @rule()
    def clean_unused_topics(self):
        assert self.ask(Q.CLEAN_UNUSED_TOPIC).code == R.SUCCESS

    # ---- time, and ends ----

    @rule(milliseconds=st.sampled_from([1, 400, 1_100, 7_000, 16_000]))
    def wait(self, milliseconds):
        self.driven.advance(milliseconds)

    @rule(milliseconds=st.sampled_from([1, 5_000, 3_600_000]))
    def set_the_clock_back(self, milliseconds):
        self.driven.clock.advance(-milliseconds)

    @rule()
    def flush(self):
        self.driven.store.flush()

    @rule()
    def restart(self):
        self.driven.stop()
        self.check(self.driven.root)
        self.driven.start()

    @rule()
    def kill(self):
        left = self.driven.kill()
        self.check(left)
        self.check(self.driven.root)
        shutil.rmtree(left)
        self.driven.start()

    @rule(topic=_topics, offset=_offsets, notes=st.booleans())
    def hand_over(self, topic, offset, notes):
        """A real broker stores any offset, keeps those of deleted topics, and knows no file of ours."""
        self.driven.stop()
        path = self.driven.root / "config" / "consumerOffset.json"
        content = json.loads(path.read_text()) if path.exists() else {"offsetTable": {}}
        content["offsetTable"][f"{topic}@H"] = {"0": offset, "7": offset}
        path.write_text(json.dumps(content))
        if not notes:
            for path in self.driven.root.glob("orbit.*"):
                path.unlink() if path.is_file() else shutil.rmtree(path)
        self.check(self.driven.root)
        self.driven.start()

    def teardown(self):
        if not hasattr(self, "driven"):
            return
        try:
            self.check(self.driven.root)
            self.driven.stop()
            self.check(self.driven.root)
            for damaged in damages(self.driven.root):
                assert found_in(self.driven.root), damaged
            self.check(self.driven.root)
        finally:
            self.driven.close()
            shutil.rmtree(self.place)


class TimerHistoryMachine(HistoryMachine):
    """With the timer wheel of 5.x."""

    timers = True

    @rule(topic=_topics, queue_id=_queue_ids, seconds=st.integers(1, 20), properties=_properties)
    def send_timer(self, topic, queue_id, seconds, properties):
        self.sent(send_fields(topic, queue_id, properties=f"TIMER_DELAY_SEC\x01{seconds}\x02{properties}", queues=QUEUES), b"t")


TestHistories = HistoryMachine.TestCase
TestHistories.settings = settings(max_examples=10, stateful_step_count=25, deadline=None)
TestTimerHistories = TimerHistoryMachine.TestCase
TestTimerHistories.settings = settings(max_examples=4, stateful_step_count=20, deadline=None)


@pytest.mark.parametrize("named", ["B\x02INNER_MULTI_QUEUE_OFFSET\x011", "%LMQ%x,B,B\x02INNER_MULTI_QUEUE_OFFSET\x013,1,1"])
def test_properties_that_name_the_unit_of_a_record_hide_no_damage(named):
    machine = HistoryMachine()
    machine.begin(multi_dispatch=False, ext=False)
    machine.send_batch(topic="B", queue_id=0, sizes=[1, 1], one=f"INNER_MULTI_DISPATCH\x01{named}")
    machine.teardown()
