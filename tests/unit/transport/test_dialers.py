"""Connections over a SOCKS proxy and through an SSH tunnel, and what is said where they are refused."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace

import asyncssh
import pytest
import trustme

from broker_core.config import RemotingLimits
from broker_core.errors import NetworkError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.transport import dialers, ssh_tunnel
from broker_core.transport.client import ConnectionPool
from broker_core.transport.dialers import dialer_of
from broker_core.transport.event_loop import new_event_loop
from broker_core.transport.proxies import SocksProxy, SshTunnel
from broker_core.transport.server import RemotingServer
from broker_core.transport.tls import TlsServer
from tests.support.ways import PASSWORD, USER, know_host, socks_proxy, ssh_keys, ssh_server

BODY = b"x" * 300_000
PATIENT_MS = 100_000


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return ssh_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def closed_port():
    """A port that nobody listens on, and nobody else can take."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    def run_on(scenario):
        with asyncio.Runner(loop_factory=None if request.param == "asyncio" else new_event_loop) as runner:
            runner.run(scenario)

    return run_on


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    for module in (dialers, ssh_tunnel):
        monkeypatch.setattr(module, "WAY_TIMEOUT_MS", PATIENT_MS)


@asynccontextmanager
async def pool_over(way, **options):
    limits = RemotingLimits(connect_timeout_ms=PATIENT_MS, request_timeout_ms=PATIENT_MS)
    pool = ConnectionPool(way=way, limits=limits, **options)
    try:
        yield pool
    finally:
        await pool.close()


async def echoed(pool, address, body=BODY):
    """The body that comes back from a peer."""
    return (await pool.request(address, RemotingCommand(RequestCode.HEART_BEAT, body=body))).body


@asynccontextmanager
async def echoing(tls=None):
    """A server that gives bodies back."""
    server = RemotingServer("127.0.0.1", 0, lambda _connection, command: command.reply(body=bytes(command.body)), tls=tls)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def tunnel(keys, port, **changes):
    know_host(keys, port)
    return replace(SshTunnel("127.0.0.1", port, keys.user, keys.key, known_hosts=keys.known_hosts), **changes)


# ---- SOCKS -------------------------------------------------------------------------------------------------------------


def test_a_proxy_resolves_names_and_the_map_comes_before_it(run):
    async def scenario():
        async with socks_proxy() as proxy, echoing() as peer:
            port = peer.address.rpartition(":")[2]
            mapped = {"10.0.0.9:1": f"inside.invalid:{port}"}
            async with pool_over(SocksProxy("127.0.0.1", proxy.port), addresses=mapped) as pool:
                assert await echoed(pool, f"inside.invalid:{port}") == BODY
                assert await echoed(pool, "10.0.0.9:1") == BODY
                assert (await pool.get("10.0.0.9:1")).remote_address == f"inside.invalid:{port}"
            assert proxy.asked == [f"inside.invalid:{port}"] * 2

    run(scenario())


def test_a_proxy_with_a_user_lets_the_right_password_in_alone():
    async def scenario():
        async with socks_proxy(with_password=True) as proxy, echoing() as peer:
            way = SocksProxy("127.0.0.1", proxy.port, USER, PASSWORD)
            async with pool_over(way) as pool:
                assert await echoed(pool, peer.address) == BODY
            for wrong in (replace(way, password="guessed"), replace(way, user="", password="")):
                async with pool_over(wrong) as pool:
                    with pytest.raises(NetworkError, match="the SOCKS proxy") as refused:
                        await echoed(pool, peer.address)
                    assert "guessed" not in str(refused.value)
            assert PASSWORD not in repr(way)

    asyncio.run(scenario())


def test_which_of_proxy_and_server_is_not_there_is_said(closed_port):
    async def scenario():
        async with socks_proxy() as proxy, pool_over(SocksProxy("127.0.0.1", proxy.port)) as pool:
            with pytest.raises(NetworkError, match=f"the SOCKS proxy 127.0.0.1:{proxy.port} does not connect to 127.0.0.1:"):
                await pool.get(f"127.0.0.1:{closed_port}")
        way = SocksProxy("127.0.0.1", closed_port)
        async with pool_over(way) as pool:
            with pytest.raises(
                NetworkError, match=rf"cannot connect to the SOCKS proxy 127.0.0.1:{closed_port} \(Connection refused"
            ):
                await pool.get("10.0.0.9:9876")
        with pytest.raises(
            NetworkError, match=rf"cannot connect to the SOCKS proxy 127.0.0.1:{closed_port} \(Connection refused"
        ):
            await dialer_of(way).open()

    asyncio.run(scenario())


# ---- SSH ---------------------------------------------------------------------------------------------------------------


def test_one_log_in_carries_all_connections_and_is_made_anew_when_it_is_lost(run, keys):
    async def scenario():
        async with ssh_server(keys) as server, echoing() as first, echoing() as second:
            way = tunnel(keys, server.port)
            async with pool_over(way) as pool:
                assert await echoed(pool, first.address) == BODY
                assert await echoed(pool, second.address) == BODY
                assert (server.asked, len(server.logins)) == ([first.address, second.address], 1)
                connection = await pool.get(first.address)
                assert connection.remote_address == first.address
                server.logins[0].abort()
                await connection.wait_closed()
                assert await echoed(pool, first.address) == BODY
                assert len(server.logins) == 2

    run(scenario())


def test_tls_works_inside_the_tunnel_and_checks_the_certificate(run, keys):
    authority = trustme.CA()
    serving, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(serving)
    authority.configure_trust(trusting)

    async def scenario():
        async with ssh_server(keys) as server, echoing(TlsServer(serving, plain_allowed=False)) as peer:
            async with pool_over(tunnel(keys, server.port), tls=trusting) as pool:
                assert await echoed(pool, peer.address) == BODY
            async with pool_over(tunnel(keys, server.port), tls=ssl.create_default_context()) as pool:
                with pytest.raises(NetworkError, match="TLS handshake"):
                    await pool.get(peer.address)

    run(scenario())


def test_a_connection_that_the_server_ends_is_ended_here_too(keys):
    async def scenario():
        async with ssh_server(keys) as server, pool_over(tunnel(keys, server.port)) as pool:
            async with echoing() as peer:
                connection = await pool.get(peer.address)
                assert await echoed(pool, peer.address) == BODY
            async with asyncio.timeout(60):
                await connection.wait_closed()
            assert peer.address not in pool.addresses

    asyncio.run(scenario())


def test_a_locked_key_is_opened_by_its_passphrase(keys):
    async def scenario():
        async with ssh_server(keys) as server, echoing() as peer:
            way = tunnel(keys, server.port, key_file=keys.locked_key, passphrase=keys.passphrase)
            async with pool_over(way) as pool:
                assert await echoed(pool, peer.address) == BODY
            assert keys.passphrase not in repr(way)
            for passphrase, words in (("guessed", "its passphrase is another"), ("", "give its passphrase")):
                dialer = dialer_of(replace(way, passphrase=passphrase))
                with pytest.raises(NetworkError, match=words) as refused:
                    await dialer.open()
                assert "guessed" not in str(refused.value)
                await dialer.close()

    asyncio.run(scenario())


async def refusal(way):
    dialer = dialer_of(way)
    try:
        with pytest.raises(NetworkError) as refused:
            await dialer.open()
    finally:
        await dialer.close()
    return refused.value.message


def test_a_server_whose_key_is_not_known_is_refused_and_nothing_is_sent(keys, tmp_path):
    async def scenario():
        async with ssh_server(keys) as server:
            way = tunnel(keys, server.port)
            nobody = tmp_path / "empty"
            nobody.write_text("")
            said = await refusal(replace(way, known_hosts=nobody))
            assert f"is not in {nobody}" in said
            assert keys.host_key.get_fingerprint() in said
            assert f"ssh-keyscan -p {server.port} 127.0.0.1 >> {nobody}" in said
            know_host(keys, server.port, asyncssh.generate_private_key("ssh-ed25519"))
            assert "somebody may be in between" in await refusal(way)
            assert "there is no file of known hosts" in await refusal(replace(way, known_hosts=tmp_path / "none"))
            assert server.asked == []

    asyncio.run(scenario())


def test_without_a_file_of_its_own_the_users_known_hosts_count(keys, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    async def scenario():
        async with ssh_server(keys) as server:
            way = tunnel(keys, server.port, known_hosts=None)
            assert f"is not in {tmp_path / '.ssh' / 'known_hosts'}" in await refusal(way)
            (tmp_path / ".ssh").mkdir()
            (tmp_path / ".ssh" / "known_hosts").write_bytes(keys.known_hosts.read_bytes())
            dialer = dialer_of(way)
            assert "AsyncSSH" in await dialer.open()
            await dialer.close()

    asyncio.run(scenario())


def test_another_key_is_not_let_in_and_what_can_be_done_is_said(keys, tmp_path, closed_port):
    async def scenario():
        async with ssh_server(keys) as server:
            way = tunnel(keys, server.port)
            assert "does not let bob in with the key" in await refusal(replace(way, key_file=keys.other_key))
            assert "cannot be read" in await refusal(replace(way, key_file=tmp_path / "none"))
            assert "cannot log in to the SSH server" in await refusal(replace(way, port=closed_port))
            async with pool_over(way) as pool:
                with pytest.raises(NetworkError, match=f"does not connect to 127.0.0.1:{closed_port}"):
                    await pool.get(f"127.0.0.1:{closed_port}")

    asyncio.run(scenario())
