"""Transactions beside the requests: half messages in, decisions, rounds of checks, progress.

    SEND (TRAN_MSG)                 → half topic, by `broker_core.engine.processors.put_rewrites`
    END_TRANSACTION                 → commit or roll back
    RESUME_CHECK_HALF_MESSAGE       → a given-up message is checked again
    every transactionCheckInterval  → CHECK_TRANSACTION_STATE to a living producer of each group that owes a decision
    every second                    → progress of half and op queue into ``consumerOffset.json``

What a transaction is and what becomes of it is in `broker_core.engine.transaction`; here it meets connections and timers.

Source: docs/spec/broker.md §4, docs/spec/remoting.md §2.2.8, §2.4.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from broker_core.config import BrokerConfig
from broker_core.engine.processors.dispatcher import Dispatcher
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.put_rewrites import PutDraft, to_internal_queue
from broker_core.engine.processors.queued_decisions import EarlyEnds
from broker_core.engine.processors.transaction_actions import TransactionActions
from broker_core.engine.store.results import PutResult
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.engine.transaction.engine import CheckRequest, Decision, EndRequest, EndResult, Hooks, TransactionEngine
from broker_core.engine.transaction.messages import CHECKED
from broker_core.engine.transaction.progress import DurableProgress
from broker_core.engine.transaction.settings import TransactionSettings
from broker_core.errors import OrbitError, RequestRefusedError, StoreError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.fields import bool_field, int_field, long_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.sys_flag import TRANSACTION_MASK
from broker_core.protocol.names import CHECK_GROUP, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE_ID

logger = logging.getLogger(__name__)

TICK_MS = 1_000
ASK_TRIES = 3
SLICES_AT_ONCE = 16
"""Of loading, within the start: 10 ms, and all there is in most stores."""
ENDS_A_SLICE = 16
BROKER_ID_MASTER = 0


def transaction_settings(config: BrokerConfig) -> TransactionSettings:
    """The engine's part of the broker's settings."""
    return TransactionSettings(
        timeout_ms=config.transaction_timeout_ms,
        check_times_max=config.transaction_check_max,
        check_interval_ms=config.transaction_check_interval_ms,
        reserved_ms=config.store.file_reserved_hours * 3_600_000,
        op_batch_interval_ms=config.transaction_op_batch_interval_ms,
        op_batch_bytes=config.transaction_op_batch_bytes,
        pending_max=config.transaction_pending_max,
    )


class TransactionService:
    """The transactions of one broker. Belongs to the loop's thread.

    ``durable`` is None where answers need not wait for the disk (ASYNC_FLUSH). ``next_round_ms`` is the time of the next round
    of checks, ms since the epoch.
    """

    def __init__(
        self, state: BrokerState, dispatcher: Dispatcher, journal: ActionJournal, durable: DurableAnswers | None
    ) -> None:
        self._state = state
        self._rewrites = dispatcher.rewrites
        settings = transaction_settings(state.config)
        hooks = Hooks(
            ensure_topic=lambda topic: state.topics.ensure(topic, queues=1),
            put_real=self._put_real,
            stored=lambda topic, size: state.counters.put(topic, 1, size),
            set_aside=state.set_aside,
        )
        self._producers = LivingProducers(state)
        self.engine = TransactionEngine(
            state.store, self._producers, settings, clock=state.clock, host=state.store_host, hooks=hooks
        )
        self.actions = TransactionActions(self.engine, journal)
        self.next_round_ms = state.clock() + settings.check_interval_ms
        self._durable = durable
        self._task: asyncio.Task[None] | None = None
        self._progress = DurableProgress()
        self._early_ends = EarlyEnds()
        state.store.add_arrival_listener(self.engine.arrived, (HALF_TOPIC, OP_TOPIC))
        dispatcher.settings.add_listener(self._reconfigure)
        dispatcher.rewrites.half = self._place_half
        dispatcher.extend(
            {
                RequestCode.END_TRANSACTION: self.end_transaction,
                RequestCode.RESUME_CHECK_HALF_MESSAGE: self.resume_check,
            }
        )

    # ---- start, stop, time ----

    def start(self) -> None:
        """Read the half and op queues, and begin the rounds. Where the queues hold much, requests are served meanwhile."""
        loading = self._loading()
        for _slice in islice(loading, SLICES_AT_ONCE):
            pass
        self._task = asyncio.create_task(self._run(loading), name="transactions")

    async def stop(self) -> None:
        """End the rounds; collected decisions are written, and progress is stored."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not self.engine.is_loaded:
            return
        self.engine.write_owed_ops()
        try:
            await asyncio.to_thread(self._state.store.flush)
        except StoreError as error:
            logger.warning("the progress of transactions stays where it was: %s", error)
        # Earlier progress is stored first: only then is the present one noted.
        self._tell_progress()
        self._stage_progress()
        self._tell_progress()

    def living(self, group: str) -> int:
        """Connected producers of a group."""
        return self._producers.living(group)

    def _loading(self) -> Iterator[None]:
        offsets = self._state.offsets
        return self.engine.loading(*(offsets.get(CHECK_GROUP, topic, TRANSACTION_QUEUE_ID) for topic in (HALF_TOPIC, OP_TOPIC)))

    async def _load(self, loading: Iterator[None]) -> None:
        """Read the rest, then carry out the decisions that arrived meanwhile."""
        while not self.engine.is_loaded:
            try:
                with _unlooked_at():
                    for _slice in loading:
                        await asyncio.sleep(0)
            except Exception:
                # The root of a background task: without the undecided transactions nothing could be decided or checked.
                logger.exception("the undecided transactions were not read; it is tried again in %d ms", TICK_MS)
                await asyncio.sleep(TICK_MS / 1000)
                loading = self._loading()
        for number, (peer, command, request) in enumerate(self._early_ends.take(), 1):
            try:
                answer = self._ended(peer, command, request)
            except OrbitError as error:
                logger.warning("a decision that came early was not carried out: %s", error.message)
                answer = command.reply(ResponseCode.SYSTEM_ERROR, error.message)
            if answer is not None and not command.is_oneway:
                peer.send(answer)
            if number % ENDS_A_SLICE == 0:
                await asyncio.sleep(0)

    async def _run(self, loading: Iterator[None]) -> None:
        await self._load(loading)
        loop = asyncio.get_running_loop()
        round_ended = batch_at = loop.time()
        while True:
            settings = self.engine.settings
            await asyncio.sleep(min(TICK_MS, settings.check_interval_ms, settings.op_batch_interval_ms or TICK_MS) / 1000)
            try:
                if loop.time() >= batch_at:
                    batch_at = loop.time() + settings.op_batch_interval_ms / 1000
                    self.engine.write_owed_ops()
                if loop.time() >= round_ended + self.engine.settings.check_interval_ms / 1000:
                    await self.check_round()
                    round_ended = loop.time()
                    self.next_round_ms = self._state.clock() + self.engine.settings.check_interval_ms
                self._tell_progress()
                self._stage_progress()
            except Exception:
                # The root of a background task: a fault of one round must not end all later ones.
                logger.exception("a round of transaction checks failed; the next one comes as usual")

    def _reconfigure(self, config: BrokerConfig) -> None:
        settings = transaction_settings(config)
        self.next_round_ms += settings.check_interval_ms - self.engine.settings.check_interval_ms
        self.engine.settings = settings

    async def check_round(self) -> None:
        """Check the due transactions, in slices between which requests are served."""
        self._state.topics.ensure(HALF_TOPIC, queues=1)
        for _slice in self.engine.check_round():
            await asyncio.sleep(0)

    def _stage_progress(self) -> None:
        self._progress.stage(self.engine.ledger, self._state.store.commit_log_max_offset)

    def _tell_progress(self) -> None:
        progress = self._progress.take(self._state.store.flushed_offset)
        if progress is None:
            return
        offsets = self._state.offsets
        for topic, offset in ((HALF_TOPIC, progress.half), (OP_TOPIC, progress.op)):
            if offset or offsets.get(CHECK_GROUP, topic, TRANSACTION_QUEUE_ID) >= 0:
                offsets.commit(CHECK_GROUP, topic, TRANSACTION_QUEUE_ID, offset)

    # ---- half messages and real ones ----

    def _place_half(self, draft: PutDraft) -> PutDraft:
        """The half topic for a transactional message (Source: docs/spec/broker.md §2.8 step 8, §4.2)."""
        if self._state.config.reject_transactions:
            remark = f"the broker[{self._state.config.advertised_host}] sending transaction message is forbidden"
            raise RequestRefusedError(remark, code=ResponseCode.NO_PERMISSION)
        if draft.properties.get(props.TRANSACTION_PREPARED, "").lower() != "true":
            remark = "the sysFlag asks for a transaction, but the property TRAN_MSG=true is not there; send with both"
            raise RequestRefusedError(remark, code=ResponseCode.MESSAGE_ILLEGAL)
        if not draft.properties.get(props.PRODUCER_GROUP):
            remark = "a transactional message needs the property PGROUP: its producer group is asked how the transaction ended"
            raise RequestRefusedError(remark, code=ResponseCode.MESSAGE_ILLEGAL)
        if self.engine.refusal:
            raise RequestRefusedError(self.engine.refusal, code=ResponseCode.SYSTEM_BUSY)
        placed = to_internal_queue(draft, HALF_TOPIC, TRANSACTION_QUEUE_ID)
        # A delay or a time that no commit could keep is refused now, because the commit would come too late to refuse it.
        self._rewrites.schedule(replace(placed, properties=placed.properties | CHECKED))
        return replace(placed, sys_flag=draft.sys_flag & ~TRANSACTION_MASK)

    def _put_real(self, message: MessageToStore) -> PutResult:
        """Store a committed message; one with a delay is scheduled now."""
        if b"DELAY\x01" in message.properties or b"TIMER_DEL" in message.properties:
            properties = props.decode_properties(message.properties)
            draft = PutDraft(
                topic=message.topic,
                queue_id=message.queue_id,
                properties=properties,
                sys_flag=message.sys_flag,
                was_accepted=True,
            )
            placed = self._rewrites.schedule(draft)
            if placed is not draft:
                message.topic, message.queue_id = placed.topic, placed.queue_id
                message.sys_flag, message.properties = placed.sys_flag, props.encode_properties(placed.properties)
        return self._state.store.put(message)

    # ---- requests ----

    def end_transaction(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """END_TRANSACTION; an unknown decision is not answered."""
        if self._state.config.broker_id != BROKER_ID_MASTER:
            return command.reply(ResponseCode.SLAVE_NOT_AVAILABLE, "this broker is a slave; transactions end at the master")
        fields = command.ext_fields
        number = int_field(fields, "commitOrRollback")
        if number not in (Decision.UNKNOWN, Decision.COMMIT, Decision.ROLLBACK):
            logger.warning("%s ends a transaction with %d, which means nothing", peer.remote_address, number)
            return None
        request = EndRequest(
            group=text_field(fields, "producerGroup"),
            half_offset=long_field(fields, "tranStateTableOffset"),
            physical_offset=long_field(fields, "commitLogOffset"),
            decision=Decision(number),
            from_check=bool_field(fields, "fromTransactionCheck"),
            message_id=fields.get("msgId", ""),
        )
        if self.engine.is_loaded or request.decision is Decision.UNKNOWN:
            return self._ended(peer, command, request)
        if self._early_ends.keep(peer, command, request):
            return None
        remark = f"{self._reading}; too many decisions wait for that already, this one is asked for later"
        return command.reply(ResponseCode.SYSTEM_BUSY, remark)

    @property
    def _reading(self) -> str:
        return f"the broker has just started and reads its undecided transactions, {self.engine.unread:,} records are left"

    def _ended(self, peer: Peer, command: RemotingCommand, request: EndRequest) -> RemotingCommand | None:
        result = self.engine.end(request)
        if result is None:
            return None
        if result.code != ResponseCode.SUCCESS:
            logger.info("END_TRANSACTION of %s for half %d: %s", request.group, request.half_offset, result.remark)
        return self._answer(peer, command, result)

    def resume_check(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """RESUME_CHECK_HALF_MESSAGE (Source: docs/spec/broker.md §4.8, docs/spec/remoting.md §2.5.8)."""
        if not self.engine.is_loaded:
            return command.reply(ResponseCode.SYSTEM_BUSY, f"{self._reading}; try again then")
        _host, offset = parse_offset_message_id(text_field(command.ext_fields, "msgId"))
        return self._answer(peer, command, self.engine.resume(offset))

    def _answer(self, peer: Peer, command: RemotingCommand, result: EndResult) -> RemotingCommand | None:
        answer = command.reply(result.code, result.remark or None)
        if self._durable is None or command.is_oneway or not result.durable_end:
            return answer

        def durable(is_durable: bool) -> None:
            failed = command.reply(ResponseCode.FLUSH_DISK_TIMEOUT, "it is carried out, the disk has not confirmed it in time")
            peer.send(answer if is_durable else failed)

        self._durable.wait(result.durable_end, durable)
        return None


@contextmanager
def _unlooked_at() -> Iterator[None]:
    """Keep new objects out of garbage collection: many that stay, and none of them in a cycle.

    A collection that visits 100,000 undecided messages stops the loop for 50 ms.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


class LivingProducers:
    """The connected producers of a broker, asked in turn."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._turn = 0

    def living(self, group: str) -> int:
        """How many of a group are connected."""
        return len(self._state.producers.connections(group))

    def ask(self, request: CheckRequest) -> bool:
        """Send CHECK_TRANSACTION_STATE to one member; up to three are tried."""
        peers = self._state.producers.connections(request.group)
        for _try in range(min(ASK_TRIES, len(peers))):
            self._turn += 1
            peer = peers[self._turn % len(peers)]
            command = RemotingCommand(
                RequestCode.CHECK_TRANSACTION_STATE, dict(request.fields), request.body, serialize_type=peer.serialize_type
            )
            if peer.send_oneway(command):
                return True
        return False
