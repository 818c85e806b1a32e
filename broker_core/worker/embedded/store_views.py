"""The window's view of the store from inside, and figures of its syncs for snapshots."""

from __future__ import annotations

import math
import time

from broker_core.clock import wall_clock_ms
from broker_core.engine.store.disk_use import clean_forcibly_percent, max_used_percent, warning_percent
from broker_core.engine.store.flush import FlushRun
from broker_core.engine.store.machine_code import machine_code_state
from broker_core.engine.store.message_store import MessageStore
from broker_core.worker.handlers import Run
from broker_core.worker.questions.administration import ReadStore, StorePicture
from broker_core.worker.questions.question import Handler

FLUSH_WINDOW_SECONDS = 10.0


def store_handlers(store: MessageStore, run: Run) -> list[Handler]:
    """Handlers that read the store on a thread."""

    async def read(_query: ReadStore) -> StorePicture:
        return await run(lambda: store_picture(store, now_ms=wall_clock_ms()))

    return [ReadStore.answered_by(read)]


def store_picture(store: MessageStore, *, now_ms: int) -> StorePicture:
    """All figures of a store; on a thread, because it reads files. Raises `StoreError` where file or disk cannot be read."""
    inside, stats, config = store.inside(), store.stats(), store.config
    now_s = time.monotonic()
    return StorePicture(
        taken_ms=now_ms,
        log_file_bytes=inside.log_file_bytes,
        log_base=[file.base for file in inside.log_files],
        log_first_ms=[file.first_ms for file in inside.log_files],
        log_modified_ms=[file.modified_ms for file in inside.log_files],
        log_min=inside.log_min,
        log_end=inside.log_end,
        log_flushed=inside.log_flushed,
        indexed=inside.indexed,
        queue_topic=[topic.topic for topic in inside.topics],
        queue_count=[topic.queues for topic in inside.topics],
        queue_entries=[topic.entries for topic in inside.topics],
        queue_bytes=[topic.size for topic in inside.topics],
        queue_behind=[topic.behind for topic in inside.topics],
        index_name=[file.name for file in inside.index_files],
        index_entries=[file.entries for file in inside.index_files],
        index_capacity=[file.capacity for file in inside.index_files],
        index_begin_ms=[file.begin_ms for file in inside.index_files],
        index_end_ms=[file.end_ms for file in inside.index_files],
        index_bytes=[file.size for file in inside.index_files],
        clean_ms=[run.at_ms for run in inside.cleanings],
        clean_trigger=[run.trigger.value for run in inside.cleanings],
        clean_log_files=[run.cleaned.log_files for run in inside.cleanings],
        clean_queue_files=[run.cleaned.queue_files for run in inside.cleanings],
        clean_index_files=[run.cleaned.index_files for run in inside.cleanings],
        clean_log_bytes=[run.cleaned.log_bytes for run in inside.cleanings],
        clean_error=[run.error for run in inside.cleanings],
        overdue_files=inside.overdue_files,
        flush_ms=[now_ms - round((now_s - run.ended_s) * 1_000) for run in inside.flushes],
        flush_took_us=[round(run.took_s * 1_000_000) for run in inside.flushes],
        flush_bytes=[run.size for run in inside.flushes],
        disk_used_bytes=stats.disk_used_bytes,
        disk_total_bytes=stats.disk_total_bytes,
        store_bytes=stats.store_bytes,
        max_used_percent=max_used_percent(config),
        clean_forcibly_percent=clean_forcibly_percent(config),
        refuse_percent=warning_percent(config),
        clean_forcibly=config.clean_forcibly,
        delete_when=config.delete_when,
        file_reserved_hours=config.file_reserved_hours,
        flush_disk_type=config.flush_disk_type,
        flush_interval_ms=config.flush_commit_log_interval_ms,
        refusal=stats.refusal,
        machine_code=machine_code_state(config).value,
    )


def longest_flush_ms(runs: list[FlushRun], now_s: float) -> float:
    """The longest sync of the last `FLUSH_WINDOW_SECONDS` in ms, NaN without one. ``runs`` is in the order of time."""
    longest = math.nan
    for run in reversed(runs):
        if run.ended_s < now_s - FLUSH_WINDOW_SECONDS:
            break
        longest = max(run.took_s * 1_000, longest) if not math.isnan(longest) else run.took_s * 1_000
    return longest
