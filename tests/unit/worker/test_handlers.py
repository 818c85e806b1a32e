"""The table by which a worker answers: every question has one handler, or is refused with its reason."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.errors import BugError, ReadOnlyConnectionError, UsageError
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from broker_core.worker.attached.queries import ClusterQueries
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.handlers import Handlers
from broker_core.worker.questions.administration import CreateTopic, ListMembers, Members
from broker_core.worker.questions.lifecycle import Done, Shutdown
from broker_core.worker.questions.question import QUESTIONS
from broker_core.worker.refusals import OF_CLUSTERS, cluster_refusal
from tests.support.engine import Engine

NOBODY = Members([], [], [], [], [], [])


async def stop(_command: Shutdown) -> Done:
    return Done()


async def members(_query: ListMembers) -> Members:
    return NOBODY


async def create(_topic: CreateTopic) -> Done:
    raise AssertionError


def test_a_question_is_answered_by_its_handler():
    table = Handlers([ListMembers.answered_by(members), Shutdown.answered_by(stop)], refusal=cluster_refusal)
    assert asyncio.run(table.answer(ListMembers("g"))) is NOBODY
    assert asyncio.run(table.answer(Shutdown())) == Done()


def test_a_question_without_a_handler_is_refused_with_the_reason():
    with pytest.raises(UsageError, match="not available on an attached cluster: CreateTopic; it is known inside"):
        asyncio.run(Handlers([], refusal=cluster_refusal).answer(CreateTopic("T", 1, 1)))


def test_a_read_only_table_refuses_what_acts_before_its_handler():
    table = Handlers([CreateTopic.answered_by(create)], refusal=cluster_refusal, read_only=True)
    with pytest.raises(ReadOnlyConnectionError, match="CreateTopic"):
        asyncio.run(table.answer(CreateTopic("T", 1, 1)))


def test_a_question_has_one_handler():
    with pytest.raises(BugError, match="Shutdown has two handlers"):
        Handlers([Shutdown.answered_by(stop), Shutdown.answered_by(stop)], refusal=cluster_refusal)


def test_a_worker_with_a_broker_answers_every_question(engine: Engine):
    queries = Queries(engine, console=engine, shut_down=lambda: None)
    queries.close()
    assert set(queries._table._table) == set(QUESTIONS.values())


def test_an_attached_worker_answers_every_question_or_names_the_reason():
    async def known() -> set[type]:
        cluster = AttachedCluster(AttachOptions("127.0.0.1:1"))
        queries = ClusterQueries(cluster.link, cluster.figures, cluster.sampling, shut_down=lambda: None)
        await queries.close()
        await cluster.close()
        return set(queries._table._table)

    missing = set(QUESTIONS.values()) - asyncio.run(known())
    assert {kind.__name__ for kind in missing - set(OF_CLUSTERS)} == {"NoteEvent"}
    assert missing
