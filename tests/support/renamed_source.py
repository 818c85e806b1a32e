"""`RenamedSource`: the shop with other names in it: of topics, groups, clients, in keys and bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar

from broker_core.worker.questions.administration import ListMembers
from tests.support.fake_source import Answers, FakeSource, fake_members, fake_state

Names = Mapping[str, str]
"""Word of the shop → what stands instead of it."""


def renamed(value: Any, names: Names) -> Any:
    """The same with other names in it, however deep."""
    if isinstance(value, str):
        for word, other in names.items():
            value = value.replace(word, other)
        return value
    if isinstance(value, bytes):
        for word, other in names.items():
            value = value.replace(word.encode(), other.encode())
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: renamed(getattr(value, one.name), names) for one in fields(value) if one.init})
    if isinstance(value, dict):
        return {renamed(key, names): renamed(one, names) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        made = [renamed(one, names) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


class RenamedSource(FakeSource):
    """Everything it says has the names of ``NAMES`` in it."""

    NAMES: ClassVar[Names] = {}

    def __init__(self) -> None:
        super().__init__(renamed(fake_state(), self.NAMES))

    def made_answers(self) -> Answers:
        """Those of the fake with the names, also for a group that is asked for by its name."""
        made = {kind: self._with_names(answer) for kind, answer in super().made_answers().items()}
        return made | {ListMembers: lambda one: renamed(fake_members(self._word(one.group)), self.NAMES)}

    def _with_names(self, answer: Callable[[Any], object]) -> Callable[[Any], object]:
        return lambda question: renamed(answer(question), self.NAMES)

    def _word(self, group: str) -> str:
        return next((word for word, other in self.NAMES.items() if other == group), group)
