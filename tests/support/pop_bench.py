"""Pops by hand: a broker without sockets, and a consumer that keeps the handles it is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.receipt_handle import ReceiptHandle, parse_handle
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import SMALL_FILES, BrokerBench, RecordingPeer, bench_state
from tests.support.clock import ManualClock


@dataclass(frozen=True, slots=True)
class Popped:
    """A message as a consumer sees it."""

    message: StoredMessage
    handle: ReceiptHandle

    @property
    def body(self) -> bytes:
        return self.message.body


class PopBench(BrokerBench):
    """A bench with the requests of a POP consumer."""

    def __init__(self, config: BrokerConfig, store: MessageStore, clock: ManualClock) -> None:
        super().__init__(bench_state(config, store, clock), clock)
        self.peer = RecordingPeer()

    def pop(self, **more: object) -> list[Popped]:
        """Pop at once; nothing is held."""
        response = self.answer(self.peer, RequestCode.POP_MESSAGE, pop_fields(self.clock(), **more))
        assert response.code in (ResponseCode.SUCCESS, ResponseCode.POLLING_TIMEOUT), response.remark
        return popped(response, str(more.get("topic", "T")))

    def ack(self, message: Popped, *, group: str = "CG", topic: str = "T") -> RemotingCommand:
        """Ack one message."""
        return self.answer(self.peer, RequestCode.ACK_MESSAGE, handle_fields(message, group, topic))

    def postpone(self, message: Popped, invisible_ms: int, *, group: str = "CG", topic: str = "T") -> RemotingCommand:
        """Change the invisible time of one message."""
        fields = handle_fields(message, group, topic) | {"invisibleTime": invisible_ms}
        return self.answer(self.peer, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, fields)

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass, and let the broker see it."""
        self.clock.advance(milliseconds)
        self.dispatcher.pop.tick()

    def bodies(self, **more: object) -> list[bytes]:
        """Bodies of one pop."""
        return [message.body for message in self.pop(**more)]


def pop_fields(now_ms: int, **more: object) -> dict[str, object]:
    """Header of POP_MESSAGE: everything of topic T, at once, oldest first."""
    fields: dict[str, object] = {
        "consumerGroup": "CG", "topic": "T", "queueId": -1, "maxMsgNums": 32, "invisibleTime": 10_000, "pollTime": 0,
        "bornTime": now_ms, "initMode": 0, "exp": "*", "expType": "TAG", "order": "false",
    }  # fmt: skip
    return fields | more


def handle_fields(message: Popped, group: str, topic: str) -> dict[str, object]:
    """Header of an ack, as a client makes it."""
    handle = message.handle
    retry = {"0": topic, "1": f"%RETRY%{group}_{topic}", "2": f"%RETRY%{group}+{topic}"}[handle.flag]
    return {
        "consumerGroup": group, "topic": retry, "queueId": handle.queue_id, "offset": handle.offset, "extraInfo": str(handle),
    }  # fmt: skip


def popped(response: RemotingCommand, topic: str) -> list[Popped]:
    """Messages of a pop's answer with the handles that a client makes of it."""
    fields = response.ext_fields
    starts = {}
    for item in filter(None, fields["startOffsetInfo"].split(";")):
        flag, queue_id, offset = item.split(" ")
        starts[flag, int(queue_id)] = int(offset)
    found = []
    for record in response.body_slices:
        message = decode_record(record)
        given = message.properties.get("POP_CK")
        assert message.topic == topic
        if given is not None:
            found.append(Popped(message, parse_handle(given)))
            continue
        handle = ReceiptHandle(
            starts["0", message.queue_id],
            int(fields["popTime"]),
            int(fields["invisibleTime"]),
            int(fields["reviveQid"]),
            "0",
            "broker-a",
            message.queue_id,
            message.queue_offset,
        )
        found.append(Popped(message, handle))
    return found


@contextmanager
def pop_bench(root: Path, clock: ManualClock | None = None, **settings: object) -> Iterator[PopBench]:
    """A bench with topic T of two queues; on a store that is there already, it begins as a broker that was killed does."""
    time = clock or ManualClock()
    store_config = StoreConfig(root=root, **SMALL_FILES)
    config = replace(BrokerConfig(store=store_config), **settings)  # type: ignore[arg-type]  # checked by dataclass at run time
    with MessageStore.open(store_config, clock=time) as store:
        bench = PopBench(config, store, time)
        bench.state.topics.put(TopicConfig("T", 2, 2))
        bench.dispatcher.pop.load()
        yield bench


def restart(bench: PopBench, offsets: dict[str, object] | None = None, *, groups_ms: int = -1) -> PopBench:
    """The broker over the same store after a kill: memory is lost, the log is not.

    Args:
        bench: The one that was killed.
        offsets: Content of ``consumerOffset.json``; by default as it would be written now.
        groups_ms: When the file of the groups was written, which has those of the killed broker; -1: never.
    """
    state = bench.state
    kept = bench.dispatcher.pop.outstanding.offsets_to_write(state.offsets) if offsets is None else offsets
    again = PopBench(state.config, state.store, bench.clock)
    again.state.offsets.load(kept)
    for topic in state.topics.all().values():
        again.state.topics.put(topic)
    for group in state.groups.all().values():
        again.state.groups.put(group)
    again.dispatcher.pop.load(groups_ms=groups_ms)
    return again
