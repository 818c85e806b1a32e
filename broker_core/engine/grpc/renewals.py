"""Deliveries to push consumers, which stay invisible for as long as their client lives and works on them.

The client keeps the handle that it got. A renewal makes a new one, which stays here.

Source: docs/spec/grpc.md §8.2 (as 5.4.0 does it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from broker_core.engine.grpc.client import GrpcClient
from broker_core.engine.grpc.handles import Delivery
from broker_core.protocol.message.receipt_handle import ReceiptHandle

INVISIBLE_MS: Final = 60_000
AHEAD_MS: Final = 10_000
"""A delivery is renewed when it would become visible within this time."""
TOTAL_MS_MAX: Final = 3 * 3_600_000
"""A delivery that takes longer is given back."""
GIVEN_BACK_MS: Final = 1_000
FAILURES_MAX: Final = 3
RENEWALS_MAX: Final = 500_000
_STEPS_MS: Final = tuple(minutes * 60_000 for minutes in (1, 3, 5, 10, 30, 60))


@dataclass(slots=True)
class Renewal:
    """A delivery under renewal.

    Attributes:
        client: Whom it was made to.
        first: The handle that the client has, as text.
        delivery: With the present handle.
        began_ms: Time of the delivery.
        renewals: How often it was renewed.
        failures: How often in a row a renewal failed.
    """

    client: GrpcClient
    first: str
    delivery: Delivery
    began_ms: int
    renewals: int = 0
    failures: int = 0


Change = Callable[[Renewal, int], None]
"""Changes the invisible time of a delivery, in ms."""


@dataclass(slots=True)
class Renewals:
    """All deliveries under renewal. ``change`` is called for those whose time is to be changed."""

    change: Change
    _by_handle: dict[tuple[str, str], Renewal] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._by_handle)

    def __iter__(self) -> Iterator[Renewal]:
        return iter(self._by_handle.values())

    def add(self, renewal: Renewal) -> None:
        """Keep a delivery invisible; does nothing beyond `RENEWALS_MAX`, where the client loses it after its time."""
        if len(self._by_handle) < RENEWALS_MAX:
            self._by_handle[renewal.delivery.group, renewal.first] = renewal

    def take(self, group: str, first: str) -> ReceiptHandle | None:
        """End the renewal of a delivery; returns its present handle, None for one that is not renewed."""
        renewal = self._by_handle.pop((group, first), None)
        return None if renewal is None else renewal.delivery.handle

    def leave(self, group: str, first: str) -> None:
        """Leave a delivery to its time: it is renewed no more, and given back if its client goes before."""
        renewal = self._by_handle.get((group, first))
        if renewal is not None:
            renewal.failures = FAILURES_MAX

    def run(self, now_ms: int) -> None:
        """Renew what becomes visible soon."""
        for key, renewal in list(self._by_handle.items()):
            if renewal.delivery.visible_ms - now_ms > AHEAD_MS:
                continue
            if now_ms - renewal.began_ms > TOTAL_MS_MAX or renewal.failures >= FAILURES_MAX:
                del self._by_handle[key]
            else:
                self.change(renewal, _STEPS_MS[min(renewal.renewals, len(_STEPS_MS) - 1)])

    def give_back(self, client: GrpcClient) -> None:
        """Make the deliveries of a client that is gone visible to others."""
        for key, renewal in [item for item in self._by_handle.items() if item[1].client is client]:
            del self._by_handle[key]
            self.change(renewal, GIVEN_BACK_MS)

    def stop(self) -> None:
        """Leave all deliveries to their time: the broker stops. A renewed one may have an hour, and gets a minute.

        The handle of a client holds over a restart, so what it works on does not come again when it acks in time.
        """
        for renewal in self._by_handle.values():
            if renewal.renewals:
                self.change(renewal, INVISIBLE_MS)
        self._by_handle.clear()

    def changed(self, renewal: Renewal, handle: ReceiptHandle | None) -> None:
        """Note the result of a change: the new handle, or None when it failed."""
        if handle is None:
            renewal.failures += 1
        else:
            renewal.delivery = replace(renewal.delivery, handle=handle)
            renewal.failures, renewal.renewals = 0, renewal.renewals + 1
