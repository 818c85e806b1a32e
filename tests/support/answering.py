"""Asks a part of the worker that has handlers, without the rest of the worker."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from broker_core.errors import BugError
from broker_core.worker.handlers import Handlers
from broker_core.worker.questions.question import Handler, Question

A = TypeVar("A")


class Part(Protocol):
    """Has handlers."""

    def handlers(self) -> list[Handler]: ...


async def answer_by(part: Part, question: Question[A]) -> A:
    """The answer of a part."""
    return await Handlers(part.handlers(), refusal=_unknown).answer(question)


def _unknown(question: Question[Any]) -> BugError:
    return BugError(f"no handler for {question}")
