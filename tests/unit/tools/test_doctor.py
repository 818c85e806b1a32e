"""The connection doctor against our own servers: what each hop says, and what is not tried behind a fault."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trustme

from broker_core.cluster.access import access_of_line
from broker_core.config import BrokerConfig, RemotingLimits, StoreConfig
from broker_core.errors import CodecError, NetworkError
from broker_core.native import library
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.grpc.framing import GrpcStatus, trailers
from broker_core.protocol.http2.frames import ErrorCode, Flag, FrameType, frame, goaway, reset, settings_frame
from broker_core.protocol.http2.header_blocks import RESPONSE
from broker_core.tools import doctor as doctor_module
from broker_core.tools.commands import doctor as doctor_command
from broker_core.tools.doctor import ANSWER, BROKERS, CREDENTIALS, GRPC, NAME, PORT, PROXY, TLS, TUNNEL, VERSION, Doctor
from broker_core.transport.grpc_probe import probe_grpc
from tests.support.broker_bench import SMALL_FILES
from tests.support.embedded import started
from tests.support.machine_code import library as machine_code
from tests.support.remoting_peer import Peer
from tests.support.ways import know_host, socks_proxy, ssh_keys, ssh_server

RULES = "accounts:\n- {accessKey: shop-user, secretKey: hidden-secret, admin: true}\n"
PATIENT = RemotingLimits(connect_timeout_ms=100_000, request_timeout_ms=100_000)
KEYS = {"accessKey": "shop-user", "secretKey": "hidden-secret"}


@asynccontextmanager
async def secured(folder):
    """A broker with accounts and TLS, and the file of its authority."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    server = authority.issue_cert("127.0.0.1")
    server.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    (folder / "accounts.yml").write_text(RULES)
    config = BrokerConfig(
        listen_port=0, name_server_port=0, store=StoreConfig(root=folder / "store", **SMALL_FILES), acl_enabled=True,
        acl_file=folder / "accounts.yml", tls_certificate=folder / "server.pem", tls_key=folder / "server.pem",
    )  # fmt: skip
    async with started(replace(config, tls_mode="enforcing")) as broker:
        yield broker


@asynccontextmanager
async def plain(folder):
    async with started(
        BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=folder / "store", **SMALL_FILES))
    ) as broker:
        yield broker


@pytest.fixture(autouse=True)
def no_usual_port(monkeypatch):
    """The usual gRPC port is closed, whatever runs on this machine."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setattr(doctor_module, "GRPC_PORT", taken.getsockname()[1])
        yield


async def examined(name_servers, *, grpc=None, **parts):
    """Hops that were tried, in order; that of the gRPC port only where its address is given, empty for the usual one."""
    told = []
    access = access_of_line(json.dumps({"nameServers": name_servers, **parts}).encode())
    doctor = Doctor(access, told.append, grpc=grpc or "", limits=PATIENT)
    await doctor.run()
    begun, ended = [hop for hop in told if not hop.is_tried], [hop for hop in told if hop.is_tried]
    assert [(hop.name, hop.address) for hop in begun] == [(hop.name, hop.address) for hop in ended]
    assert doctor.faults == sum(bool(hop.fault) for hop in ended)
    assert all(hop.advice for hop in ended if hop.fault)
    assert "hidden-secret" not in repr(told)
    return ended if grpc is not None else [hop for hop in ended if hop.name != GRPC]


def names(hops):
    return [hop.name for hop in hops]


def test_every_hop_of_a_secured_broker_is_tried_through_the_map(tmp_path):
    async def scenario():
        async with secured(tmp_path) as broker:
            tls = {"tls": True, "authority": str(tmp_path / "authority.pem")}
            mapped = {"inside.invalid:9876": broker.name_server_address}
            hops = await examined("inside.invalid:9876", **KEYS, **tls, addresses=mapped)
            assert names(hops) == [PORT, TLS, ANSWER, BROKERS, PORT, TLS, CREDENTIALS, VERSION]
            assert [hop.fault for hop in hops] == [""] * 8
            assert hops[0].address == f"inside.invalid:9876 → {broker.name_server_address}"
            assert [hop.note for hop in hops[-2:]] == ["shop-user is let in", hops[-1].note]
            assert re.fullmatch(r"V\d_\d+_\d+", hops[-1].note)
            assert all(hop.took_ms >= 0 for hop in hops)

            distrusting = await examined(broker.name_server_address, **KEYS, tls=True)
            assert names(distrusting) == [PORT, TLS]
            assert "file of authorities" in distrusting[-1].advice
            guessed = await examined(broker.name_server_address, accessKey="shop-user", secretKey="guessed", **tls)
            assert names(guessed) == [PORT, TLS, ANSWER]
            assert "Check the keys of shop-user" in guessed[-1].advice
            unsigned = await examined(broker.name_server_address, **tls)
            assert "give the access key" in unsigned[-1].advice
            in_plain_text = await examined(broker.name_server_address)
            assert names(in_plain_text) == [PORT, ANSWER]
            assert "wants TLS" in in_plain_text[-1].advice

    asyncio.run(scenario())


def test_names_are_resolved_and_one_that_is_not_stops_its_own_server_alone(tmp_path):
    async def scenario():
        async with plain(tmp_path) as broker:
            port = broker.name_server_address.rpartition(":")[2]
            hops = await examined(f"nowhere.invalid:9876; localhost:{port}")
            assert names(hops) == [NAME, NAME, PORT, ANSWER, BROKERS, PORT, CREDENTIALS, VERSION]
            assert "the name nowhere.invalid cannot be resolved" in hops[0].fault
            assert "127.0.0.1" in hops[1].note
            assert hops[-2].note == "no keys"

    asyncio.run(scenario())


def test_a_broker_that_does_not_answer_where_it_registered_needs_the_map():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{taken.getsockname()[1]}"

        async def scenario():
            async with Peer() as peer:
                peer.script[106] = [lambda _, command: command.reply(body=_brokers(closed))] * 2
                hops = await examined(peer.address)
                assert names(hops) == [PORT, ANSWER, BROKERS, PORT]
                assert hops[-1].address == f"broker-a: {closed}"
                assert f"replace it: {closed} = HOST:PORT" in hops[-1].advice
                hops = await examined(peer.address, addresses={closed: peer.address})
                assert hops[3].address == f"broker-a: {closed} → {peer.address}"
                assert hops[3].fault == ""

        asyncio.run(scenario())


def test_a_broker_that_has_just_started_is_asked_for_its_figures_again(monkeypatch):
    monkeypatch.setattr("broker_core.tools.doctor.FIGURES_PAUSE_S", 0.001)

    async def scenario():
        async with Peer() as peer:
            peer.script[106] = [lambda _, command: command.reply(body=_brokers(peer.address))] * 3
            remark = "java.util.NoSuchElementException, java.util.LinkedList.getLast(LinkedList.java:260)"
            failed = lambda _, command: command.reply(ResponseCode.SYSTEM_ERROR, remark)  # noqa: E731
            told = lambda _, command: command.reply(body=b'{"table":{"brokerVersionDesc":"V4_9_4"}}')  # noqa: E731
            peer.script[28] = [failed, failed, told]
            hops = await examined(peer.address)
            assert (names(hops)[-2:], hops[-1].note) == ([CREDENTIALS, VERSION], "V4_9_4")

            peer.script[28] = [failed] * 20
            hops = await examined(peer.address)
            assert names(hops)[-1] == CREDENTIALS
            assert "try again if it has just started" in hops[-1].advice
            assert 1 < 20 - len(peer.script[28]) < 20

            peer.script[28] = [lambda _, command: command.reply(ResponseCode.SYSTEM_ERROR, "acl: no permission")] * 20
            assert "asks for keys" in (await examined(peer.address))[-1].advice
            assert len(peer.script[28]) == 19

    asyncio.run(scenario())


def test_brokers_that_are_too_many_to_try_are_counted(monkeypatch):
    monkeypatch.setattr("broker_core.tools.doctor.ADDRESSES_MAX", 0)

    async def scenario():
        async with Peer() as peer:
            peer.script[106] = [lambda _, command: command.reply(body=_brokers(peer.address))]
            hops = await examined(peer.address)
            assert names(hops) == [PORT, ANSWER, BROKERS, BROKERS]
            assert (hops[-1].note, hops[-1].fault) == ("not tried: 1 more", "")

    asyncio.run(scenario())


def test_what_is_no_name_server_or_knows_nobody_is_said():
    async def scenario():
        async with Peer() as peer:
            peer.script[106] = [
                lambda _, command: command.not_supported(),
                lambda _, command: command.reply(body=b'{"brokerAddrTable":{},"clusterAddrTable":{}}'),
                lambda _, command: command.reply(body=b"what?"),
            ]
            hops = await examined(peer.address)
            assert (names(hops), "looks like a broker" in hops[-1].advice) == ([PORT, ANSWER], True)
            hops = await examined(peer.address)
            assert (names(hops), "knows no broker" in hops[-1].fault) == ([PORT, ANSWER, BROKERS], True)
            assert names(await examined(peer.address))[-1] == BROKERS

    asyncio.run(scenario())


def test_the_proxy_or_the_tunnel_is_the_first_hop(tmp_path):
    keys = ssh_keys(tmp_path)

    async def scenario():
        async with plain(tmp_path) as broker, socks_proxy() as proxy, ssh_server(keys) as server:
            port = broker.name_server_address.rpartition(":")[2]
            hops = await examined(f"inside.invalid:{port}", socks=f"127.0.0.1:{proxy.port}")
            assert names(hops) == [PROXY, PORT, ANSWER, BROKERS, PORT, CREDENTIALS, VERSION]
            tunnel = {"ssh": f"127.0.0.1:{server.port}", "sshUser": "bob", "sshKey": str(keys.key)}
            hops = await examined(broker.name_server_address, **tunnel, sshKnownHosts=str(keys.known_hosts))
            assert names(hops) == [TUNNEL]
            know_host(keys, server.port)
            hops = await examined(broker.name_server_address, **tunnel, sshKnownHosts=str(keys.known_hosts))
            assert names(hops) == [TUNNEL, PORT, ANSWER, BROKERS, PORT, CREDENTIALS, VERSION]

    asyncio.run(scenario())


def test_the_command_prints_each_hop_and_fails_with_one(capsys, tmp_path):
    async def scenario():
        async with plain(tmp_path) as broker:
            right, wrong = ["--ns", broker.name_server_address], ["--ns", f"{broker.name_server_address};nowhere.invalid:1"]
            return [await asyncio.to_thread(doctor_command.main, words) for words in (right, [*wrong, "--json"])]

    codes = asyncio.run(scenario())
    assert codes == [0, doctor_command.EXIT_FAULTS]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["ok", "Machine"], ["ok", "Port"]]
    found = [json.loads(one) for one in lines if one.startswith("{")]
    assert [hop["name"] for hop in found if hop["fault"]] == [NAME]


@pytest.mark.parametrize(
    ("switch", "said"), [("on", "  used"), ("off", "  not used: ORBIT_NATIVE=off switches machine code off")]
)
def test_without_a_cluster_it_says_whether_there_is_machine_code(capsys, monkeypatch, switch, said):
    monkeypatch.setenv("ORBIT_NATIVE", switch)
    monkeypatch.setattr(library, "_loaded", machine_code)
    assert doctor_command.main([]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("ok      Machine code")
    assert line.endswith(said)


def _brokers(address):
    return json.dumps({"brokerAddrTable": {"broker-a": {"brokerName": "broker-a", "brokerAddrs": {"0": address}}}}).encode()


# ---- the gRPC port -------------------------------------------------------------------------------------------------------


def test_the_grpc_port_is_tried_in_plain_text_and_tls(tmp_path, monkeypatch):
    async def scenario():
        async with plain(tmp_path) as broker:
            given = (await examined(broker.name_server_address, grpc=broker.grpc_address))[-1]
            assert (given.name, given.address, given.fault) == (GRPC, broker.grpc_address, "")
            assert given.note == "serves plain text, TLS"
            assert given.took_ms >= 0
            named = (await examined(broker.name_server_address, grpc=""))[-1]
            assert (named.address, named.note) == (broker.grpc_address, "serves plain text, TLS")
            monkeypatch.setattr(doctor_module, "grpc_port_of", lambda _settings: "")
            monkeypatch.setattr(doctor_module, "GRPC_PORT", broker.grpc.server.port)
            usual = (await examined(broker.name_server_address, grpc=""))[-1]
            assert (usual.address, usual.note) == (broker.grpc_address, "serves plain text, TLS")

    asyncio.run(scenario())


def test_the_port_that_a_broker_with_accounts_names_is_asked_for_with_the_keys(tmp_path):
    async def scenario():
        async with secured(tmp_path) as broker:
            tls = {"tls": True, "authority": str(tmp_path / "authority.pem")}
            hop = (await examined(broker.name_server_address, **KEYS, **tls, grpc=""))[-1]
            assert (hop.address, hop.note) == (broker.grpc_address, "serves TLS")

    asyncio.run(scenario())


def test_a_grpc_port_of_accounts_and_tls_is_told_from_none(tmp_path):
    async def scenario():
        async with secured(tmp_path) as broker:
            tls = {"tls": True, "authority": str(tmp_path / "authority.pem")}
            hop = (await examined(broker.name_server_address, **KEYS, **tls, grpc=broker.grpc_address))[-1]
            assert (hop.note, hop.fault) == ("serves TLS", "")

    asyncio.run(scenario())


def test_a_usual_grpc_port_that_does_not_answer_is_no_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_module, "grpc_port_of", lambda _settings: "")

    async def scenario():
        async with plain(tmp_path) as broker:
            hop = (await examined(broker.name_server_address, grpc=""))[-1]
            assert (hop.name, hop.fault) == (GRPC, "")
            assert hop.note == "nothing for SDKs of RocketMQ 5 answers here; state the address of a proxy by --grpc"

    asyncio.run(scenario())


def test_a_given_address_without_grpc_is_a_fault(tmp_path):
    async def scenario():
        async with plain(tmp_path) as broker:
            remoting = (await examined(broker.name_server_address, grpc=broker.broker_address))[-1]
            assert remoting.fault
            assert "8081 is usual" in remoting.advice
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                closed = f"127.0.0.1:{taken.getsockname()[1]}"
                nobody = (await examined(broker.name_server_address, grpc=closed))[-1]
            assert nobody.fault.startswith(f"cannot connect to {closed}")

    asyncio.run(scenario())


@asynccontextmanager
async def answering(*parts):
    """A port that answers a connection with the same bytes and ends it."""
    served = asyncio.Event()

    async def serve(reader, writer):
        await reader.read(65_536)
        writer.write(b"".join(parts))
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.transport.abort()
        served.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"{host}:{port}"
        await served.wait()
    finally:
        server.close()


SETTINGS = settings_frame({})
ENDS = Flag.END_HEADERS | Flag.END_STREAM


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "speaks no HTTP/2"),
        ([SETTINGS, goaway(0, ErrorCode.PROTOCOL_ERROR, "no")], "serves no gRPC"),
        ([SETTINGS, reset(1, ErrorCode.CANCEL)], "resets the call"),
        ([SETTINGS, frame(FrameType.HEADERS, ENDS, 1, b"\x8d")], "serves HTTP/2 and no gRPC (status 404)"),
        ([SETTINGS, frame(FrameType.HEADERS, ENDS, 1, b"\xff\xff\xff\xff\xff\xff")], "cannot be read"),
        ([SETTINGS], "ended the connection without an answer"),
        ([b""], "ended the connection without an answer"),
        ([SETTINGS, *[frame(FrameType.DATA, 0, 3, bytes(16_000))] * 5], "speaks no HTTP/2"),
    ],
)
def test_what_is_no_grpc_says_what_it_is(parts, words):
    async def scenario():
        async with answering(*parts) as address:
            with pytest.raises((NetworkError, CodecError), match=re.escape(words)):
                await probe_grpc(address, encrypted=False, limits=PATIENT)

    asyncio.run(scenario())


def test_another_service_of_grpc_is_told_by_its_status():
    end = RESPONSE + trailers(GrpcStatus.UNIMPLEMENTED, "unknown service")

    async def scenario():
        padded = bytes([3, 0, 0, 0, 0, 5]) + end + bytes(3)
        flags = ENDS | Flag.PADDED | Flag.PRIORITY
        for answer in (frame(FrameType.HEADERS, ENDS, 1, end), frame(FrameType.HEADERS, flags, 1, padded)):
            async with answering(SETTINGS, answer) as address:
                found = await probe_grpc(address, encrypted=False, limits=PATIENT)
                assert (found.status, found.text, found.serves_rocketmq) == (12, "unknown service", False)

    asyncio.run(scenario())
