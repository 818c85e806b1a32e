"""A start with many undecided transactions: in slices, and right about what producers and persons do meanwhile."""

import asyncio
import gc
from contextlib import asynccontextmanager

import pytest

from broker_core.engine.processors import queued_decisions, transaction_service
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.errors import RequestRefusedError, StoreError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import HALF_TOPIC
from tests.support.broker_bench import RecordingPeer, broker_bench, send_fields
from tests.support.remoting_peer import eventually
from tests.support.transaction_bench import COMMIT, ROLLBACK, UNKNOWN, transaction_bench

COUNT = 200


@pytest.fixture
def halves(tmp_path):
    """Half messages of a broker that has stopped; every tenth is rolled back."""
    with transaction_bench(tmp_path / "store") as bench:
        made = [bench.send(b"%d" % number) for number in range(COUNT)]
        for half in made[::10]:
            assert bench.code(half, ROLLBACK) == R.SUCCESS
    return made


@asynccontextmanager
async def starting(root, monkeypatch):
    """A broker whose transactions have taken in a slice of the queues, and go on when the loop gets its turn."""
    monkeypatch.setattr(transaction_service, "SLICES_AT_ONCE", 1)
    with broker_bench(root / "store", transaction_check_interval_ms=3_600_000) as bench:
        journal = ActionJournal(bench.state.config.store.root / "config", clock=bench.clock)
        service = transaction_service.TransactionService(bench.state, bench.dispatcher, journal, None)
        service.start()
        assert not service.engine.is_loaded
        yield bench, service
        await service.stop()


def end(bench, half, decision, peer, code=Q.END_TRANSACTION):
    fields = {
        "producerGroup": "PG", "tranStateTableOffset": half.half_offset, "commitLogOffset": half.physical_offset,
        "commitOrRollback": decision, "fromTransactionCheck": "false",
    }  # fmt: skip
    return bench.ask(peer, code, fields)


def bodies(bench):
    found = bench.state.store.get_messages("T", 1, 0, 32)
    return [bytes(decode_record(record).body) for record in found.records]


def test_it_takes_in_a_few_records_at_a_time_and_all_of_them(tmp_path, halves):
    with transaction_bench(tmp_path / "store") as bench:
        before = list(bench.engine.ledger)
        slices, seen = 0, 0
        for _slice in bench.engine.loading(-1, -1):
            now = len(bench.engine.ledger)
            assert now - seen <= 32
            assert bench.engine.unread >= 0
            slices, seen = slices + 1, now
        assert slices >= COUNT // 32
        assert [half.origin for half in bench.engine.ledger] == [half.origin for half in before]
        assert len(before) == COUNT - COUNT // 10
        assert (bench.engine.ledger.half_progress, bench.engine.ledger.op_progress) == (1, 1)


def test_what_producers_decide_meanwhile_is_carried_out_once_it_is_known(tmp_path, halves, monkeypatch):
    async def run():
        peer = RecordingPeer()
        async with starting(tmp_path, monkeypatch) as (bench, service):
            assert end(bench, halves[199], COMMIT, peer) is None
            assert end(bench, halves[190], COMMIT, peer) is None
            assert end(bench, halves[191], ROLLBACK, peer) is None
            assert end(bench, halves[192], UNKNOWN, peer) is None
            new = bench.answer(peer, Q.SEND_MESSAGE_V2, half_fields(), b"new")
            assert (bodies(bench), peer.sent) == ([], [])
            await eventually(lambda: service.engine.is_loaded and len(peer.sent) == 3)
            # 190 was rolled back before the stop: its late commit delivers nothing.
            late = "the transaction is rolled back already, it cannot be committed"
            assert [answer.remark for answer in peer.sent] == [None, late, None]
            assert bodies(bench) == [b"199"]
            ledger = service.engine.ledger
            assert len(ledger) == COUNT - COUNT // 10 - 2 + 1
            assert ledger.find(int(new.ext_fields["queueOffset"])) is not None
            assert ledger.find(192) is not None
            answer = end(bench, halves[193], COMMIT, peer)
            assert answer is not None
            assert answer.code == R.SUCCESS

    asyncio.run(run())


def half_fields():
    return send_fields("T", 1, properties="TRAN_MSG\x01true\x02PGROUP\x01PG\x02UNIQ_KEY\x01new", sys_flag=4)


def test_too_many_decisions_meanwhile_are_refused_and_asked_for_later(tmp_path, halves, monkeypatch):
    monkeypatch.setattr(queued_decisions, "ENDS_MAX", 2)

    async def run():
        peer = RecordingPeer()
        async with starting(tmp_path, monkeypatch) as (bench, service):
            answers = [end(bench, halves[number], COMMIT, peer) for number in (1, 2, 3)]
            assert answers[:2] == [None, None]
            assert answers[2].code == R.SYSTEM_BUSY
            await eventually(lambda: len(peer.sent) == 2)
            assert service.engine.ledger.find(3) is not None

    asyncio.run(run())


def test_a_person_is_told_to_wait(tmp_path, halves, monkeypatch):
    async def run():
        async with starting(tmp_path, monkeypatch) as (bench, service):
            resume = bench.answer(RecordingPeer(), Q.RESUME_CHECK_HALF_MESSAGE, {"msgId": "7F00000100002A9F0000000000000000"})
            assert resume.code == R.SYSTEM_BUSY
            for act in (service.actions.end(199, commit=True), service.actions.check(199), service.actions.resume(0)):
                with pytest.raises(RequestRefusedError, match="records of half and op queue are left"):
                    await act
            await eventually(lambda: service.engine.is_loaded)
            await service.actions.end(199, commit=True)
            assert bodies(bench) == [b"199"]

    asyncio.run(run())


def test_a_stop_meanwhile_loses_nothing_and_tells_no_progress(tmp_path, halves, monkeypatch):
    async def run():
        async with starting(tmp_path, monkeypatch) as (bench, _service):
            assert end(bench, halves[199], COMMIT, RecordingPeer()) is None
        assert bench.state.offsets.get("CID_RMQ_SYS_TRANS", HALF_TOPIC, 0) == -1

    was_enabled = gc.isenabled()
    asyncio.run(run())
    assert gc.isenabled() == was_enabled
    with transaction_bench(tmp_path / "store") as bench:
        assert len(bench.engine.ledger) == COUNT - COUNT // 10


def test_a_store_that_cannot_be_read_for_a_moment_is_read_again(tmp_path, halves, monkeypatch):
    monkeypatch.setattr(transaction_service, "TICK_MS", 10)

    async def run():
        async with starting(tmp_path, monkeypatch) as (bench, service):
            read, failed = bench.state.store.get_messages, []

            def once(*arguments):
                if arguments[0] == HALF_TOPIC and not failed:
                    failed.append(arguments)
                    raise StoreError("the disk does not answer")
                return read(*arguments)

            monkeypatch.setattr(bench.state.store, "get_messages", once)
            assert end(bench, halves[199], COMMIT, RecordingPeer()) is None
            await eventually(lambda: bodies(bench) == [b"199"])
            assert failed
            assert len(service.engine.ledger) == COUNT - COUNT // 10 - 1

    asyncio.run(run())
