"""Transactions without sockets: the broker bench with its transaction service, producers that record, a clock that is moved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from broker_core.engine.processors.transaction_service import TransactionService
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.clients import Client
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.message_id import offset_message_id, parse_offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import CHECK_GROUP, DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from tests.support.broker_bench import BrokerBench, RecordingPeer, broker_bench, send_fields

COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
INTERVAL_MS = 60_000


@dataclass(frozen=True, slots=True)
class Half:
    """Where a half message is, as its producer knows it."""

    half_offset: int
    physical_offset: int


class TransactionBench:
    """A broker bench with transactions."""

    def __init__(self, bench: BrokerBench) -> None:
        self.bench = bench
        self.clock = bench.clock
        self.state = bench.state
        journal = ActionJournal(bench.state.config.store.root / "config", clock=bench.clock)
        self.service = TransactionService(bench.state, bench.dispatcher, journal, None)
        self.engine = self.service.engine
        self.engine.load(*self.progress())

    def progress(self) -> tuple[int, int]:
        """Half and op progress as told, -1 where none is."""
        offsets = self.state.offsets
        return offsets.get(CHECK_GROUP, HALF_TOPIC, 0), offsets.get(CHECK_GROUP, OP_TOPIC, 0)

    def join(self, group: str = "PG", name: str = "client") -> RecordingPeer:
        """Connect a producer."""
        peer = RecordingPeer()
        self.state.producers.register(peer, Client(name, peer.remote_address, "JAVA", 1, self.clock()), group)
        return peer

    def send(
        self,
        body: bytes = b"hello",
        *,
        topic: str = "T",
        queue_id: int = 1,
        more: str = "",
        born_ms: int = -1,
        keyed: bool = True,
    ) -> Half:
        """Send a half message, born now; its body is its unique key too."""
        key = f"\x02UNIQ_KEY\x01{body.decode()}" if keyed else ""
        properties = f"TRAN_MSG\x01true\x02PGROUP\x01PG{key}\x02{more}".removesuffix("\x02")
        fields = send_fields(topic, queue_id, properties=properties, sys_flag=4)
        fields["g"] = self.clock() if born_ms < 0 else born_ms
        answer = self.bench.answer(RecordingPeer(), RequestCode.SEND_MESSAGE_V2, fields, body)
        assert answer.code == 0, answer.remark
        _host, offset = parse_offset_message_id(answer.ext_fields["msgId"])
        return Half(int(answer.ext_fields["queueOffset"]), offset)

    def end(
        self, half: Half, decision: int, *, from_check: bool = False, group: str = "PG", message_id: str = ""
    ) -> RemotingCommand | None:
        """End a transaction as its producer does, but waiting for the answer."""
        fields = {
            "producerGroup": group,
            "tranStateTableOffset": half.half_offset,
            "commitLogOffset": half.physical_offset,
            "commitOrRollback": decision,
            "fromTransactionCheck": str(from_check).lower(),
            "msgId": message_id,
        }
        return self.bench.ask(RecordingPeer(), RequestCode.END_TRANSACTION, fields)

    def code(self, half: Half, decision: int, *, from_check: bool = False, group: str = "PG", message_id: str = "") -> int:
        """Response code of an end."""
        answer = self.end(half, decision, from_check=from_check, group=group, message_id=message_id)
        assert answer is not None
        return answer.code

    def restart(self, *, kill: bool = False) -> None:
        """Take in the queues again as a start does: from the progress of a clean stop, or all of them."""
        ledger = self.engine.ledger
        self.engine.load(*((-1, -1) if kill else (ledger.half_progress, ledger.op_progress)))

    def resume(self, physical_offset: int) -> int:
        """Response code of RESUME_CHECK_HALF_MESSAGE."""
        message_id = offset_message_id(self.state.store_host, physical_offset)
        return self.bench.answer(RecordingPeer(), RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": message_id}).code

    def round(self) -> None:
        """Run one whole round of checks."""
        for _slice in self.engine.check_round():
            pass

    def rounds(self, count: int) -> None:
        """Let time pass from round to round."""
        for _ in range(count):
            self.clock.advance(INTERVAL_MS)
            self.round()

    def messages(self, topic: str, queue_id: int = 0) -> list[StoredMessage]:
        """Everything in a queue."""
        store = self.state.store
        found: list[StoredMessage] = []
        offset = store.min_offset(topic, queue_id)
        while offset < store.max_offset(topic, queue_id):
            result = store.get_messages(topic, queue_id, offset, 32)
            found += [decode_record(record) for record in result.records]
            offset = result.next_offset
        return found

    def bodies(self, topic: str = "T", queue_id: int = 1) -> list[bytes]:
        """Bodies of everything in a queue."""
        return [message.body for message in self.messages(topic, queue_id)]

    def ops(self) -> list[bytes]:
        """Bodies of all op records."""
        return self.bodies(OP_TOPIC, 0)

    def discarded(self) -> list[bytes]:
        """Bodies of what was given up."""
        return self.bodies(DISCARD_TOPIC, 0)

    def halves(self) -> list[StoredMessage]:
        """The half queue."""
        return self.messages(HALF_TOPIC)


def asked(command: RemotingCommand) -> Half:
    """The place that a CHECK_TRANSACTION_STATE names."""
    assert command.code == RequestCode.CHECK_TRANSACTION_STATE
    return Half(int(command.ext_fields["tranStateTableOffset"]), int(command.ext_fields["commitLogOffset"]))


@contextmanager
def transaction_bench(root: Path, **settings: object) -> Iterator[TransactionBench]:
    """A bench over a new store, or one that is there."""
    with broker_bench(root, **settings) as bench:
        yield TransactionBench(bench)
