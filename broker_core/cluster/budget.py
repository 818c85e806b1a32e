"""The budget of one broker: requests and bytes a second, of which at most one second's amount is saved up."""

from __future__ import annotations

from collections.abc import Callable


class Budget:
    """Two allowances a second that fill with time. It has no sockets and does not wait itself.

    The bytes of an answer are known only afterwards, so they may be overdrawn.
    """

    def __init__(self, *, requests_per_second: int, bytes_per_second: int, monotonic: Callable[[], float]) -> None:
        self._requests_per_second = requests_per_second
        self._bytes_per_second = bytes_per_second
        self._monotonic = monotonic
        self._requests = float(requests_per_second)
        self._bytes = float(bytes_per_second)
        self._filled = monotonic()

    def wait_seconds(self) -> float:
        """How long to wait before the next request; 0 when it may be sent now."""
        self._fill()
        requests = max(1.0 - self._requests, 0.0) / self._requests_per_second
        return max(requests, max(-self._bytes, 0.0) / self._bytes_per_second)

    def spend_request(self) -> None:
        self._fill()
        self._requests -= 1.0

    def spend_bytes(self, count: int) -> None:
        self._fill()
        self._bytes -= count

    def _fill(self) -> None:
        now = self._monotonic()
        passed, self._filled = max(now - self._filled, 0.0), now
        self._requests = min(self._requests + passed * self._requests_per_second, float(self._requests_per_second))
        self._bytes = min(self._bytes + passed * self._bytes_per_second, float(self._bytes_per_second))
