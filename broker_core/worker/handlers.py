"""The table of handlers by which a worker answers the window's questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol, TypeVar

from broker_core.errors import BugError, OrbitError, UsageError
from broker_core.worker.questions.question import Handler, Question, read_only_refusal

_Answer = TypeVar("_Answer")
_T = TypeVar("_T")


class Run(Protocol):
    def __call__(self, work: Callable[[], _T], /) -> Awaitable[_T]: ...


def served(part: Callable[[], _T | None], why_not: str) -> Callable[[], _T]:
    """A part of the engine, each time as it is then; raises `UsageError` with ``why_not`` while there is none."""

    def found() -> _T:
        one = part()
        if one is None:
            raise UsageError(why_not)
        return one

    return found


class Handlers:
    """Answers questions, each by its handler. On one event loop.

    ``refusal`` makes the error for a question without a handler; ``read_only`` refuses questions that act. Raises `BugError`
    where a question has two handlers.
    """

    def __init__(
        self, handlers: Iterable[Handler], *, refusal: Callable[[Question[Any]], OrbitError], read_only: bool = False
    ) -> None:
        self._table: dict[type[Question[Any]], Callable[[Any], Awaitable[Any]]] = {}
        self._refusal = refusal
        self._read_only = read_only
        for handler in handlers:
            if handler.question in self._table:
                raise BugError(f"{handler.question.__name__} has two handlers")
            self._table[handler.question] = handler.answer

    async def answer(self, question: Question[_Answer]) -> _Answer:
        """Answer a question or carry out a command. Raises an `OrbitError` with the reason where that is not possible."""
        if self._read_only and question.acts:
            raise read_only_refusal(question)
        handler = self._table.get(type(question))
        if handler is None:
            raise self._refusal(question)
        answer: _Answer = await handler(question)
        return answer
