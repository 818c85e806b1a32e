"""What runs beside the requests: delivery, checks and the like, started once the tables are loaded."""

from __future__ import annotations

from typing import Protocol

from broker_core.broker.config_files import ConfigFiles
from broker_core.broker.dispatcher import Dispatcher
from broker_core.broker.state import BrokerState


class Service(Protocol):
    """Something with work of its own on the broker's loop."""

    def start(self) -> None:
        """Begin, on the loop; its files are read, its timers set."""

    async def stop(self) -> None:
        """End; no timer or task of it is left, what it keeps in `ConfigFiles` is marked to be written."""


def broker_services(_state: BrokerState, _dispatcher: Dispatcher, _files: ConfigFiles) -> tuple[Service, ...]:
    """The services of one broker, in the order of their start; they end in the opposite order, before the store closes."""
    return ()
