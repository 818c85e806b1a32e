"""`Doctor`: tries each hop of the way to a cluster, and reports its time, or its fault and the remedy.

    proxy or tunnel → for each name server: name, port, TLS, answer → list of brokers
                    → for each broker: name, port (after the address map), TLS, credentials, version
                    → the given address, else for each broker the port that it names or the usual one: the gRPC port

The hops after a failed one are not tried. It requests the list of brokers, figures and settings only, and changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import platform
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from broker_core.cluster.access import ClusterAccess
from broker_core.config import RemotingLimits
from broker_core.errors import AccountRefusedError, CodecError, NetworkError, RemoteError
from broker_core.native.library import installed, reason_without
from broker_core.protocol.account_refusals import account_refusal
from broker_core.protocol.addresses import address_of, address_text, host_of
from broker_core.protocol.admin.brokers import BrokerPlace, grpc_port_of, read_broker_settings, read_brokers, read_runtime
from broker_core.protocol.admin.proxies import GRPC_PORT
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.transport.client import connect, parse_address
from broker_core.transport.connection import Connection
from broker_core.transport.dialers import dialer_of
from broker_core.transport.grpc_probe import probe_grpc
from broker_core.transport.proxies import Dialer, SocksProxy

PROXY, TUNNEL, NAME, PORT, TLS = "SOCKS proxy", "SSH tunnel", "Name", "Port", "TLS"
ANSWER, BROKERS, CREDENTIALS, VERSION, GRPC = "Name server", "Broker list", "Credentials", "Version", "gRPC port"
MACHINE_CODE = "Machine code"
ADDRESSES_MAX = 50
"""Of brokers; the number of further ones is reported, and they are not tried."""
FIGURES_TRIES, FIGURES_PAUSE_S = 6, 0.7
"""A 4.x broker samples its figures each second and refuses to report them before the first sample (observed with 4.9.4)."""
_REFUSALS = ("acl", "signature", "accesskey", "access key", "authenticat", "permission")


@dataclass(frozen=True, slots=True)
class Hop:
    """A step of the way.

    Attributes:
        took_ms: Until it was done; -1 while it is tried, or if it failed.
        fault: What is wrong; empty for nothing.
        is_tried: False while it is being tried.
    """

    name: str
    address: str
    took_ms: float = -1.0
    note: str = ""
    fault: str = ""
    advice: str = ""
    is_tried: bool = False


def local_hop() -> Hop:
    """Whether this installation has machine code; none is no fault, because everything works without."""
    note = "used" if installed() is not None else f"not used: {reason_without()}"
    return Hop(MACHINE_CODE, platform.machine(), note=note, is_tried=True)


class _HopFailedError(Exception):
    """A hop failed; later ones are not tried."""


@dataclass(slots=True)
class _Trial:
    """Note and advice of a running hop."""

    note: str = ""
    advice: str = ""


class Doctor:
    """One examination. On one event loop; cancel its task to end it early.

    ``tell`` gets each hop, when it begins and when it has ended; ``grpc`` is the address of a proxy, empty for the port that
    each broker names, else the usual one of its host, where a port that does not answer is no fault; ``clock`` returns seconds.
    """

    def __init__(
        self,
        access: ClusterAccess,
        tell: Callable[[Hop], None],
        *,
        grpc: str = "",
        clock: Callable[[], float] = time.monotonic,
        limits: RemotingLimits | None = None,
    ) -> None:
        self._security = access.security
        self._name_servers = [address_text(address.strip()) for address in access.name_servers.split(";") if address.strip()]
        self._tell = tell
        self._grpc = grpc
        self._clock = clock
        self._limits = RemotingLimits() if limits is None else limits
        self._dialer: Dialer | None = None
        self._grpc_ports: dict[str, str] = {}
        """Registered address of a broker → port of gRPC that it serves itself."""
        self.faults = 0
        """Hops that failed so far."""

    async def run(self) -> None:
        way = self._security.way
        self._dialer = None if way is None else dialer_of(way)
        try:
            if way is not None and self._dialer is not None:
                dialer = self._dialer
                async with self._hop(PROXY if isinstance(way, SocksProxy) else TUNNEL, address_of(way.host, way.port)) as hop:
                    hop.advice = "What lies behind it was not tried."
                    hop.note = await dialer.open()
            brokers: dict[str, BrokerPlace] = {}
            for address in self._name_servers:
                with contextlib.suppress(_HopFailedError):
                    brokers |= {broker.name: broker for broker in await self._ask_name_server(address)}
            await self._try_brokers(list(brokers.values()))
            await self._try_grpc(list(brokers.values()))
        except _HopFailedError:
            return
        finally:
            if self._dialer is not None:
                await self._dialer.close()

    # ---- hops ----------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _hop(self, name: str, address: str) -> AsyncIterator[_Trial]:
        """Report a hop; an error of the world ends it and skips the later ones."""
        hop, trial = Hop(name, address), _Trial()
        self._tell(hop)
        began_s = self._clock()
        try:
            yield trial
        except (NetworkError, RemoteError, CodecError) as error:
            self.faults += 1
            self._tell(replace(hop, note=trial.note, fault=error.message, advice=trial.advice, is_tried=True))
            raise _HopFailedError from error
        self._tell(replace(hop, took_ms=(self._clock() - began_s) * 1_000, note=trial.note, is_tried=True))

    @contextlib.asynccontextmanager
    async def _reached(self, registered: str, title: str = "") -> AsyncIterator[Connection]:
        """The connection to a server, after its hops."""
        used = self._security.addresses.get(registered, registered)
        shown = f"{title}{registered}" + (f" → {used}" if used != registered else "")
        host = await self._host(used, shown)
        tls = self._security.tls
        if tls is not None:
            async with self._hop(PORT, shown) as hop:
                hop.advice = self._port_advice(registered, used)
                (await connect(used, limits=self._limits, dialer=self._dialer)).abort("only tried")
        async with self._hop(TLS if tls is not None else PORT, shown) as hop:
            hop.advice = self._port_advice(registered, used)
            if tls is not None:
                hop.advice = (
                    "Where its certificate is signed by an authority of your own, give the file of authorities; where it names "
                    f"another host than {host}, map the address to that name. A server without TLS needs the mark taken off."
                )
            connection = await connect(used, limits=self._limits, tls=tls, dialer=self._dialer)
        connection.credentials = self._security.credentials
        try:
            yield connection
        finally:
            connection.abort("the doctor is done")

    async def _host(self, used: str, shown: str) -> str:
        """The host of an address, after its name was resolved."""
        try:
            host, port = parse_address(used)
        except NetworkError:
            async with self._hop(NAME, shown) as hop:
                hop.advice = "Give HOST:PORT."
                parse_address(used)
            raise
        if self._dialer is None and not _is_number(host):
            async with self._hop(NAME, shown) as hop:
                hop.advice = f"Check the name {host}, the DNS servers of this machine, and whether a VPN must be on."
                hop.note = await self._resolved(host, port)
        return host

    async def _resolved(self, host: str, port: int) -> str:
        try:
            async with asyncio.timeout(self._limits.connect_timeout_ms / 1000):
                found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
        except TimeoutError as error:
            raise NetworkError(f"the name {host} was not resolved within {self._limits.connect_timeout_ms:,} ms") from error
        except (OSError, UnicodeError) as error:
            raise NetworkError(f"the name {host} cannot be resolved ({getattr(error, 'strerror', None) or error})") from error
        return ", ".join(sorted({str(one[4][0]) for one in found}))

    def _port_advice(self, registered: str, used: str) -> str:
        if registered in self._name_servers:
            return (
                "Check host and port (9876 is usual), that the name server runs, and that no firewall is in between. Through a "
                "network of its own, a SOCKS proxy or an SSH tunnel may lead there."
            )
        if used != registered:
            return f"The map says {used} in place of {registered}: is that right, and open from here?"
        return (
            f"The broker registered {registered}, which does not answer from here. Where that is an address of a container or "
            f"behind NAT, replace it: {registered} = HOST:PORT in the addresses to replace, or set brokerIP1 of the broker."
        )

    # ---- answers of servers --------------------------------------------------------------------------------------------

    async def _ask_name_server(self, address: str) -> list[BrokerPlace]:
        async with self._reached(address) as connection:
            async with self._hop(ANSWER, address) as hop:
                hop.advice = "Is it a name server? One that wants TLS ends connections without it."
                response = await connection.request(RemotingCommand(RequestCode.GET_BROKER_CLUSTER_INFO))
                if response.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                    hop.advice = "This looks like a broker: give the address of the name server, usually with port 9876."
                if _is_refusal(response):
                    hop.advice = self._keys_advice()
                _check(address, response)
            async with self._hop(BROKERS, address) as hop:
                hop.advice = "Set namesrvAddr of the broker to this address, and look into the broker's log."
                brokers = read_brokers(response.body)
                if not brokers:
                    raise NetworkError(f"the name server {address} knows no broker")
                hop.note = ", ".join(broker.name for broker in brokers)
        return brokers

    def _keys_advice(self) -> str:
        credentials = self._security.credentials
        if credentials is None:
            return "It asks for keys: give the access key with its secret key."
        return f"Check the keys of {credentials.access_key}, and that this account may read the broker."

    async def _try_brokers(self, brokers: list[BrokerPlace]) -> None:
        places = [(broker.name, number, address) for broker in brokers for number, address in sorted(broker.addresses.items())]
        for name, number, address in places[:ADDRESSES_MAX]:
            title = f"{name}: " if number == 0 else f"{name} ({number}): "
            with contextlib.suppress(_HopFailedError):
                async with self._reached(address, title) as connection:
                    await self._examine(connection, title + address)
                    connection.credentials = self._security.credentials
                    self._grpc_ports[address] = await _grpc_port(connection)
        if len(places) > ADDRESSES_MAX:
            async with self._hop(BROKERS, "") as hop:
                hop.note = f"not tried: {len(places) - ADDRESSES_MAX:,} more"

    # ---- the gRPC port ---------------------------------------------------------------------------------------------------

    async def _try_grpc(self, brokers: list[BrokerPlace]) -> None:
        if self._grpc:
            with contextlib.suppress(_HopFailedError):
                await self._try_grpc_at(self._grpc, is_given=True)
            return
        registered = [one for broker in brokers for one in broker.addresses.values()]
        used = [(self._security.addresses.get(one, one), self._grpc_ports.get(one) or str(GRPC_PORT)) for one in registered]
        places = list(dict.fromkeys(address_of(host_of(address), port) for address, port in used if ":" in address))
        for place in places[:ADDRESSES_MAX]:
            with contextlib.suppress(_HopFailedError):
                await self._try_grpc_at(place, is_given=False)

    async def _try_grpc_at(self, address: str, *, is_given: bool) -> None:
        """Make a call in plain text and one in TLS, because each SDK uses one of them by itself."""
        async with self._hop(GRPC, address) as hop:
            hop.advice = "Check host and port (8081 is usual), and that a proxy or Orbit runs there with gRPC on."
            served, faults = [], list[NetworkError | CodecError]()
            for words, encrypted in (("plain text", False), ("TLS", True)):
                try:
                    answer = await probe_grpc(address, encrypted=encrypted, limits=self._limits, dialer=self._dialer)
                except (NetworkError, CodecError) as error:
                    faults.append(error)
                    continue
                if not answer.serves_rocketmq:
                    hop.advice = "What answers is another service of gRPC, or it is starting."
                    raise NetworkError(f"{address} answered a call of RocketMQ with status {answer.status}: {answer.text}")
                served.append(words)
            if not served and is_given:
                raise faults[0]
            if served:
                hop.note = f"serves {', '.join(served)}"
            else:
                hop.note = "nothing for SDKs of RocketMQ 5 answers here; state the address of a proxy by --grpc"

    async def _examine(self, connection: Connection, shown: str) -> None:
        credentials = self._security.credentials
        async with self._hop(CREDENTIALS, shown) as hop:
            hop.advice = "What answers is perhaps no broker."
            answer = await _figures(connection)
            if _is_refusal(answer):
                hop.advice = self._keys_advice()
            elif answer.code == ResponseCode.SYSTEM_ERROR:
                hop.advice = "It cannot tell its figures: look into its log, or try again if it has just started."
            _check(shown, answer)
            connection.credentials = None
            unsigned = answer if credentials is None else await connection.request(_runtime_request())
            is_open = unsigned.code == ResponseCode.SUCCESS
            hop.note = "no keys" if is_open else f"{credentials.access_key if credentials else ''} is let in"
        async with self._hop(VERSION, shown) as hop:
            hop.advice = "What answers is perhaps no broker."
            hop.note = _version(answer)


async def _figures(connection: Connection) -> RemotingCommand:
    """The answer to a request for figures, repeated while the broker fails to report them."""
    for _ in range(FIGURES_TRIES - 1):
        answer = await connection.request(_runtime_request())
        if answer.code != ResponseCode.SYSTEM_ERROR or _is_refusal(answer):
            return answer
        await asyncio.sleep(FIGURES_PAUSE_S)
    return await connection.request(_runtime_request())


async def _grpc_port(connection: Connection) -> str:
    """Port of gRPC that a broker serves itself; empty where it does not, or its settings may or can not be read."""
    with contextlib.suppress(NetworkError, CodecError):
        answer = await connection.request(RemotingCommand(RequestCode.GET_BROKER_CONFIG))
        return grpc_port_of(read_broker_settings(answer.body)) if answer.code == ResponseCode.SUCCESS else ""
    return ""


def _runtime_request() -> RemotingCommand:
    return RemotingCommand(RequestCode.GET_BROKER_RUNTIME_INFO)


def _version(answer: RemotingCommand) -> str:
    version = read_runtime(answer.body).get("brokerVersionDesc")
    if not version:
        raise CodecError("the broker does not tell its version")
    return version


def _check(address: str, response: RemotingCommand) -> None:
    if response.code != ResponseCode.SUCCESS:
        refusal = account_refusal(address, response)
        if refusal:
            raise AccountRefusedError(refusal, code=response.code, address=address)
        remark = (response.remark or "no reason given").splitlines()[0]
        raise RemoteError(f"{address} refused with code {response.code}: {remark}", code=response.code, address=address)


def _is_refusal(answer: RemotingCommand) -> bool:
    """Whether the account is refused: 5.x has a code for that, 4.x only words (Source: docs/spec/remoting.md §7)."""
    remark = (answer.remark or "").lower()
    return answer.code == ResponseCode.NO_PERMISSION or (
        answer.code != ResponseCode.SUCCESS and any(word in remark for word in _REFUSALS)
    )


def _is_number(host: str) -> bool:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host.partition("%")[0])
        return True
    return False
