"""A process that delays messages, delivers them, cancels some and delivers some early, until it is killed.

Tells ``ready``, then one line for each thing that was acknowledged: ``sent N``, ``cancelled N``, ``early N``. Its time runs a
hundred times faster than the real one, so that levels of seconds take milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from broker_core.config import StoreConfig
from broker_core.engine.schedule.delay_console import DelayedPlace
from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.schedule.timers import Alarm
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import PutStatus
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.names import SCHEDULE_TOPIC

TOPIC = "Later"
QUEUES = 2
LEVELS = 3
SPEED = 100
SAVE_INTERVAL_MS = 3_000
_HOST = HostAddress.parse("127.0.0.1:10911")


def delay_config(root: Path) -> StoreConfig:
    """Small files, three levels."""
    return StoreConfig(
        root=root,
        commit_log_file_bytes=1 << 16,
        consume_queue_file_bytes=1_000,
        message_delay_level="1s 3s 8s",
        flush_consume_queue_interval_ms=5,
        disk_warning_percent=100,
    )


class FastTimers:
    """Alarms of a loop in fast time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now_ms(self) -> float:
        """Fast milliseconds."""
        return self._loop.time() * 1000 * SPEED

    def after(self, delay_ms: float, call: Callable[[], None]) -> Alarm:
        """An alarm; a level of a second rings after ten milliseconds."""
        return self._loop.call_later(delay_ms / 1000 / SPEED, call)


def fast_clock(began_s: float) -> Callable[[], int]:
    """The wall clock of all processes of one test, from the same beginning."""
    return lambda: 1_700_000_000_000 + int((time.time() - began_s) * 1000 * SPEED)


def delay_until_killed(root: Path, seed: int, began_s: float, told: Connection) -> None:
    """What the process does from its start to its end."""
    descriptor = told.fileno()
    asyncio.run(_run(root, seed, fast_clock(began_s), lambda text: os.write(descriptor, text.encode() + b"\n")))


async def _run(root: Path, seed: int, clock: Callable[[], int], tell: Callable[[str], Any]) -> None:
    randomness = random.Random(seed)
    with MessageStore.open(delay_config(root), clock=clock) as store:
        config = root / "config"
        service = DelayService(
            store,
            ConfigFiles(config),
            ActionJournal(config, clock=clock),
            clock=clock,
            timers=FastTimers(asyncio.get_running_loop()),
            save_interval_ms=SAVE_INTERVAL_MS,
        )
        service.start()
        tell("ready")
        number = seed * 100_000
        while True:
            number += 1
            level = randomness.randint(1, LEVELS)
            place = _put(store, clock, number, level)
            tell(f"sent {number}")
            if randomness.random() < 0.1:
                action = "cancel" if randomness.random() < 0.5 else "deliver"
                if (await service.console.act(action, level, [place])).done:
                    tell(f"{'cancelled' if action == 'cancel' else 'early'} {number}")
            await asyncio.sleep(randomness.random() * 0.002)


def _put(store: MessageStore, clock: Callable[[], int], number: int, level: int) -> DelayedPlace:
    properties = {"DELAY": str(level), "REAL_TOPIC": TOPIC, "REAL_QID": str(number % QUEUES), "UNIQ_KEY": str(number)}
    body = b"%d" % number
    encoded = encode_properties(properties)
    result = store.put(MessageToStore(SCHEDULE_TOPIC, level - 1, 0, 0, clock(), _HOST, _HOST, 0, 0, body, encoded))
    assert result.status is PutStatus.PUT_OK
    return DelayedPlace(result.queue_offset, result.physical_offset)
