"""Timers over the worker's queries: figures, forecast, pages, actions."""

import asyncio

import pytest

from broker_core.engine.schedule.timer.console import TimerConsole
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.errors import BugError, UsageError
from broker_core.worker.embedded.timer_views import timer_figures, timer_handlers
from broker_core.worker.handlers import Handlers
from broker_core.worker.questions.delays import ActOnTimers, ForecastTimers, ListTimers
from broker_core.worker.refusals import cluster_refusal
from tests.support.store_bench import HOST
from tests.support.timer_bench import TimerBench

HOUR = 3_600_000


class Journal:
    async def record(self, action, subject, **details):
        """Nothing is asked about it here."""


class Engine:
    def __init__(self, bench):
        self.store = bench.store
        self.timers = TimerConsole(
            bench.work,
            StoreSource(bench.store, bench.store.commit_log_max_offset),
            put=bench.store.put,
            journal=Journal(),
            clock=bench.clock,
            delay_max_ms=100 * HOUR,
            store_host=HOST,
        )


@pytest.fixture
def bench(tmp_path):
    made = TimerBench(tmp_path / "store").open()
    for number in range(5):
        made.send(f"k{number}", made.clock() + (number + 1) * HOUR)
    made.turns()
    yield made
    made.store.close()


def asking(engine):
    async def on_the_loop(work):
        return work()

    table = Handlers(timer_handlers(lambda: engine.timers, on_the_loop), refusal=cluster_refusal)
    return lambda query: asyncio.run(table.answer(query))


@pytest.fixture
def ask(bench):
    return asking(Engine(bench))


def test_figures_are_those_of_the_console_and_none_without_timers(bench):
    figures = timer_figures(Engine(bench).timers)
    assert (figures["pending"], figures["next_due_ms"], figures["lost"]) == (5, bench.clock() + HOUR, 0)
    assert timer_figures(None) == {}


def test_the_forecast_is_answered(bench, ask):
    answer = ask(ForecastTimers())
    assert (answer.taken_ms, sum(answer.hours), sum(answer.days)) == (bench.clock(), 5, 5)


def test_pages_lead_to_the_next(ask):
    first = ask(ListTimers(0, -1, 3))
    assert first.unique_key == ["k0", "k1", "k2"]
    assert set(first.topic) == {"Later"}
    last = ask(ListTimers(first.next_slot_ms, first.next_position, 3))
    assert (last.unique_key, last.next_slot_ms, last.next_position) == (["k3", "k4"], -1, -1)
    assert ask(ListTimers(0, -1, 3, topic="Other")).unique_key == []


def test_an_action_takes_what_a_page_has_named(bench, ask):
    page = ask(ListTimers(0, -1, 2))
    acted = ask(ActOnTimers("cancel", page.slot_ms, page.position))
    assert (acted.done, acted.gone) == (2, [])
    again = ask(ActOnTimers("deliver", [page.slot_ms[0]], [page.position[0] + 52_000]))
    assert (again.done, again.gone) == (0, [page.slot_ms[0]])
    bench.pass_time(10 * HOUR)
    assert bench.delivered() == ["k2", "k3", "k4"]


def test_lists_that_do_not_fit_are_a_fault_of_the_program(ask):
    with pytest.raises(BugError, match="1 slots came with 2 positions"):
        ask(ActOnTimers("cancel", [1], [1, 2]))


def test_a_broker_without_timers_says_so(bench):
    engine = Engine(bench)
    engine.timers = None
    with pytest.raises(UsageError, match="no timer messages"):
        asking(engine)(ForecastTimers())
