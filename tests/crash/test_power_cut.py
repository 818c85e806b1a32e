"""Power cuts at any moment: nothing acknowledged is lost, nothing torn is served, and the store always opens."""

from __future__ import annotations

import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.record import decode_record
from tests.support.clock import ManualClock
from tests.support.power_cut import PowerCutDisk, QuickDisk
from tests.support.store_bench import message
from tests.support.store_check import check_closed_store

IMAGES_A_RUN = 25
SEED = int(os.environ.get("ORBIT_CRASH_SEED", "20240607"))
TOPICS = ("Orders", "t" * 100)
PROPERTIES = (b"", b"TAGS\x01TagA", b"K\x01" + b"v" * 900 + b"\x02TAGS\x01b", b"K\x01" + b"w" * 9_000)


@pytest.mark.usefixtures("both_platforms")
@pytest.mark.parametrize("run", range(20))
def test_any_image_opens_with_all_that_was_acknowledged(tmp_path, run):
    cut = PowerCutRun(tmp_path, seed=SEED + run)
    cut.go()
    assert cut.images >= IMAGES_A_RUN


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(20))
def test_ten_thousand_images(tmp_path, part):
    for run in range(20):
        place = tmp_path / str(run)
        cut = PowerCutRun(place, seed=SEED + 1_000 + part * 20 + run)
        cut.go()
        assert cut.images >= IMAGES_A_RUN
        shutil.rmtree(place)


class PowerCutRun:
    """One store under load, cut off again and again; every few images, one of them goes on as the store."""

    def __init__(self, place: Path, *, seed: int) -> None:
        print(f"power cuts by seed {seed} (ORBIT_CRASH_SEED)")
        self.place = place
        self.randomness = random.Random(seed)
        self.clock = ManualClock()
        self.written: dict[int, bytes] = {}
        self.acknowledged: dict[int, tuple[str, int, int]] = {}
        self.images = 0
        self.generation = 0

    def config(self, root: Path) -> StoreConfig:
        return StoreConfig(
            root=root,
            commit_log_file_bytes=1 << 15,
            sync_flush_timeout_ms=3_600_000,  # images are looked at while a sync is under way
            consume_queue_file_bytes=1_000,
            flush_commit_log_interval_ms=3_600_000,
            flush_consume_queue_interval_ms=3_600_000,
        )

    def go(self) -> None:
        root = self.place / "store"
        while self.images < IMAGES_A_RUN:
            self.disk = PowerCutDisk(root, lambda: None)
            if root.exists():  # what an image holds is on the disk by now
                self.disk.durable = self.disk._files()
                self.disk.named = set(self.disk.durable)
            self.disk.moment = self.maybe_cut
            with MessageStore.open(self.config(root), clock=self.clock, disk=self.disk) as store:
                self.work(store)
                if self.randomness.random() < 0.2:
                    store.flush()
                survivor = self.place / f"survivor-{self.generation}"
                self.disk.image(survivor, self.randomness)
                self.disk.moment = lambda: None
            self.generation += 1
            shutil.rmtree(root)
            self.check(survivor)
            root = survivor

    def work(self, store: MessageStore) -> None:
        for _ in range(self.randomness.randrange(5, 40)):
            self.clock.advance(self.randomness.randrange(50))
            self.put(store)
            chance = self.randomness.random()
            if chance < 0.25:
                self.acknowledge(store)
            elif chance < 0.3:
                store.flush()
            elif chance < 0.35:
                store._parts.writer.write_queues()
            elif chance < 0.5:
                self.disk.write_back(self.randomness)
            self.maybe_cut()

    def put(self, store: MessageStore) -> None:
        randomness = self.randomness
        body = randomness.randbytes(randomness.choice((0, 20, 300, 3_000, 7_000)))
        value = message(
            body, topic=randomness.choice(TOPICS), queue_id=randomness.randrange(2), properties=randomness.choice(PROPERTIES)
        )
        if randomness.random() < 0.2:
            value.body = encode_batch(BatchMember(0, randomness.randbytes(60), b"TAGS\x01x") for _ in range(10))
            result = store.put_batch(value)
        else:
            result = store.put(value)
        for offset in result.physical_offsets:
            record = store.record_at(offset)
            assert record is not None
            self.written[offset] = bytes(record)

    def acknowledge(self, store: MessageStore) -> None:
        end = store.commit_log_max_offset
        durable = threading.Event()
        outcome: list[bool] = []
        syncs = store.log_syncs() if self.randomness.random() < 0.5 else None
        (syncs or store).when_durable(end, lambda ok: (outcome.append(ok), durable.set()))
        if syncs is not None and syncs._kernel.is_under_way:  # else the flush thread is at it, which looks at images, too
            for _ in range(self.randomness.randrange(3)):
                self.put(store)
            syncs.look()
        assert durable.wait(30)
        assert outcome == [True]
        for offset, data in self.written.items():
            if offset < end and offset not in self.acknowledged:
                stored = decode_record(data)
                self.acknowledged[offset] = (stored.topic, stored.queue_id, stored.queue_offset)

    def maybe_cut(self) -> None:
        if self.images < IMAGES_A_RUN and self.randomness.random() < 0.15:
            place = self.place / "image"
            self.disk.image(place, self.randomness)
            self.check(place, forget=False)
            shutil.rmtree(place)

    def check(self, root: Path, *, forget: bool = True) -> None:
        """Open an image; with ``forget``, what it lost may be written anew at the same place."""
        self.images += 1
        if not root.exists():
            assert not self.acknowledged
            root.mkdir()
        served: dict[int, tuple[str, int, int]] = {}
        with MessageStore.open(self.config(root), clock=self.clock, disk=QuickDisk()) as store:
            for topic, queue_id in store.queues():
                for offset in range(store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)):
                    (record,) = store.get_messages(topic, queue_id, offset, 1).records
                    stored = decode_record(record, check_crc=True)
                    assert (stored.topic, stored.queue_id, stored.queue_offset) == (topic, queue_id, offset)
                    assert bytes(record) == self.written[stored.physical_offset], "a torn record is served"
                    served[stored.physical_offset] = (topic, queue_id, offset)
        lost = {offset: facts for offset, facts in self.acknowledged.items() if served.get(offset) != facts}
        assert not lost
        assert check_closed_store(root) == len(served)
        if forget:
            self.written = {offset: data for offset, data in self.written.items() if offset in served}
            self.acknowledged = served
