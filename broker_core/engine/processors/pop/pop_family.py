"""All processors of pop, and the service that runs them.

pop_processor   takes messages from queues    ┐
ack_processor   acks, changes times           ├ outstanding → ledger (memory) → revive_log (revive topic)
reviver         stores messages again         ┘
peek_processor  shows messages without taking them
assignment      which consumer pops or pulls which queues
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from broker_core.engine.processors.pop.ack_processor import AckProcessor
from broker_core.engine.processors.pop.assignment import MODES_FILE, MODES_RULE, POP, AssignmentProcessor, RequestModes, Route
from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.order_info import OrderInfo
from broker_core.engine.processors.pop.outstanding import Outstanding
from broker_core.engine.processors.pop.peek_processor import PeekProcessor
from broker_core.engine.processors.pop.pop_processor import PopProcessor
from broker_core.engine.processors.pop.queue_reader import PopQueueReader
from broker_core.engine.processors.pop.reviver import Reviver
from broker_core.engine.store.config_file import ConfigRule
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.tables.group_table import GROUPS_FILE
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import StoreError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand

logger = logging.getLogger(__name__)

Serve = Callable[[Peer, RemotingCommand], RemotingCommand | None]

ORDER_FILE = "consumerOrderInfo.json"
ORDER_RULE = ConfigRule("messages that were popped in order and not acked come again at once", is_rebuilt=True)

TICK_SECONDS = 0.1
PROGRESS_MS = 1_000
"""Time between two looks at the synced offset and the progress of the revive queues (``reviveInterval``)."""

ORDER_FILE_MS = 10_000
"""Time between two writes of changed orderly pops."""


class PopFamily:
    """The processors of pop, ack and assignment. `PopService` calls `tick`.

    A message counts as in memory up to ``memory_bytes`` from the end of the commit log. ``chance`` returns random numbers
    in [0, 1). ``route`` is that of `AssignmentProcessor`.
    """

    def __init__(
        self,
        state: BrokerState,
        *,
        memory_bytes: int,
        chance: Callable[[], float] = random.random,
        route: Route | None = None,
    ) -> None:
        self._state = state
        self.outstanding = Outstanding(state)
        self.orders = OrderInfo()
        state.offsets.removed = self.orders.forget
        state.offsets.was_reset = self._was_reset
        self.modes = RequestModes()
        reader = PopQueueReader(state, self.outstanding, self.orders, memory_bytes=memory_bytes)
        self.processor = PopProcessor(state, self.outstanding, reader, chance=chance)
        self._peeks = PeekProcessor(state, self.processor.queues)
        self.acks = AckProcessor(state, self.outstanding, self.orders, freed=self.processor.freed)
        self.assignment = AssignmentProcessor(state, self.modes, changed=self._modes_changed, route=route)
        self._reviver = Reviver(state, self.outstanding)
        self.modes_changed: Callable[[], None] = lambda: None
        self._next_progress_ms = 0
        state.store.add_arrival_listener(self.processor.arrived, waiting=(self.processor.notices, self.processor.holds))

    def table(self) -> dict[RequestCode, Serve]:
        return {
            RequestCode.POP_MESSAGE: self.processor.pop,
            RequestCode.PEEK_MESSAGE: self._peeks.peek,
            RequestCode.POP_ROLLBACK: _nothing_to_bring_back,
            RequestCode.ACK_MESSAGE: self.acks.ack,
            RequestCode.BATCH_ACK_MESSAGE: self.acks.batch_ack,
            RequestCode.CHANGE_MESSAGE_INVISIBLETIME: self.acks.change_invisible_time,
            RequestCode.NOTIFICATION: self.processor.notification,
            RequestCode.POLLING_INFO: self.processor.polling_info,
            RequestCode.QUERY_ASSIGNMENT: self.assignment.query,
            RequestCode.SET_MESSAGE_REQUEST_MODE: self.assignment.set_mode,
            RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: self.assignment.all_modes,
        }

    def load(self, *, offsets_ms: int = -1, groups_ms: int = -1) -> None:
        """Create the revive topic if it is missing, and read the live checkpoints.

        ``offsets_ms`` is when the consumers' offsets were written, ``groups_ms`` when the groups were; -1 if they were not.
        """
        log = self.outstanding.log
        self._state.topics.ensure(log.topic, queues=log.queue_count)
        log.load(offsets_ms, groups_ms)

    def forget(self, peer: Peer) -> None:
        """Drop the held requests of a connection that ended; its messages are sent again after their invisible time."""
        self.processor.forget(peer)

    def tick(self) -> None:
        """Revive due messages, answer held requests, and each `PROGRESS_MS` commit the revive group's offsets."""
        now_ms = self._state.clock()
        self.outstanding.log.poll()
        self.outstanding.write_buffered(now_ms)
        self._reviver.run()
        self.processor.tick()
        if now_ms >= self._next_progress_ms:
            self._next_progress_ms = now_ms + PROGRESS_MS
            self.outstanding.log.commit_fronts()

    def is_popped(self, topic: str, group: str) -> bool:
        """Whether the clients of a group pop a topic, because that mode was set for it."""
        mode = self.modes.get(topic, group)
        return mode is not None and mode.mode == POP

    def _was_reset(self, topic: str, group: str, queue_id: int) -> None:
        self.orders.drop(QueueOf(topic, group, queue_id))
        self.processor.freed(topic, group)

    def _modes_changed(self) -> None:
        self.modes_changed()


def _nothing_to_bring_back(_peer: Peer, command: RemotingCommand) -> RemotingCommand:
    """There are none: Orbit has no key-value store of pops whose records would return to the revive topic."""
    return command.reply()


class PopService:
    """Runs a `PopFamily`: its timer and its files. ``offsets_file`` is the name of the consumers' offsets file."""

    def __init__(self, state: BrokerState, pop: PopFamily, files: ConfigFiles, *, offsets_file: str) -> None:
        self._state = state
        self._pop = pop
        self._files = files
        self._offsets_file = offsets_file
        self._timer: asyncio.TimerHandle | None = None
        self._written_order_changes = 0
        self._next_order_ms = 0
        self._next_sync_ms = 0

    def start(self) -> None:
        """Read the files and the revive topic, and begin."""
        self._files.load(ORDER_FILE, self._pop.orders.load, ORDER_RULE)
        self._files.serve(ORDER_FILE, self._pop.orders.to_json)
        self._files.load(MODES_FILE, self._pop.modes.load, MODES_RULE)
        self._files.serve(MODES_FILE, self._pop.modes.to_json)
        self._pop.modes_changed = lambda: self._files.mark(MODES_FILE)
        self._files.serve(self._offsets_file, lambda: self._pop.outstanding.offsets_to_write(self._state.offsets))
        self._pop.load(offsets_ms=self._files.loaded_ms(self._offsets_file), groups_ms=self._files.loaded_ms(GROUPS_FILE))
        for cluster in self._pop.outstanding.log.clusters_left():
            self._files.report(
                f"brokerClusterName is another: messages that were popped and not acked come again after it is {cluster} again"
            )
        self._tick()

    async def stop(self) -> None:
        """Answer held requests, and write and sync the checkpoints in memory, so that the offsets may be written."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pop.processor.answer_all()
        self._pop.outstanding.write_buffered()
        try:
            await asyncio.to_thread(self._state.store.flush)
        except StoreError as error:
            logger.warning("the last pops are not on disk; their messages come again: %s", error)
        self._pop.outstanding.log.commit_fronts()
        self._files.mark(ORDER_FILE)
        self._files.mark(self._offsets_file)

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)
        self._pop.tick()
        now_ms = self._state.clock()
        if now_ms >= self._next_sync_ms and self._pop.outstanding.ledger.is_unsynced:
            # Without this the offset file would lag as far as the log's sync may, ten seconds.
            self._next_sync_ms = now_ms + PROGRESS_MS
            self._state.store.when_durable(self._state.store.commit_log_max_offset, _ignore)
        if now_ms >= self._next_order_ms:
            self._next_order_ms = now_ms + ORDER_FILE_MS
            self._clean()
            if self._pop.orders.changes != self._written_order_changes:
                self._written_order_changes = self._pop.orders.changes
                self._files.mark(ORDER_FILE)

    def _clean(self) -> None:
        """Delete what belongs to deleted topics and groups."""
        topics, groups = self._state.topics, self._state.groups
        pairs = self._pop.orders.pairs()
        self._pop.orders.clean({pair for pair in pairs if pair[0] in topics and groups.get(pair[1]) is not None})
        if self._pop.modes.clean(lambda topic: topic in topics):
            self._files.mark(MODES_FILE)


def _ignore(_durable: bool) -> None:
    """The next tick reads what is synced."""
