"""Time limits for the regular expressions of masking: short on the window's thread, longer on other threads.

An expression may run for ever on a text that does not match. `judged` limits its time. Even one such text takes longer than a
window can wait, so a `Judge` spends little time, reports the rest as not checked yet, and has another thread judge it, whose
results it caches. A text that is not judged is hidden.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Protocol

import regex

from broker_core.api import compile_bounded

MASK: Final = "•••"
JUDGE_SECONDS: Final = 0.2
"""For one expression and text, off the window's thread."""
MESSAGE_SECONDS: Final = 1.0
"""For all expressions that time out in one message, off the window's thread."""
AT_ONCE_SECONDS: Final = 0.004
"""For one text on the window's thread; a text that takes longer is judged on the other thread."""
BURST_SECONDS: Final = 0.012
"""Limit for the window's thread in one burst, apart from the current text."""
SHARE: Final = 0.1
"""Share of that thread's time in the long run."""
BESIDE_SECONDS: Final = 0.05
"""For one text on the other thread."""
KEPT_FROM_SECONDS: Final = 0.000_1
"""Results that took longer are cached."""
WAITING_MAX: Final = 2_000
KNOWN_CHARACTERS_MAX: Final = 4 * 1024 * 1024
_KEY_CHARACTERS: Final = 100
"""Size of a cache entry besides its texts."""


class Judging(Protocol):
    def masked(self, expressions: tuple[str, ...], text: str) -> str:
        """The masked text."""


Case = tuple[tuple[str, ...], str]
"""Expressions and the text to search."""


@lru_cache(maxsize=512)
def compiled(expression: str) -> regex.Pattern[str]:
    """A compiled expression.

    Raises:
        regex.error: It is invalid. `ValueError`, `OverflowError` and `RecursionError` also mean that.
    """
    return compile_bounded(expression)


def judged(expressions: tuple[str, ...], text: str, seconds: float) -> str | None:
    """A text with the matches masked; None if an expression timed out after ``seconds`` of processor time, or has no end.

    The first group of each expression is masked, or the whole match.
    """
    for expression in expressions:
        try:
            text = compiled(expression).sub(_masked, text, timeout=seconds)
        except (TimeoutError, MemoryError):  # MemoryError: it calls itself without end
            return None
    return text


class Patience:
    """Masks the texts of one message off the window's thread; after its time is spent, further texts are hidden unchecked.

    All expressions that time out together may take ``seconds`` of the thread's processor time.
    """

    def __init__(self, seconds: float = MESSAGE_SECONDS) -> None:
        self._left_s = seconds

    def masked(self, expressions: tuple[str, ...], text: str) -> str:
        """The masked text; a single mask if it timed out."""
        if self._left_s <= 0:
            return MASK
        began = time.thread_time()
        found = judged(expressions, text, JUDGE_SECONDS)
        if found is None:
            self._left_s -= time.thread_time() - began
        return MASK if found is None else found


class Judge:
    """Masks texts for one window: `masked` on its thread, `judge_waiting` on one other at a time.

    Args:
        waiting: Called by `masked` when the other thread has something to judge.
        not_yet: Text shown for one that is pending.
        not_ended: Text shown for one that timed out.
    """

    def __init__(self, waiting: Callable[[], None], *, not_yet: Callable[[], str], not_ended: Callable[[], str]) -> None:
        self._tell_waiting = waiting
        self._not_yet = not_yet
        self._not_ended = not_ended
        self._lock = threading.Lock()
        self._known: OrderedDict[Case, str | None] = OrderedDict()
        self._known_characters = 0
        self._waiting: OrderedDict[Case, None] = OrderedDict()
        self._left_s = BURST_SECONDS
        self._refilled_s = time.monotonic()

    @property
    def has_waiting(self) -> bool:
        """Whether texts are pending for the other thread."""
        return bool(self._waiting)

    def masked(self, expressions: tuple[str, ...], text: str) -> str:
        """The masked text; a placeholder if it is pending or timed out."""
        case = expressions, text
        with self._lock:
            if case in self._known:
                self._known.move_to_end(case)
                found = self._known[case]
                return self._not_ended() if found is None else found
        if self._has_time():
            began = time.perf_counter()
            found = judged(expressions, text, AT_ONCE_SECONDS)
            spent_s = time.perf_counter() - began
            self._left_s -= spent_s
            if found is not None:
                if spent_s > KEPT_FROM_SECONDS:
                    self._keep(case, found)
                return found
        with self._lock:
            self._waiting[case] = None
            self._waiting.move_to_end(case)
            if len(self._waiting) > WAITING_MAX:
                self._waiting.popitem(last=False)
        self._tell_waiting()
        return self._not_yet()

    def judge_waiting(self, seconds: float) -> None:
        """Judge pending texts for so long, the latest request first. Not on the window's thread."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            with self._lock:
                if not self._waiting:
                    return
                case, _none = self._waiting.popitem()
            self._keep(case, judged(*case, BESIDE_SECONDS))

    def _has_time(self) -> bool:
        now_s = time.monotonic()
        self._left_s = min(BURST_SECONDS, self._left_s + SHARE * (now_s - self._refilled_s))
        self._refilled_s = now_s
        return self._left_s > 0

    def _keep(self, case: Case, found: str | None) -> None:
        with self._lock:
            if case in self._known:
                return
            self._known[case] = found
            self._known_characters += _size(case)
            while self._known_characters > KNOWN_CHARACTERS_MAX:
                oldest, _found = self._known.popitem(last=False)
                self._known_characters -= _size(oldest)


def _size(case: Case) -> int:
    return 2 * len(case[1]) + _KEY_CHARACTERS


def _masked(found: regex.Match[str]) -> str:
    if not found.re.groups or found.group(1) is None:
        return MASK
    whole, start = found.group(0), found.start(0)
    return whole[: found.start(1) - start] + MASK + whole[found.end(1) - start :]
