"""Timer messages at the broker: their place in the store, the handle that cancels them, RECALL_MESSAGE.

Source: docs/spec/broker.md §3.6, docs/spec/remoting.md §2.6.4; codes of refusals: docs/spec/broker.md §2.9.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Any

from broker_core.engine.processors.dispatcher import Dispatcher
from broker_core.engine.processors.put_rewrites import PutDraft, to_internal_queue
from broker_core.engine.processors.retried_copies import put_counted
from broker_core.engine.schedule.timer.accept import TimerFault, TimerLimits, TimerRefusal, slot_for
from broker_core.engine.schedule.timer.console import TimerConsole
from broker_core.engine.schedule.timer.messages import DELETE_KEY, DELIVER_MS, OUT_MS
from broker_core.engine.schedule.timer.precision import PRECISION_FILE, PRECISION_RULE, changes_of
from broker_core.engine.schedule.timer.recall_handle import RecallHandle, decode_handle
from broker_core.engine.schedule.timer.service import TimerService
from broker_core.engine.schedule.timer.settings import TimerSettings
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.tables.peer import Peer, host_of
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.admin.topics import PERM_WRITE, TopicConfig
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.tags import java_string_hash
from broker_core.protocol.names import WHEEL_TIMER_TOPIC

logger = logging.getLogger(__name__)

METRICS_FILE = "timermetrics"
RECALL_TAG = "_RECALL_TAG_"
RECALL_BODY = b"0"

_CODES = {
    TimerFault.ILLEGAL: ResponseCode.MESSAGE_ILLEGAL,
    TimerFault.NO_ROOM: ResponseCode.MESSAGE_ILLEGAL,
    TimerFault.FLOW_CONTROL: ResponseCode.SYSTEM_ERROR,
    TimerFault.NOT_ENABLED: ResponseCode.SYSTEM_ERROR,
}


class TimerMessages:
    """Timer messages of one broker: a service, a rewrite and a request, both for ``dispatcher``.

    ``journal`` records actions from the console; ``choose`` picks a number below its argument.
    """

    def __init__(
        self,
        state: BrokerState,
        dispatcher: Dispatcher,
        files: ConfigFiles,
        *,
        journal: ActionJournal,
        choose: Callable[[int], int] = random.randrange,
    ) -> None:
        config = state.config.store
        self._state = state
        self._choose = choose
        self.journal = journal
        self._report = files.report
        self._console: TimerConsole | None = None
        self._limits = TimerLimits(
            is_enabled=config.timer_wheel,
            precision_ms=config.timer_precision_ms,
            delay_max_ms=config.timer_max_delay_seconds * 1_000,
            congest_messages=config.timer_congest_messages,
        )
        self.service = TimerService(
            config.root,
            TimerSettings(config.timer_precision_ms, config.timer_roll_window_slots, config.timer_log_file_bytes),
            state.store,
            put=state.store.put,
            delivered_to=lambda topic, size: state.counters.put(topic, 1, size),
            set_aside=state.set_aside,
            precisions=lambda: files.load(PRECISION_FILE, changes_of, PRECISION_RULE),
            precisions_changed=lambda: files.mark(PRECISION_FILE),
            written=lambda: files.mark(METRICS_FILE),
            report=files.report,
            clock=state.clock,
            flush_interval_ms=config.timer_flush_interval_ms,
        )
        files.serve(PRECISION_FILE, self.service.precisions_json)
        files.serve(METRICS_FILE, self.metrics_json)
        dispatcher.rewrites.timer = self.rewrite
        dispatcher.extend(
            {
                RequestCode.RECALL_MESSAGE: self.recall,
                RequestCode.GET_TIMER_CHECK_POINT: self.checkpoint,
                RequestCode.GET_TIMER_METRICS: self.metrics,
            }
        )

    def start(self) -> None:
        """Begin; with ``timerWheelEnable`` off, pending messages are left alone, and a report says so.

        Raises:
            CorruptStoreError: Neither a file of the timers nor its backup can be used.
        """
        if not self._limits.is_enabled:
            self._report_waiting()
            return
        if WHEEL_TIMER_TOPIC not in self._state.topics:
            self._state.topics.put(TopicConfig(WHEEL_TIMER_TOPIC, 1, 1))
        self.service.start()

    def _report_waiting(self) -> None:
        try:
            if self.service.has_waiting():
                self._report("timerWheelEnable is off: messages that wait for their time are delivered after it is on again")
        except OSError as error:
            logger.warning("whether timer messages wait is not known: %s", error)

    async def stop(self) -> None:
        """End, with everything on disk."""
        await self.service.stop()

    def metrics_json(self) -> dict[str, Any]:
        """Content of ``timermetrics``: pending messages of each topic, less cancels."""
        work, now_ms = self.service.work, self._state.clock()
        waiting = {} if work is None else work.store.waiting_by_topic
        counts = {topic: waiting.get(java_string_hash(topic), 0) for topic in self._state.topics.all()}
        return {
            "dataVersion": {"counter": 0 if work is None else work.store.writes, "stateVersion": 0, "timestamp": now_ms},
            "timingCount": {topic: {"count": count, "timeStamp": now_ms} for topic, count in counts.items() if count},
        }

    def checkpoint(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """GET_TIMER_CHECK_POINT: the progress of the timer files."""
        work = self.service.work
        if work is None:
            return command.reply(
                ResponseCode.SYSTEM_ERROR, self.service.fault or "timers are not served: set timerWheelEnable=true"
            )
        return command.reply(body=work.store.checkpoint.pack())

    def metrics(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """GET_TIMER_METRICS: pending messages of each topic."""
        return command.reply(body=emit(self.metrics_json()))

    # ---- sends ----

    def rewrite(self, draft: PutDraft) -> PutDraft:
        """The place of a message with a TIMER property. Raises `RequestRefusedError` where its time cannot be kept."""
        if draft.topic == WHEEL_TIMER_TOPIC or OUT_MS in draft.properties:
            return draft
        if self.service.fault:
            raise RequestRefusedError(self.service.fault, code=ResponseCode.SERVICE_NOT_AVAILABLE)
        limits = self._limits.of_accepted if draft.was_accepted else self._limits
        out = slot_for(draft.properties, limits, self._state.clock(), congestion=self._congestion, choose=self._choose)
        if isinstance(out, TimerRefusal):
            raise RequestRefusedError(out.text, code=_CODES[out.fault], put_status=out.fault.value)
        if out is None:
            return draft
        placed = to_internal_queue(draft, WHEEL_TIMER_TOPIC, 0)
        placed.properties[OUT_MS] = str(out)
        return placed

    @property
    def console(self) -> TimerConsole | None:
        """The timers, to read and to act on; None until they are open."""
        work = self.service.work
        if work is None:
            return None
        if self._console is None:
            self._console = TimerConsole(
                work,
                StoreSource(self._state.store, self._state.store.commit_log_max_offset),
                put=self._state.store.put,
                journal=self.journal,
                clock=self._state.clock,
                delay_max_ms=self._limits.delay_max_ms,
                store_host=self._state.store_host,
            )
        return self._console

    def _congestion(self, slot_ms: int) -> int:
        work = self.service.work
        return 0 if work is None else work.store.congestion(slot_ms)

    # ---- recall ----

    def recall(self, peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """RECALL_MESSAGE: store a message that cancels another of the same time."""
        fields = command.ext_fields or {}
        try:
            handle = self._checked(fields.get("topic", ""), fields.get("recallHandle", ""))
            result = self.cancel(handle, born_host=host_of(peer), producer_group=fields.get("producerGroup", ""))
        except RequestRefusedError as refusal:
            return command.reply(refusal.code, refusal.message, {props.MESSAGE_REGION: self._state.config.region_id})
        if result.status is not PutStatus.PUT_OK:
            why = self._state.store.write_refusal or result.status.value
            return command.reply(ResponseCode.SYSTEM_ERROR, f"recall failed, execute error: {why}")
        answer = {"msgId": handle.unique_key, props.MESSAGE_REGION: self._state.config.region_id}
        return command.reply(ext_fields=answer)

    def _checked(self, topic: str, text: str) -> RecallHandle:
        config = self._state.config
        if not config.recall_messages:
            raise RequestRefusedError(
                "recall failed, operation is forbidden: recallMessageEnable is false", code=ResponseCode.NO_PERMISSION
            )
        if not config.permission & PERM_WRITE:
            raise RequestRefusedError("recall failed, broker service not available", code=ResponseCode.SERVICE_NOT_AVAILABLE)
        if self._state.topics.get(topic) is None:
            raise RequestRefusedError(f"recall failed, the topic[{topic}] not exist", code=ResponseCode.TOPIC_NOT_EXIST)
        handle = decode_handle(text)
        if handle is None:
            raise RequestRefusedError("recall handle is invalid", code=ResponseCode.ILLEGAL_OPERATION)
        if handle.topic != topic:
            raise RequestRefusedError("recall failed, topic not match", code=ResponseCode.ILLEGAL_OPERATION)
        if handle.broker_name != config.broker_name:
            remark = f"recall failed, broker service not available: this is {config.broker_name}, not {handle.broker_name}"
            raise RequestRefusedError(remark, code=ResponseCode.ILLEGAL_OPERATION)
        left_ms = handle.deliver_ms - self._state.clock()
        if not 0 < left_ms < self._limits.delay_max_ms:
            remark = f"recall failed, timestamp invalid: {handle.deliver_ms} is {left_ms}ms ahead"
            raise RequestRefusedError(remark, code=ResponseCode.ILLEGAL_OPERATION)
        return handle

    def cancel(self, handle: RecallHandle, *, born_host: HostAddress, producer_group: str) -> PutResult:
        """Store the message that cancels another. Raises `RequestRefusedError` where that is due, or timers are not served."""
        now_ms = self._state.clock()
        properties = {
            props.TAGS: RECALL_TAG,
            DELETE_KEY: f"{handle.topic}+{handle.unique_key}",
            props.UNIQUE_KEY: handle.unique_key,
            DELIVER_MS: str(handle.deliver_ms),
            props.BORN_TIMESTAMP: str(now_ms),
        }
        if producer_group:
            properties[props.PRODUCER_GROUP] = producer_group
        placed = self.rewrite(PutDraft(topic=handle.topic, queue_id=0, properties=properties))
        return self.put(placed, RECALL_BODY, born_host, now_ms)

    def put(self, placed: PutDraft, body: bytes, born_host: HostAddress, born_ms: int) -> PutResult:
        """Store a message at the place of a rewrite."""
        message = MessageToStore(
            placed.topic, placed.queue_id, 0, placed.sys_flag, born_ms, born_host, self._state.store_host, 0, 0, body,
            props.encode_properties(placed.properties),
        )  # fmt: skip
        return put_counted(self._state, message)
