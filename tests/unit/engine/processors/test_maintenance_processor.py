"""Housekeeping on request, on a thread; the answer comes when it is done."""

import asyncio
from dataclasses import replace

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from tests.support.broker_bench import RecordingPeer


def served(bench, code):
    async def scenario():
        peer = RecordingPeer()
        assert bench.ask(peer, code) is None
        await bench.dispatcher.maintenance.stop()
        (answer,) = peer.sent
        return answer

    return asyncio.run(scenario())


def fill(bench, files=3):
    for _ in range(files * 11):
        bench.put(body=b"x" * 100_000)


def test_old_log_files_go_at_any_hour_and_their_queue_entries_with_them(bench):
    fill(bench)
    store = bench.state.store
    store.flush()
    end, entries = store.commit_log_max_offset, store.max_offset("T", 0)
    store.reconfigure(replace(store.config, file_reserved_hours=0))
    bench.clock.now_ms = 4_000_000_000_000  # long after the files were written, which the file system says
    assert served(bench, Q.DELETE_EXPIRED_COMMITLOG).code == R.SUCCESS
    assert 0 < store.commit_log_min_offset < end
    assert (store.min_offset("T", 0) > 0, store.max_offset("T", 0)) == (True, entries)
    assert served(bench, Q.CLEAN_EXPIRED_CONSUMEQUEUE).code == R.SUCCESS
    assert store.max_offset("T", 0) == entries, "a queue goes on numbering"


def test_queues_of_topics_that_nobody_knows_are_deleted(bench):
    bench.put("Kept")
    bench.put("Lost")
    bench.state.topics.remove("Lost")
    assert served(bench, Q.CLEAN_UNUSED_TOPIC).code == R.SUCCESS
    assert {topic for topic, _ in bench.state.store.queues()} == {"Kept"}


def test_a_store_that_cannot_be_cleaned_says_why(bench):
    bench.put()
    bench.state.topics.remove("T")
    bench.state.store.read_only = True
    try:
        assert served(bench, Q.CLEAN_UNUSED_TOPIC).code == R.SYSTEM_ERROR
    finally:
        bench.state.store.read_only = False
