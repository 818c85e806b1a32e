"""Searches that look at much run in processes of their own: same hits, nothing left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import psutil
import pytest

from broker_core.errors import FilterError, WorkerLostError
from broker_core.platform import machine
from broker_core.protocol.retry_names import KnownNames
from broker_core.tools.search.plan import Plan
from broker_core.tools.search.queues import QueueSpan
from broker_core.worker import searches as searches_module
from broker_core.worker.channel.codec import decode_worker_message
from broker_core.worker.channel.framing import FrameReader, frame
from broker_core.worker.channel.schema import Failure, Reply
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.questions.searches import ContinueSearch, EndSearch, SearchHits, StartSearch
from broker_core.worker.search_process import COMMAND, NICENESS, SearchOrder, run_search_process
from tests.support.engine import Engine
from tests.support.waiting import wait_until


@pytest.fixture
def queries(engine: Engine) -> Iterator[Queries]:
    for number in range(600):
        engine.put("orders", number % 3, b"body %d" % number, TAGS="even" if number % 2 == 0 else "odd")
    made = Queries(engine, console=None, shut_down=lambda: None)
    yield made
    made.close()


def ask(queries: Queries, query: StartSearch | ContinueSearch | EndSearch):
    return asyncio.run(queries.answer(query))


def processes() -> list[psutil.Process]:
    """The processes that search for this one, the oldest first."""
    return sorted(filter(searches, psutil.Process().children()), key=lambda one: one.create_time())


def begun(count: int) -> list[psutil.Process]:
    """The same, when there are so many: one that was started a moment ago still has the name of this process."""
    wait_until(lambda: len(processes()) == count)
    return processes()


def searches(child: psutil.Process) -> bool:
    try:
        return COMMAND in child.cmdline()
    except psutil.ZombieProcess:  # it is left until it is waited for
        return True
    except psutil.NoSuchProcess:
        return False


def found_by(queries: Queries, text: str, limit: int = -1) -> tuple[list[tuple[int, bytes]], SearchHits]:
    started = ask(queries, StartSearch(text, limit))
    hits, last = [], None
    while last is None or not last.is_over:
        last = ask(queries, ContinueSearch(started.search_id))
        assert last.search_id == started.search_id
        hits += list(zip(last.physical_offset, last.body_start, strict=True))
    return hits, last


@pytest.mark.parametrize(("text", "limit"), [('body contains "7"', -1), ('topic = "orders" and queue = 1 and tag = "odd"', 20)])
def test_a_process_finds_what_a_thread_finds(queries: Queries, monkeypatch, text, limit):
    by_thread, last_of_thread = found_by(queries, text, limit)
    monkeypatch.setattr(searches_module, "BESIDE_FROM_MESSAGES", 0)
    by_process, last = found_by(queries, text, limit)
    assert by_process == by_thread
    assert by_thread
    assert (last.scanned, last.found, last.reasons) == (last_of_thread.scanned, last_of_thread.found, last_of_thread.reasons)
    wait_until(lambda: not processes())


def test_one_that_is_given_up_or_killed_leaves_nothing(queries: Queries, monkeypatch):
    monkeypatch.setattr(searches_module, "BESIDE_FROM_MESSAGES", 0)
    found_by(queries, 'body contains "7"')
    wait_until(lambda: not processes())
    opened = psutil.Process().num_fds()
    first, second = (ask(queries, StartSearch('body contains "7"')) for _ in range(2))
    given_up, killed = begun(2)
    ask(queries, EndSearch(first.search_id))
    wait_until(lambda: not given_up.is_running())
    killed.kill()
    with pytest.raises(WorkerLostError, match="start the search again"):
        ask(queries, ContinueSearch(second.search_id))
    wait_until(lambda: not processes() and psutil.Process().num_fds() <= opened)  # earlier tests' may close meanwhile


def test_the_end_of_the_worker_ends_it(queries: Queries, monkeypatch):
    monkeypatch.setattr(searches_module, "BESIDE_FROM_MESSAGES", 0)
    ask(queries, StartSearch('body contains "7"'))
    (process,) = begun(1)
    queries.close()
    assert not process.is_running()


def test_few_messages_and_places_of_the_index_need_no_process(queries: Queries):
    ask(queries, StartSearch('body contains "7"'))
    assert not processes()


# ---- the process itself, without one ----


@pytest.fixture
def spoken(tmp_path):
    """Lets the process's end read some frames and gives what it answers."""

    def speak(*frames: bytes) -> tuple[int, list[object]]:
        given, taken = tmp_path / "given", tmp_path / "taken"
        given.write_bytes(b"".join(frames))
        with given.open("rb") as source, taken.open("wb") as target:
            code = run_search_process(source.fileno(), target.fileno())
        return code, [decode_worker_message(payload) for payload in FrameReader().feed(taken.read_bytes())]

    return speak


def order(root, text: str = 'body contains "7"') -> SearchOrder:
    plan = Plan(("all",), 5, (1, 2), (QueueSpan("orders", 0, 0, 5),), ((0, 100),))
    known = KnownNames(frozenset({"g", "g_a"}), frozenset({"t"}))
    return SearchOrder(root, text, 1, None, plan, True, known)


def test_an_order_survives_the_pipe(tmp_path):
    asked = order(tmp_path)
    (payload,) = FrameReader().feed(asked.packed())
    assert SearchOrder.unpacked(payload) == asked


def test_it_ends_with_its_input_and_does_nothing_unasked(spoken, engine: Engine, monkeypatch):
    monkeypatch.setattr(os, "nice", lambda _by: 0)
    engine.put("orders", 0, b"7")
    assert spoken() == (0, [])
    assert spoken(order(engine.store.config.root).packed()) == (0, [])


def test_what_cannot_be_searched_is_told(spoken, engine: Engine):
    code, (failure,) = spoken(order(engine.store.config.root, "body ~").packed(), frame(b"\x01"))
    assert isinstance(failure, Failure)
    assert (code, failure.kind) == (FilterError.exit_code, "FilterError")


def test_a_turn_is_answered_with_hits(spoken, engine: Engine, monkeypatch):
    nicer = []
    monkeypatch.setattr(machine, "lower_priority", nicer.append)
    place = engine.put("orders", 0, b"7")
    plan = Plan(("one",), 1, (place,))
    asked = SearchOrder(engine.store.config.root, 'body contains "7"', 1, None, plan, body_starts=True)
    code, (reply,) = spoken(asked.packed(), frame(b"\x01"))
    assert isinstance(reply, Reply)
    assert (code, reply.body.physical_offset, reply.body.is_over) == (0, [place], True)
    assert nicer == [NICENESS]
