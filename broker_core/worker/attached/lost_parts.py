"""Brokers whose part of an answer is missing: the others are shown, and what is missing is said beside them."""

from __future__ import annotations

from broker_core.errors import CodecError, NetworkError, OrbitError, RemoteError
from broker_core.worker.attached.figures import ClusterFigures

PART_ERRORS = (NetworkError, RemoteError, CodecError)
"""What one broker of several may do wrong without spoiling the answers of the others."""


class LostParts:
    """Collects them for one answer.

    Args:
        figures: Knows which brokers do not answer, and since when.
    """

    def __init__(self, figures: ClusterFigures) -> None:
        self._figures = figures
        self._reasons: dict[str, str] = {}
        self._error: OrbitError | None = None

    def is_lost(self, broker: str) -> bool:
        """Whether a broker is not to be asked: it does not answer, or failed in this answer already. It is noted."""
        if self._figures.of(broker).is_lost:
            self._reasons[broker] = self._figures.fault_of(broker)
        return broker in self._reasons

    def failed(self, broker: str, error: OrbitError) -> None:
        """Note that a broker failed just now."""
        self._reasons[broker] = error.message
        self._error = error

    def notice(self) -> str:
        """What is missing, and why; empty when nothing is."""
        if not self._reasons:
            return ""
        told = "; ".join(f"{broker}: {reason}" for broker, reason in sorted(self._reasons.items()))
        return f"Not all brokers answered, and what they hold is missing here. {told}"

    def raise_unless(self, any_answered: bool) -> None:
        """Fail where no broker gave its part.

        Raises:
            NetworkError: None of them answers; so `RemoteError` and `CodecError`, when one answers otherwise.
        """
        if any_answered or not self._reasons:
            return
        if self._error is not None:
            raise self._error
        raise NetworkError(self.notice())
