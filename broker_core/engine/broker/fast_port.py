"""The second port of a broker, two below its first: clients with ``vipChannelEnabled`` send to it.

RocketMQ serves pulls on the first port only, so that sends do not queue behind them. Requests do not queue here; both ports
serve the same. Clients before 4.5 use the second one by default.

Source: docs/spec/broker.md §15.1.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker_core.config import BrokerConfig, RemotingLimits
from broker_core.errors import NetworkError
from broker_core.transport.busy_poll import BusyPoll
from broker_core.transport.connection import Connection, Handler
from broker_core.transport.server import RemotingServer
from broker_core.transport.tls import TlsServer

logger = logging.getLogger(__name__)

BELOW = 2


async def open_fast_port(
    config: BrokerConfig,
    handler: Handler,
    *,
    limits: RemotingLimits | None,
    tls: TlsServer | None,
    on_connected: Callable[[Connection], None],
    busy_poll: BusyPoll | None = None,
) -> RemotingServer | None:
    """Listen on the second port; None if the first port was not chosen (0), or the second cannot be bound.

    A failure does not stop the broker: few clients use this port.
    """
    port = config.listen_port - BELOW
    if port <= 0:
        return None
    server = RemotingServer(
        config.bind_host,
        port,
        handler,
        limits=limits,
        tls=tls,
        on_connected=on_connected,
        frame_directory=config.store.root,
        busy_poll=busy_poll,
    )
    try:
        await server.start()
    except NetworkError as error:
        logger.warning("clients with vipChannelEnabled=true cannot send: %s", error.message)
        return None
    return server
