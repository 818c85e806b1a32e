"""`LongNamedSource`: the shop, its busiest topics and a group with names as long as a broker lets them be, without a gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from broker_core.worker.questions.administration import ListMembers
from tests.support.fake_source import Answers, FakeSource, fake_members, fake_state

T = TypeVar("T")

LONG_TOPIC = "paid" + "OfAllShops" * 12 + "123"
LONG_GROUP = "settle" + "OfAllShops" * 24 + "123456789"
assert (len(LONG_TOPIC), len(LONG_GROUP)) == (127, 255)
_LONG = {"payments": LONG_TOPIC, "orders": LONG_TOPIC[::-1], "payment-settle": LONG_GROUP, "stock-worker": LONG_GROUP[::-1]}


def long_named(value: T) -> T:
    """The same with long names in it, however deep."""
    return _renamed(value)  # type: ignore[no-any-return]  # of the type that was given


def _renamed(value: Any) -> Any:
    if isinstance(value, str):
        for short, long in _LONG.items():
            value = value.replace(short, long)
        return value
    if isinstance(value, bytes):
        for short, long in _LONG.items():
            value = value.replace(short.encode(), long.encode())
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _renamed(getattr(value, one.name)) for one in fields(value) if one.init})
    if isinstance(value, dict):
        return {_renamed(key): _renamed(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        made = [_renamed(one) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


class LongNamedSource(FakeSource):
    """Everything it says has long names in it."""

    def __init__(self) -> None:
        super().__init__(long_named(fake_state()))

    def made_answers(self) -> Answers:
        """Those of the fake with long names, also for a group that is asked for by its long name."""
        made = {kind: _with_long_names(answer) for kind, answer in super().made_answers().items()}
        return made | {ListMembers: lambda question: long_named(fake_members(_short(question.group)))}


def _with_long_names(answer: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda question: long_named(answer(question))


def _short(group: str) -> str:
    return next((name for name, long in _LONG.items() if long == group), group)
