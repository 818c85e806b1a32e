"""A message that a person sends in a transaction: half message, and the end that was chosen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.errors import RequestRefusedError, StoreError, UsageError
from broker_core.protocol.names import HALF_TOPIC
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.questions.administration import CreateTopic
from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage, SendMessage, SendReceipt
from broker_core.worker.questions.transactions import ListTransactions, TransactionPage
from broker_core.worker.transactions import CONSOLE_GROUP, half_of
from tests.support.broker_bench import SMALL_FILES
from tests.support.embedded import started


@asynccontextmanager
async def shop(tmp_path: Path) -> AsyncIterator[tuple[EmbeddedBroker, Queries]]:
    store = StoreConfig(root=tmp_path / "store", **SMALL_FILES)
    async with started(BrokerConfig(listen_port=0, name_server_port=0, store=store)) as broker:
        queries = Queries(broker, console=broker, shut_down=lambda: None)
        try:
            await queries.answer(CreateTopic("orders", 1, 1))
            yield broker, queries
        finally:
            queries.close()


def test_commit_rollback_and_neither(tmp_path):
    async def scenario() -> tuple[list[bytes], TransactionPage]:
        async with shop(tmp_path) as (_broker, queries):
            for end in ("commit", "rollback", "unknown", ""):
                receipt = await queries.answer(SendMessage("orders", 0, end.encode() or b"plain", {"TAGS": "t"}, 0, end))
                assert isinstance(receipt, SendReceipt)
            page = await queries.answer(BrowseQueue("orders", 0, 0, 10))
            undecided = await queries.answer(ListTransactions(0, 10))
        assert isinstance(page, MessagePage)
        assert isinstance(undecided, TransactionPage)
        return page.body_start, undecided

    bodies, undecided = asyncio.run(scenario())
    assert bodies == [b"commit", b"plain"]
    assert (undecided.total, undecided.group) == (1, [CONSOLE_GROUP])


def test_an_end_that_fails_says_that_the_half_message_is_stored(tmp_path, monkeypatch):
    async def refuse(*_arguments: object, **_details: object) -> None:
        raise StoreError("the journal cannot be written")

    async def scenario() -> None:
        async with shop(tmp_path) as (broker, queries):
            with monkeypatch.context() as patch:
                patch.setattr(broker.journal, "record", refuse)
                with pytest.raises(
                    RequestRefusedError, match=r"as transaction 0 and is undecided, as its commit failed: the jou"
                ):
                    await queries.answer(SendMessage("orders", 0, b"x", {}, 0, "commit"))
            undecided = await queries.answer(ListTransactions(0, 10))
            assert isinstance(undecided, TransactionPage)
            assert undecided.half_offset == [0]

    asyncio.run(scenario())


def test_while_it_is_not_known_what_is_undecided_nothing_is_stored(tmp_path, monkeypatch):
    async def scenario() -> None:
        async with shop(tmp_path) as (broker, queries):
            with monkeypatch.context() as patch:
                patch.setattr(broker.transactions.engine, "is_loaded", False)
                with pytest.raises(RequestRefusedError, match="try again in a moment"):
                    await queries.answer(SendMessage("orders", 0, b"x", {}, 0, "commit"))
            assert broker.store.stored_max_offset(HALF_TOPIC, 0) == 0

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("message", "refusal"),
    [
        (SendMessage("t", 0, b"x", {}, 0, "perhaps"), "ends with commit, rollback or unknown"),
        (SendMessage("t", 0, b"x", {"DELAY": "3"}, 0, "commit"), "cannot be delayed as well: leave out DELAY"),
    ],
)
def test_what_is_no_transaction_is_refused(message, refusal):
    with pytest.raises(UsageError, match=refusal):
        half_of(message)
