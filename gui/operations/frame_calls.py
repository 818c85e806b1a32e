"""Calls of pages and operations to the frame: `Navigate` and `Notify`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gui.theme.tokens import State
from gui.words.text import Words


class Navigate(Protocol):
    """Opens a page: ``navigate("messages", topic="orders", queue=3)``. The arguments reach the page's `open`."""

    def __call__(self, page_id: str, /, **arguments: object) -> None: ...


class Notify(Protocol):
    """Shows a toast and keeps it under the bell. ``action`` names what ``on_action`` does.

    Words that are a function are written again in another language; they keep their references as long as the notice.
    """

    def __call__(
        self, words: Words, *, state: State = State.INFO, action: Words = "", on_action: Callable[[], None] | None = None
    ) -> None: ...
