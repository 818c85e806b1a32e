"""Dialers of the ways of `broker_core.transport.proxies`."""

from __future__ import annotations

import asyncio
import socket

from broker_core.errors import NetworkError
from broker_core.parts import TUNNELS, require
from broker_core.protocol.addresses import address_of
from broker_core.transport.proxies import WAY_TIMEOUT_MS, Dialer, SocksProxy, Way, loaded
from broker_core.transport.socket_reason import socket_reason
from broker_core.transport.ssh_tunnel import SshDialer


def dialer_of(way: Way) -> Dialer:
    """The dialer of a way; the caller closes it.

    Raises:
        MissingPartError: The way is a tunnel, and what makes tunnels is not installed.
    """
    if isinstance(way, SocksProxy):
        return SocksDialer(way)
    require(TUNNELS)
    return SshDialer(way)


class SocksDialer:
    """Connects through a SOCKS proxy, with one proxy connection for each connection."""

    def __init__(self, way: SocksProxy) -> None:
        self._way = way
        self._address = address_of(way.host, way.port)

    async def dial(self, host: str, port: int) -> socket.socket:
        socks, proxies = await loaded("python_socks"), await loaded("python_socks.async_.asyncio")
        way, target = self._way, address_of(host, port)
        proxy = proxies.Proxy(socks.ProxyType.SOCKS5, way.host, way.port, way.user or None, way.password or None, rdns=True)
        try:
            found: socket.socket = await proxy.connect(host, port, timeout=WAY_TIMEOUT_MS / 1000)
        except socks.ProxyConnectionError as error:
            text = f"cannot connect to the SOCKS proxy {self._address} ({socket_reason(error)}): is it running there?"
            raise NetworkError(text, address=self._address) from error
        except socks.ProxyTimeoutError as error:
            text = f"the SOCKS proxy {self._address} did not reach {target} within {WAY_TIMEOUT_MS:,} ms"
            raise NetworkError(text, address=target) from error
        except (socks.ProxyError, OSError) as error:
            text = f"the SOCKS proxy {self._address} does not connect to {target}: {error}"
            raise NetworkError(text, address=target) from error
        return found

    async def open(self) -> str:
        try:
            async with asyncio.timeout(WAY_TIMEOUT_MS / 1000):
                _, writer = await asyncio.open_connection(self._way.host, self._way.port)
        except (OSError, TimeoutError) as error:
            is_late = isinstance(error, TimeoutError) and error.errno is None
            reason = f"no answer within {WAY_TIMEOUT_MS:,} ms" if is_late else socket_reason(error)
            text = f"cannot connect to the SOCKS proxy {self._address} ({reason}): is it running there?"
            raise NetworkError(text, address=self._address) from error
        writer.close()
        return ""

    async def close(self) -> None:
        """Do nothing: no state is kept between connections."""
