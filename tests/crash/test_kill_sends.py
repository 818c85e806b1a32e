"""Kills of a broker under a load of plain sends: what it answered is there, whoever stored it, machine code or Python."""

from __future__ import annotations

import random
import socket
import threading
from pathlib import Path

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.codes import ResponseCode, SerializeType
from broker_core.protocol.frame import FrameDecoder
from broker_core.protocol.message.record import check_record, decode_record
from tests.support.broker_process import running_broker
from tests.support.machine_code import library
from tests.support.store_check import check_closed_store
from tests.unit.engine.processors.test_plain_sends import frame_of

SMALL = ("--set", "mappedFileSizeCommitLog=1048576", "--set", "maxHashSlotNum=1000", "--set", "maxIndexNum=4000")
KILLS = 4
IN_FLIGHT = 32

pytestmark = [pytest.mark.usefixtures("both_platforms"), pytest.mark.crash, pytest.mark.timeout(300)]


class Producer(threading.Thread):
    """Sends until its connection ends; notes what was answered: physical offset → queue, queue offset, body."""

    def __init__(self, address: str, kind: SerializeType, seed: int) -> None:
        super().__init__(daemon=True)
        self.answered: dict[int, tuple[str, str, bytes]] = {}
        self.faults: list[str] = []
        self.has_some = threading.Event()
        self._kind, self._randomness = kind, random.Random(seed)
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), 30)

    def run(self) -> None:
        decoder, sent = FrameDecoder(), {}
        with self._socket as connection:
            for opaque in range(IN_FLIGHT):
                self._send(connection, opaque, sent)
            try:
                while data := connection.recv(1 << 16):
                    for answer in decoder.feed(data):
                        if answer.code != ResponseCode.SUCCESS:
                            self.faults.append(f"{answer.code}: {answer.remark}")
                        fields = answer.ext_fields
                        facts = fields["queueId"], fields["queueOffset"], sent.pop(answer.opaque)
                        self.answered[int(fields["msgId"][16:], 16)] = facts
                        self._send(connection, answer.opaque + IN_FLIGHT, sent)
                    if len(self.answered) > 2_000:
                        self.has_some.set()
            except OSError:
                return

    def _send(self, connection: socket.socket, opaque: int, sent: dict[int, bytes]) -> None:
        sent[opaque] = self._randomness.randbytes(self._randomness.randrange(1, 300))
        frame = frame_of(body=sent[opaque], opaque=opaque, e=str(self._randomness.randrange(4)), serialize_type=self._kind)
        connection.sendall(frame)


@pytest.mark.parametrize("native", ["on", "off"])
def test_what_was_answered_is_there_after_a_kill(tmp_path: Path, native: str) -> None:
    library()
    store = tmp_path / "store"
    answered: dict[int, tuple[str, str, bytes]] = {}
    for kill in range(KILLS):
        with running_broker(store, "--set", f"orbitNative={native}", *SMALL) as broker:
            kinds = (SerializeType.ROCKETMQ, SerializeType.JSON)
            producers = [Producer(broker.broker, kind, 10 * kill + number) for number, kind in enumerate(kinds)]
            for producer in producers:
                producer.start()
            for producer in producers:
                assert producer.has_some.wait(60)
            broker.kill()
        for producer in producers:
            producer.join(60)
            assert not producer.faults
            assert not answered.keys() & producer.answered.keys()
            answered |= producer.answered
    with MessageStore.open(StoreConfig(root=store)) as opened:
        for offset, (queue_id, queue_offset, body) in answered.items():
            record = opened.record_at(offset)
            assert record is not None
            head = check_record(record, 0, len(record), check_crc=True).head
            assert (str(head.queue_id), str(head.queue_offset), decode_record(record).body) == (queue_id, queue_offset, body)
    assert check_closed_store(store) >= len(answered) > 2_000 * 2 * KILLS
