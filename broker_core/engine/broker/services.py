"""Services beside the requests: delivery, checks and the like, started after the tables are loaded."""

from __future__ import annotations

import asyncio
from typing import Protocol

from broker_core.engine.processors.delay_processor import DelayProcessor
from broker_core.engine.processors.dispatcher import Dispatcher
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.pop.pop_family import PopService
from broker_core.engine.processors.slow_consumers import SlowConsumerGuard
from broker_core.engine.processors.timer_processor import TimerMessages
from broker_core.engine.processors.transaction_service import TransactionService
from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.schedule.timers import LoopTimers
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.tables.consumer_filters import FilterFile
from broker_core.engine.tables.consumer_offsets import OFFSETS_FILE
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.codes import RequestCode


class Service(Protocol):
    """A service with work of its own on the broker's loop."""

    def start(self) -> None:
        """Read its files and set its timers, on the loop."""

    async def stop(self) -> None:
        """End all its timers and tasks, and mark its files in `ConfigFiles`."""


def broker_services(
    state: BrokerState, dispatcher: Dispatcher, files: ConfigFiles, journal: ActionJournal, durable: DurableAnswers | None
) -> tuple[Service, ...]:
    """The services of one broker, in the order of their start; they stop in the opposite order, before the store closes."""
    return (
        dispatcher.maintenance,
        SlowConsumerGuard(state),
        FilterFile(dispatcher.filters, files),
        _delays(state, dispatcher, files, journal),
        TimerMessages(state, dispatcher, files, journal=journal),
        TransactionService(state, dispatcher, journal, durable),
        PopService(state, dispatcher.pop, files, offsets_file=OFFSETS_FILE),
    )


def _delays(state: BrokerState, dispatcher: Dispatcher, files: ConfigFiles, journal: ActionJournal) -> DelayService:
    service = DelayService(
        state.store,
        files,
        journal,
        clock=state.clock,
        timers=LoopTimers(asyncio.get_running_loop()),
        save_interval_ms=state.config.flush_delay_offset_interval_ms,
        count=lambda topic, size: state.counters.put(topic, 1, size),
        set_aside=state.set_aside,
    )
    processor = DelayProcessor(service)
    dispatcher.extend({RequestCode.GET_ALL_DELAY_OFFSET: processor.all_offsets})
    dispatcher.info.add_figures(processor.runtime_lines)
    return service
