"""The store as the worker tells it."""

import asyncio
import math

from broker_core.engine.store.flush import FlushRun
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.embedded.store_views import longest_flush_ms, store_picture
from broker_core.worker.questions.administration import ReadStore, StorePicture
from tests.support.engine import Engine


def test_the_picture_has_the_files_with_the_time_of_their_first_record(engine: Engine):
    engine.put("orders", 0, b"x")
    picture = store_picture(engine.store, now_ms=engine.clock())

    assert picture.log_base == [0]
    assert picture.log_first_ms == [engine.clock()]
    assert (picture.queue_topic, picture.queue_entries) == (["orders"], [1])
    assert (picture.max_used_percent, picture.clean_forcibly_percent, picture.refuse_percent) == (75, 85, 90)
    assert 0 < picture.disk_used_bytes <= picture.disk_total_bytes
    assert picture.refusal == ""


def test_an_empty_log_has_no_first_record(engine: Engine):
    assert store_picture(engine.store, now_ms=engine.clock()).log_first_ms in ([], [-1])


def test_the_worker_answers_with_the_picture(engine: Engine):
    queries = Queries(engine, console=None, shut_down=lambda: None)
    try:
        assert isinstance(asyncio.run(queries.answer(ReadStore())), StorePicture)
    finally:
        queries.close()


def test_the_longest_sync_of_the_last_seconds_counts():
    runs = [FlushRun(80.0, 9.0, 1), FlushRun(95.0, 0.002, 1), FlushRun(99.0, 0.004, 1), FlushRun(99.5, 0.001, 1)]
    assert longest_flush_ms(runs, 100.0) == 4.0
    assert math.isnan(longest_flush_ms(runs[:1], 100.0))
    assert math.isnan(longest_flush_ms([], 100.0))
