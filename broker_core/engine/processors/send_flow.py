"""Flow control of sends: a send that waited too long is refused, so that its producer tries another broker.

Requests do not queue in this broker: each turn of the loop serves the pending ones of the sockets in order. So a send has
waited for as long as the work before it in its turn took. Work is measured in processor time of the loop's thread, so that a
pause of the whole machine refuses nothing. A put that itself hangs shows between two sends, in wall time.

Source: docs/spec/broker.md §15.4, §15.5.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from broker_core.config import BrokerConfig
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode

_TIME_MAX_MS = 253_370_764_800_000
"""Beginning of the year 9999: Python writes no time beyond it."""

Defer = Callable[[Callable[[], None]], object]
"""Has a function called in the loop's next turn."""


class SendFlow:
    """Decides before each send whether it is still served.

    ``defer`` reports the end of a turn; None for no flow control, e.g. without a loop. ``worked`` returns the processor time of
    the loop's thread in seconds.
    """

    def __init__(self, state: BrokerState, defer: Defer | None, *, worked: Callable[[], float] = time.thread_time) -> None:
        self._clock = state.clock
        self._defer = defer
        self._worked = worked
        self._in_turn = False
        self._turn_worked_s = 0.0
        self._last_s = 0.0
        self._stalled = False
        self._sends = 0
        self.reconfigure(state.config)

    def reconfigure(self, config: BrokerConfig) -> None:
        self._is_on = config.fast_failure and self._defer is not None
        self._wait_max_s = config.send_wait_max_ms / 1000
        self._stall_s = config.page_cache_busy_ms / 1000
        self._accept_from_ms = config.accept_sends_from_ms

    def check(self, now_s: float) -> None:
        """Let a send through, at a monotonic time in seconds; raises `RequestRefusedError` where it is late or too early."""
        if self._accept_from_ms:
            self._check_accepting()
        if not self._is_on:
            return
        if not self._in_turn:
            self._begin_turn(now_s)
            return
        self._sends += 1
        self._stalled = self._stalled or now_s - self._last_s >= self._stall_s
        self._last_s = now_s
        # The clock of the thread costs a system call, so every sixteenth send of a turn reads it.
        if self._stalled or not self._sends & 15:
            self._check_wait()

    def allows(self, now_s: float) -> bool:
        """Whether the sends of a read are let through; where not, `check` refuses the first of them with the reason."""
        try:
            self.check(now_s)
        except RequestRefusedError:
            return False
        return True

    def served(self, count: int) -> None:
        """Note that so many sends were served after one check; the next one reads the clock."""
        if count > 1:
            self._sends = (self._sends + count - 1) | 15

    def _begin_turn(self, now_s: float) -> None:
        assert self._defer is not None
        self._in_turn = True
        self._sends = 0
        self._stalled = False
        self._last_s = now_s
        self._turn_worked_s = self._worked()
        self._defer(self._end_turn)

    def _end_turn(self) -> None:
        self._in_turn = False

    def _check_wait(self) -> None:
        waited_s = self._worked() - self._turn_worked_s
        if not self._stalled and waited_s < self._wait_max_s:
            return
        self._sends |= 15  # the next one is checked as well
        kind = "PCBUSY_CLEAN_QUEUE" if self._stalled else "TIMEOUT_CLEAN_QUEUE"
        period_ms = int(max(waited_s, self._stall_s if self._stalled else 0.0) * 1000)
        remark = (
            f"[{kind}]broker busy, start flow control for a while, period in queue: {period_ms}ms, size of queue: {self._sends}"
        )
        raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_BUSY)

    def _check_accepting(self) -> None:
        if self._clock() < self._accept_from_ms:
            known_ms = min(self._accept_from_ms, _TIME_MAX_MS)
            until = datetime.fromtimestamp(known_ms / 1000).astimezone().isoformat(" ", "milliseconds")
            raise RequestRefusedError(f"broker unable to service, until {until}", code=ResponseCode.SYSTEM_ERROR)
        self._accept_from_ms = 0
