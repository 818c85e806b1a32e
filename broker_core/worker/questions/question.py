"""A question of the window: a frozen dataclass that names the type of its answer and says whether it acts.

A question travels under the name of its class (`broker_core.worker.channel.codec`). A handler answers it in the worker
(`broker_core.worker.handlers`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, dataclass_transform, get_args

from broker_core.errors import BugError, ReadOnlyConnectionError

if TYPE_CHECKING:
    from typing import Self

_Answer_co = TypeVar("_Answer_co", covariant=True)
_Kind = TypeVar("_Kind", bound="Question[Any]")


class Handler(NamedTuple):
    """The function that answers a question; `Question.answered_by` makes it, so that the types of both are checked."""

    question: type[Question[Any]]
    answer: Callable[[Any], Awaitable[object]]


class Question(Generic[_Answer_co]):
    """Base of all questions: ``class ReadStore(Question[StorePicture])``, decorated by `question`."""

    __slots__ = ()

    answer_type: ClassVar[type]
    acts_when: ClassVar[Callable[[Any], bool]]
    """Whether a question of this kind acts."""

    @property
    def acts(self) -> bool:
        """Whether it may change something: then a read-only connection refuses it, at both of its ends."""
        return type(self).acts_when(self)

    @classmethod
    def answered_by(cls, answer: Callable[[Self], Awaitable[_Answer_co]]) -> Handler:
        """The handler that answers with a function, called on the loop; it raises an `OrbitError` where it cannot answer."""
        return Handler(cls, answer)


QUESTIONS: dict[str, type[Question[Any]]] = {}


@dataclass_transform(frozen_default=True)
def question(*, acts: bool | Callable[[Any], bool]) -> Callable[[type[_Kind]], type[_Kind]]:
    """Make a class a frozen dataclass with slots and register it as a question; ``acts`` says whether it may change something.

    Raises `BugError` where there is a question of that name already.
    """

    def registered(described: type[_Kind]) -> type[_Kind]:
        kind = dataclass(frozen=True, slots=True)(described)
        if kind.__name__ in QUESTIONS:
            raise BugError(f"there are two questions {kind.__name__}; their names are their tags on the channel")
        (kind.answer_type,) = get_args(kind.__orig_bases__[0])  # type: ignore[attr-defined]  # of a generic base
        kind.acts_when = acts if callable(acts) else lambda _question: acts
        QUESTIONS[kind.__name__] = kind
        return kind

    return registered


def read_only_refusal(asked: Question[Any]) -> ReadOnlyConnectionError:
    """The error for a question that acts on a read-only connection."""
    return ReadOnlyConnectionError(
        f"this connection is read-only: {type(asked).__name__} was not carried out and nothing has changed; "
        "open the cluster without the read-only mark to act on it"
    )
