"""SQL92 filters on a store of a real broker: our evaluation finds what that broker delivered."""

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.processors.message_filter import sql_filter
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.filter.evaluator import compile_filter
from broker_core.protocol.message.record import decode_record
from tests.support.golden import golden_store


@pytest.fixture(scope="module")
def golden():
    return golden_store("filter")


@pytest.fixture(scope="module")
def store(golden, tmp_path_factory):
    root = golden.unpack(tmp_path_factory.mktemp("filter"))
    sizes = {"commit_log_file_bytes": 16_384, "consume_queue_file_bytes": 1_000, "max_hash_slots": 142, "max_index_items": 300}
    with MessageStore.open(StoreConfig(root=root, disk_warning_percent=100, **sizes)) as opened:
        yield opened


def test_each_group_gets_what_the_real_broker_gave_it(golden, store):
    for plan in golden.expected["plans"]:
        delivered = {
            (topic, queue_id, offset)
            for group, topic, queue_id, offset, _ in golden.expected["consumed"]
            if group == plan["group"]
        }
        assert delivered
        assert found_in(store, plan["topic"], plan["sql"]) == delivered


def found_in(store, topic, sql):
    wanted = sql_filter(compile_filter(sql))
    found = set()
    for name, queue_id in store.queues():
        offset = store.min_offset(name, queue_id)
        while name == topic and offset < store.max_offset(name, queue_id):
            result = store.get_messages(name, queue_id, offset, 32, matches=wanted.matches)
            found |= {(name, queue_id, decode_record(record).queue_offset) for record in result.records}
            assert result.next_offset > offset
            offset = result.next_offset
    return found
