"""Transactional producers of Java and Go against our broker: commit, rollback, unknown and checked, dead and answered for."""

import asyncio
import os

import pytest

from broker_core.worker.questions.transactions import ListTransactions
from tests.support.foreign_transactions import ForeignProducer, delivered, expected, transaction_worker
from tests.support.remoting_peer import eventually_answers
from tests.support.toolchains import go_module, go_program, java_class_path, java_command

COUNT = 200
ORPHANS = 20
CLIENTS = [
    pytest.param("java 4.9.4 JSON", marks=pytest.mark.clients),
    pytest.param("java 5.3.3 ROCKETMQ", marks=pytest.mark.clients),
    pytest.param("go", marks=pytest.mark.clients),
]
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module", params=CLIENTS)
def client(request, tmp_path_factory):
    """Start of a command, and its environment."""
    folder = tmp_path_factory.mktemp("client")
    language, *details = request.param.split()
    if language == "go":
        return [str(go_program(go_module(folder), "go_transactions.go"))], {**os.environ, "HOME": str(folder)}
    version, serialize = details
    start, environment = java_command(java_class_path(folder, version, "JavaTransactions.java"), folder, serialize=serialize)
    return [*start, "JavaTransactions"], environment


def wait_until_decided(driver):
    async def is_decided():
        return (await asyncio.to_thread(driver.ask, ListTransactions(0, 1))).total == 0

    asyncio.run(eventually_answers(is_decided, seconds=90))


def start(client, driver, job, count):
    command, environment = client
    name_server = driver.wait_ready().name_server
    return ForeignProducer([*command, job, name_server, "Shop", "shop-tx", str(count)], environment)


def test_two_hundred_of_all_kinds_are_delivered_once_or_not_at_all(tmp_path, client):
    with transaction_worker(tmp_path / "store") as driver:
        producer = start(client, driver, "send", COUNT)
        producer.wait_for("ready")
        wait_until_decided(driver)
        producer.end()
    assert sum(line.startswith("sent ") for line in producer.seen) == COUNT
    assert delivered(tmp_path / "store", "Shop") == dict.fromkeys(expected(COUNT), 1)


def test_another_instance_answers_for_a_producer_that_died(tmp_path, client):
    with transaction_worker(tmp_path / "store") as driver:
        dying = start(client, driver, "orphan", ORPHANS)
        dying.wait_for("")
        dying.end()
        assert driver.ask(ListTransactions(0, 100)).total == ORPHANS
        answering = start(client, driver, "answer", 0)
        answering.wait_for("ready")
        wait_until_decided(driver)
        answering.end()
    found = delivered(tmp_path / "store", "Shop")
    found.pop("plain", None)
    assert found == dict.fromkeys(expected(ORPHANS, orphan=True), 1)
