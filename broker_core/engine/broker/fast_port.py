"""The second port of a broker, two below its first: clients with ``vipChannelEnabled`` send to it.

RocketMQ serves pulls on the first port only, so that sends do not queue behind them. Requests do not queue here; both ports
serve the same. Clients before 4.5 use the second one by default.

Source: docs/spec/broker.md §15.1.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker_core.errors import NetworkError
from broker_core.transport.server import RemotingServer

logger = logging.getLogger(__name__)

BELOW = 2


async def open_fast_port(listen_port: int, server_at: Callable[[int], RemotingServer]) -> RemotingServer | None:
    """Listen on the second port; None if the first port was not chosen (0), or the second cannot be bound.

    A failure does not stop the broker: few clients use this port.

    Args:
        listen_port: The first port, as it was chosen.
        server_at: Makes the broker's server for a port.
    """
    port = listen_port - BELOW
    if port <= 0:
        return None
    server = server_at(port)
    try:
        await server.start()
    except NetworkError as error:
        logger.warning("clients with vipChannelEnabled=true cannot send: %s", error.message)
        return None
    return server
