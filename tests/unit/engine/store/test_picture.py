"""A store seen from inside."""

from broker_core.config import StoreConfig
from broker_core.engine.store.cleanup import CleaningRun, Trigger
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from tests.support.clock import ManualClock

HOST = HostAddress.parse("127.0.0.1:10911")
FILE_BYTES = 1 << 16


def put(store: MessageStore, clock: ManualClock, topic: str, body: bytes = b"x" * 1_000) -> None:
    properties = encode_properties({"KEYS": "k"})
    store.put(MessageToStore(topic, 0, 0, 0, clock(), HOST, HOST, 0, 0, body, properties))


def opened(tmp_path, clock: ManualClock, **settings: object) -> MessageStore:
    config = StoreConfig(root=tmp_path / "store", commit_log_file_bytes=FILE_BYTES, consume_queue_file_bytes=20_000, **settings)  # type: ignore[arg-type]  given by name
    return MessageStore.open(config, clock=clock)


def test_files_positions_and_queues_are_told(tmp_path):
    clock = ManualClock()
    with opened(tmp_path, clock) as store:
        for _ in range(100):
            put(store, clock, "orders")
        put(store, clock, "audit")
        inside = store.inside()

        assert [(file.base, file.first_ms) for file in inside.log_files] == [(0, clock()), (FILE_BYTES, clock())]
        assert (inside.log_min, inside.log_end) == (store.commit_log_min_offset, store.commit_log_max_offset)
        assert inside.log_flushed <= inside.log_end
        assert inside.log_min <= inside.indexed <= inside.log_end
        assert [(one.topic, one.queues, one.entries, one.size) for one in inside.topics] == [
            ("audit", 1, 1, 20),
            ("orders", 1, 100, 2_000),
        ]
        assert all(0 <= one.behind <= one.entries for one in inside.topics)


def test_after_a_flush_nothing_is_behind_and_the_index_is_listed(tmp_path):
    clock = ManualClock()
    with opened(tmp_path, clock) as store:
        put(store, clock, "orders")
        store.flush()
        inside = store.inside()

        assert inside.log_flushed == inside.indexed == inside.log_end
        assert [one.behind for one in inside.topics] == [0]
        assert [file.entries for file in inside.index_files] == [1]
        assert inside.index_files[0].entries <= inside.index_files[0].capacity


def test_without_an_index_nothing_is_indexed(tmp_path):
    clock = ManualClock()
    with opened(tmp_path, clock, message_index=False) as store:
        assert store.inside().indexed == -1


def test_a_cleaning_run_is_remembered_with_what_it_deleted(tmp_path):
    clock = ManualClock()
    with opened(tmp_path, clock, file_reserved_hours=0) as store:
        for _ in range(200):
            put(store, clock, "orders")
        store.flush()
        files = len(store.inside().log_files)
        clock.now_ms = max(file.modified_ms for file in store.inside().log_files) + 1
        assert store.inside().overdue_files == files - 1
        store.clean()
        inside = store.inside()

        assert len(inside.log_files) == 1
        assert inside.overdue_files == 0
        (run,) = inside.cleanings
        assert isinstance(run, CleaningRun)
        assert (run.trigger, run.cleaned.log_files, run.error) == (Trigger.MANUAL, files - 1, "")


def test_of_very_many_files_only_the_newest_are_looked_into(tmp_path, monkeypatch):
    monkeypatch.setattr("broker_core.engine.store.picture.FIRST_TIMES_MAX", 1)
    clock = ManualClock()
    with opened(tmp_path, clock) as store:
        for _ in range(100):
            put(store, clock, "orders")
        assert [file.first_ms for file in store.inside().log_files] == [-1, clock()]
