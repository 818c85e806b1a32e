"""The window's view of timers: figures for snapshots, pages, actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker_core.engine.schedule.timer.console import PendingTimer, TimerConsole, TimerPage, TimerPlace
from broker_core.engine.schedule.timer.messages import TimerSummary
from broker_core.errors import BugError
from broker_core.worker.columns import columns_of
from broker_core.worker.handlers import Run, served
from broker_core.worker.questions.delays import (
    ActOnTimers,
    ForecastTimers,
    ListTimers,
    PendingTimers,
    TimerForecast,
    TimersActed,
)
from broker_core.worker.questions.question import Handler

_SUMMARY_COLUMNS = ("due_ms", "topic", "queue_id", "tag", "keys", "unique_key", "body_bytes")
_UNREADABLE = TimerSummary("", -1, "", "", "", -1, -1, -1, -1, 0, is_delete=False)


def timer_figures(console: TimerConsole | None) -> dict[str, float]:
    """The figures of `broker_core.worker.questions.figures.Snapshot.timers`."""
    return {} if console is None else console.figures()._asdict()


def timer_handlers(console: Callable[[], TimerConsole | None], run: Run) -> list[Handler]:
    """Handlers of timers, on the engine's loop."""
    serving = served(console, "this broker delivers no timer messages at the moment")

    async def look_ahead(_query: ForecastTimers) -> TimerForecast:
        return forecast(serving())

    async def read(query: ListTimers) -> PendingTimers:
        timers = serving()
        page = first_step(timers, query)
        return pending_timers(page, await run(lambda: timers.describe(page.timers)))

    async def act(command: ActOnTimers) -> TimersActed:
        return await act_on_timers(serving(), command)

    return [ForecastTimers.answered_by(look_ahead), ListTimers.answered_by(read), ActOnTimers.answered_by(act)]


def forecast(console: TimerConsole) -> TimerForecast:
    """How many messages are due when."""
    return TimerForecast(*console.outlook())


def first_step(console: TimerConsole, query: ListTimers) -> TimerPage:
    """The page of a query, on the broker's loop. Raises `UsageError` for a count out of range."""
    start = TimerPlace(query.slot_ms, query.position) if query.slot_ms > 0 else None
    return console.page(start, query.count, topic=query.topic)


def pending_timers(page: TimerPage, summaries: Sequence[TimerSummary | None]) -> PendingTimers:
    rows: list[tuple[PendingTimer, TimerSummary]] = [
        (timer, summary or _UNREADABLE) for timer, summary in zip(page.timers, summaries, strict=True)
    ]
    return PendingTimers(
        slot_ms=[timer.place.slot_ms for timer, _ in rows],
        position=[timer.place.position for timer, _ in rows],
        store_ms=[summary.stored_ms for _, summary in rows],
        physical_offset=[timer.unit.physical_offset for timer, _ in rows],
        **columns_of([summary for _, summary in rows], _SUMMARY_COLUMNS),
        is_cancelled=[timer.is_cancelled for timer, _ in rows],
        next_slot_ms=-1 if page.next is None else page.next.slot_ms,
        next_position=-1 if page.next is None else page.next.position,
    )


async def act_on_timers(console: TimerConsole, command: ActOnTimers) -> TimersActed:
    """Carry out a command. Raises `UsageError` for an unknown action or an impossible time, `StoreError` as the store."""
    if len(command.slot_ms) != len(command.position):
        raise BugError(f"{len(command.slot_ms)} slots came with {len(command.position)} positions")
    places = [TimerPlace(*both) for both in zip(command.slot_ms, command.position, strict=True)]
    acted = await console.act(command.action, places, due_ms=command.due_ms)
    return TimersActed(acted.done, [place.slot_ms for place in acted.gone])
