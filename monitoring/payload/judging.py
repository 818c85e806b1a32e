"""How long texts may be looked at for what is masked: at once and shortly for a window, patiently beside it.

An expression may take for ever to tell that a text does not fit. `judged` gives it a time. A window has less of it than even
one such text takes, so a `Judge` spends little, calls the rest not checked yet, and lets another thread do it, whose outcome
is remembered. What is not judged is hidden.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Protocol

import regex

MASK: Final = "•••"
JUDGE_SECONDS: Final = 0.2
"""For one expression and text, where nobody waits for the next one."""
MESSAGE_SECONDS: Final = 1.0
"""For what does not end in one message, where nobody waits for the next one."""
AT_ONCE_SECONDS: Final = 0.004
"""For one on the thread of a window; a text that takes longer is judged beside it."""
BURST_SECONDS: Final = 0.012
"""Spent on the thread of a window in one go, but for the text it is at."""
SHARE: Final = 0.1
"""Of that thread's time is spent in the long run."""
BESIDE_SECONDS: Final = 0.05
"""For one on the other thread."""
KEPT_FROM_SECONDS: Final = 0.000_1
"""What took longer is remembered."""
WAITING_MAX: Final = 2_000
KNOWN_CHARACTERS_MAX: Final = 4 * 1024 * 1024
_KEY_CHARACTERS: Final = 100
"""What an entry takes besides its texts."""


class Judging(Protocol):
    """Masks texts within the time it has."""

    def masked(self, expressions: tuple[str, ...], text: str) -> str:
        """A text as it may be shown."""


Case = tuple[tuple[str, ...], str]
"""Expressions, and the text that they are to look at."""


@lru_cache(maxsize=512)
def compiled(expression: str) -> regex.Pattern[str]:
    """An expression, ready to be used.

    Raises:
        regex.error: It cannot be read. `ValueError`, `OverflowError` and `RecursionError` also say so.
    """
    return regex.compile(expression)


def judged(expressions: tuple[str, ...], text: str, seconds: float) -> str | None:
    """A text without what expressions find; None where one of them did not end in time.

    Args:
        expressions: Readable ones. What the first group of each finds is masked, or all it finds.
        text: Any.
        seconds: For each of them, of the time of the processor.
    """
    for expression in expressions:
        try:
            text = compiled(expression).sub(_masked, text, timeout=seconds)
        except TimeoutError:
            return None
    return text


class Patience:
    """Masks the texts of one message where nobody waits for it; when its time is spent the rest is hidden unseen.

    Args:
        seconds: For all that does not end, of the thread's own time.
    """

    def __init__(self, seconds: float = MESSAGE_SECONDS) -> None:
        self._left_s = seconds

    def masked(self, expressions: tuple[str, ...], text: str) -> str:
        """A text as it may be shown; nothing of it where that is not known in time."""
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
        waiting: Called by `masked` where something is to be judged by the other thread.
        not_yet: What a text is called that is still to be judged.
        not_ended: What a text is called that no time was enough for.
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
        """Whether there is something for the other thread."""
        return bool(self._waiting)

    def masked(self, expressions: tuple[str, ...], text: str) -> str:
        """A text as it may be shown now; all of it is hidden where that is not known."""
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
        """Judge for so long what waits, what was asked for last first. Not on the thread of a window."""
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
