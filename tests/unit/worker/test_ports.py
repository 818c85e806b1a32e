import dataclasses
import socket

import pytest

from broker_core.config import BrokerConfig
from broker_core.errors import PortInUseError
from broker_core.worker import ports
from broker_core.worker.ports import with_free_ports


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def config(name_server: int, broker: int) -> BrokerConfig:
    return dataclasses.replace(BrokerConfig(), name_server_port=name_server, listen_port=broker, grpc_port=0)


def test_free_ports_are_kept():
    wanted = config(free_port(), 0)
    assert with_free_ports(wanted) == (wanted, "")


def test_both_ports_move_together_when_one_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found, notice = with_free_ports(config(free_port(), port))
    assert found.listen_port > port
    assert notice.startswith(f"{port} is in use by another program; the name server listens on {found.name_server_port}")


def test_the_port_of_grpc_moves_by_itself():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        wanted = dataclasses.replace(config(free_port(), free_port()), grpc_port=port)
        found, notice = with_free_ports(wanted)
        assert (found.name_server_port, found.listen_port) == (wanted.name_server_port, wanted.listen_port)
        assert found.grpc_port > port
        assert notice == f"{port} is in use by another program; gRPC listens on {found.grpc_port}"
        off = dataclasses.replace(wanted, grpc="off")
        assert with_free_ports(off) == (off, "")
        any_port = dataclasses.replace(wanted, listen_port=0)
        assert with_free_ports(any_port) == (any_port, "")


def test_the_notices_of_both_are_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ports, "_is_taken", lambda _host, port: port in (9_876, 8_081))
    found, notice = with_free_ports(dataclasses.replace(BrokerConfig(), name_server_port=9_876, listen_port=10_911))
    assert (found.name_server_port, found.listen_port, found.grpc_port) == (9_877, 10_912, 8_082)
    assert notice == (
        "9876 is in use by another program; the name server listens on 9877, the broker on 10912. "
        "8081 is in use by another program; gRPC listens on 8082"
    )


def test_a_port_of_grpc_that_is_the_brokers_own_moves():
    broker = free_port()
    found, _notice = with_free_ports(dataclasses.replace(config(free_port(), broker), grpc_port=broker))
    assert found.grpc_port != broker


def test_no_free_pair_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ports, "PAIRS_MAX", 3)
    monkeypatch.setattr(ports, "_is_taken", lambda _host, _port: True)
    with pytest.raises(PortInUseError, match="--ns-port") as caught:
        with_free_ports(config(65_534, 65_535))
    assert caught.value.context["port"] == 65_534
