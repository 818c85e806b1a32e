"""The connection doctor against our own servers: what each hop says, and what is not tried behind a fault."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trustme

from broker_core.cluster.access import access_of_line
from broker_core.config import BrokerConfig, RemotingLimits, StoreConfig
from broker_core.native import library
from broker_core.protocol.codes import ResponseCode
from broker_core.tools.commands import doctor as doctor_command
from broker_core.tools.doctor import ANSWER, BROKERS, CREDENTIALS, NAME, PORT, PROXY, TLS, TUNNEL, VERSION, Doctor
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


async def examined(name_servers, **parts):
    """Hops that were tried, in order."""
    told = []
    access = access_of_line(json.dumps({"nameServers": name_servers, **parts}).encode())
    doctor = Doctor(access, told.append, limits=PATIENT)
    await doctor.run()
    begun, ended = [hop for hop in told if not hop.is_tried], [hop for hop in told if hop.is_tried]
    assert [(hop.name, hop.address) for hop in begun] == [(hop.name, hop.address) for hop in ended]
    assert doctor.faults == sum(bool(hop.fault) for hop in ended)
    assert all(hop.advice for hop in ended if hop.fault)
    assert "hidden-secret" not in repr(told)
    return ended


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
            assert hops[-2].note == "the broker asks for no keys"

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
