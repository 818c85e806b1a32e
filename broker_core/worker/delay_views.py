"""The window's view of delay levels: columns for snapshots, pages, actions."""

from __future__ import annotations

from collections.abc import Callable

from broker_core.engine.schedule.delay_console import DelayConsole, DelayedHead, DelayedPage, DelayedPlace, LevelFigures
from broker_core.engine.schedule.lateness import LATE_FROM_MS, LatenessCounts
from broker_core.errors import BugError
from broker_core.worker.columns import columns_of, packed
from broker_core.worker.handlers import Run, served
from broker_core.worker.questions.delays import ActOnDelayed, DelayedActed, DelayedMessages, ListDelayed
from broker_core.worker.questions.figures import Columns
from broker_core.worker.questions.question import Handler

_FLOATS = frozenset({"late_p50_ms", "late_p99_ms"})


def delay_columns(figures: list[LevelFigures]) -> Columns:
    """The columns of `broker_core.worker.questions.figures.Snapshot.delays`."""
    rows = zip(*figures, strict=True) if figures else ((),) * len(LevelFigures._fields)
    fields = zip(LevelFigures._fields, rows, strict=True)
    return {name: packed(values, "d" if name in _FLOATS else "q") for name, values in fields}


def lateness_columns(levels: LatenessCounts | None, timers: LatenessCounts | None) -> Columns:
    """The columns of `broker_core.worker.questions.figures.Snapshot.lateness`."""
    if levels is None:
        return {}
    return {
        "from_ms": packed(LATE_FROM_MS),
        "levels": packed(levels.deliveries),
        "timers": b"" if timers is None else packed(timers.deliveries),
        "counted_s": packed((levels.seconds,)),
    }


def delay_handlers(console: Callable[[], DelayConsole | None], run: Run) -> list[Handler]:
    """Handlers of delay levels, on the engine's loop."""
    serving = served(console, "this broker delivers no delayed messages at the moment")

    async def read(query: ListDelayed) -> DelayedMessages:
        return delayed_messages(query.level, await run(serving().page_reader(query.level, query.start_offset, query.count)))

    async def act(command: ActOnDelayed) -> DelayedActed:
        return await act_on_delayed(serving(), command)

    return [ListDelayed.answered_by(read), ActOnDelayed.answered_by(act)]


def delayed_messages(level: int, page: DelayedPage) -> DelayedMessages:
    return DelayedMessages(
        level=level,
        **columns_of(page.heads, DelayedHead._fields),
        next_offset=page.next_offset,
        max_offset=page.max_offset,
        notice=f"{page.unreadable} messages could not be read: their records are gone or damaged" if page.unreadable else "",
    )


async def act_on_delayed(console: DelayConsole, command: ActOnDelayed) -> DelayedActed:
    """Carry out a command. Raises `UsageError` for an unknown action or level, `StoreError` where store or disk refuse it."""
    if len(command.queue_offset) != len(command.physical_offset):
        raise BugError(f"{len(command.queue_offset)} queue offsets came with {len(command.physical_offset)} physical offsets")
    places = [DelayedPlace(*both) for both in zip(command.queue_offset, command.physical_offset, strict=True)]
    acted = await console.act(command.action, command.level, places, due_ms=command.due_ms)
    return DelayedActed(acted.done, acted.gone)
