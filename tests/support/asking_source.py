"""What the operations of the window use of a source, over an attached cluster, for tests without Qt's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from broker_core.errors import OrbitError
from broker_core.worker.attached.queries import ClusterQueries
from broker_core.worker.questions.question import Question
from monitoring.sources.base import Pending

A = TypeVar("A")


class AskingSource:
    """Asks from a thread beside the loop; each answer is there when `then` is called. ``before`` sees each question first."""

    def __init__(self, loop: asyncio.AbstractEventLoop, queries: ClusterQueries) -> None:
        self._loop, self._queries = loop, queries
        self.before: Callable[[Question[Any]], None] = lambda _question: None

    def ask(self, question: Question[A]) -> Answered[A]:
        self.before(question)
        answering = self._queries.answer(question)
        return Answered(lambda: asyncio.run_coroutine_threadsafe(answering, self._loop).result())


class Answered(Generic[A]):
    """A `Pending` that nobody gives up."""

    def __init__(self, ask: Callable[[], A]) -> None:
        self._ask = ask

    def then(self, done: Callable[[A], None], failed: Callable[[OrbitError], None]) -> None:
        try:
            answer = self._ask()
        except OrbitError as error:
            failed(error)
        else:
            done(answer)

    def cancel(self) -> None:
        raise AssertionError("nobody gives it up")


def outcome(pending: Pending[A]) -> A | OrbitError:
    """What a pending ends in."""
    ends: list[A | OrbitError] = []
    pending.then(ends.append, ends.append)
    (end,) = ends
    return end
