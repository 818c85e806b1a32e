"""A real RocketMQ on a store directory, and the questions that show what it serves from it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import struct
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from broker_core.client.admin import AdminClient
from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.transport.client import ConnectionPool
from tests.support.foreign_tools import need
from tests.support.remoting_peer import eventually_answers
from tests.support.toolchains import SHORT_LIVED

PEER = Path(__file__).parent / "peer" / "peer"
"""The program that runs a published RocketMQ; `peer` without arguments prints its usage."""

_TAKES_SUBSCRIPTION = 4
_TIMEOUT_MS = 20_000
_FOREVER_MS = (1 << 63) - 1
_PORTS = (12_000, 32_000)
_ENDED_SECONDS = 150.0
_REGISTERED_SECONDS = 120.0
"""A broker whose connection to its name server broke registers again within half a minute."""
_PATIENT = {"waitTimeMillsInSendQueue": "20000"}
"""On a busy machine a send waits for longer than the 200 ms after which a broker refuses it."""


@dataclass
class RealBroker:
    """Starts and stops one; ``store`` is its store directory while it runs and after.

    Args:
        version: For example ``4.9.4``.
        folder: Where it keeps store, logs and configuration.
        settings: Broker settings beside those of the program that starts it.
    """

    version: str
    folder: Path
    settings: Mapping[str, str]

    def __post_init__(self) -> None:
        need("java", "mvn")
        name_server, broker, proxy = free_port(), free_port(), free_port()
        self._environment = {
            **os.environ,
            "PEER_NS_PORT": str(name_server),
            "PEER_PORT": str(broker),
            "PEER_PROXY_PORT": str(proxy),
            "PEER_HEAP": "384m",
            "JAVA_TOOL_OPTIONS": " ".join(SHORT_LIVED),
        }
        self._name_server_again: subprocess.Popen[bytes] | None = None
        self._name_server_line: list[str] = []
        self._name_server_environment: dict[str, str] = {}

    @property
    def store(self) -> Path:
        """The store directory."""
        return self.folder / "store"

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self._environment['PEER_PORT']}"

    @property
    def name_server(self) -> str:
        """Where its name server listens."""
        return f"127.0.0.1:{self._environment['PEER_NS_PORT']}"

    def start(self) -> None:
        """Start it; skips the test if it cannot be had, fails if it does not take the store."""
        settings = [f"{key}={value}" for key, value in (_PATIENT | dict(self.settings)).items()]
        done = self._run("start", self.version, str(self.folder), *settings)
        if done.returncode:
            said = "".join(
                path.read_text("utf-8", "replace")[-1_500:] for path in [self.folder / "broker.log"] if path.exists()
            )
            raise AssertionError(f"RocketMQ {self.version} does not start: {done.stderr[-500:]} {said}")

    @property
    def grpc_port(self) -> int:
        """Where its proxy listens for gRPC, once `start_proxy` has returned."""
        return int(self._environment["PEER_PROXY_PORT"])

    def start_proxy(self) -> None:
        """Start a RocketMQ Proxy in cluster mode before it, which `stop` ends with it."""
        self.until_registered()
        done = self._run("proxy", self.version, str(self.folder))
        assert done.returncode == 0, done.stderr[-1_500:]

    def until_registered(self) -> None:
        """Wait until its name server leads to it: on a busy machine that may come late, or be lost for half a minute."""

        async def is_registered() -> bool:
            async with AdminClient(self.name_server) as admin:
                try:
                    return self.address in (await admin.master_addresses()).values()
                except (NetworkError, RemoteError):
                    return False

        asyncio.run(eventually_answers(is_registered, _REGISTERED_SECONDS))

    def stop(self, *, kill: bool = False) -> None:
        """End it, in good order or by force; returns when it is gone, which may take it longer than its program waits."""
        files = [self.folder / f"{name}.pid" for name in ("proxy", "broker", "namesrv")]
        processes = [int(path.read_text()) for path in files if path.exists()]
        assert self._run("kill" if kill else "stop", str(self.folder)).returncode == 0
        self._until_ended(processes)
        if self._name_server_again is not None:
            self._name_server_again.wait(_ENDED_SECONDS)
            self._name_server_again = None

    def stop_name_server(self) -> None:
        """End its name server alone, by force; the broker goes on."""
        running = psutil.Process(int(self._name_server_file.read_text()))
        self._name_server_line, self._name_server_environment = running.cmdline(), running.environ()
        running.kill()
        self._until_ended([running.pid])

    def start_name_server(self) -> None:
        """Start the name server again that `stop_name_server` ended; it knows nobody until brokers register again."""
        with (self.folder / "namesrv.log").open("ab") as log:
            self._name_server_again = subprocess.Popen(
                self._name_server_line, env=self._name_server_environment, stdout=log, stderr=log, start_new_session=True
            )
        self._name_server_file.write_text(str(self._name_server_again.pid))
        host, _colon, port = self.name_server.rpartition(":")
        deadline = time.monotonic() + _REGISTERED_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 5):
                return
            assert self._name_server_again.poll() is None, f"the name server of RocketMQ {self.version} does not start"
            assert time.monotonic() < deadline, f"the name server of RocketMQ {self.version} does not listen"
            time.sleep(0.05)

    @property
    def _name_server_file(self) -> Path:
        return self.folder / "namesrv.pid"

    def _until_ended(self, processes: list[int]) -> None:
        deadline = time.monotonic() + _ENDED_SECONDS
        while any(map(_runs, processes)):
            assert time.monotonic() < deadline, f"RocketMQ {self.version} does not end"
            time.sleep(0.05)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(PEER), *arguments]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False, timeout=200)


def free_port() -> int:
    """A port that is free now with its neighbours, which RocketMQ takes too.

    Not one of those that systems give to connections: it would be taken again while Java starts.
    """
    while True:
        port = random.randrange(*_PORTS)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for neighbour in (port - 2, port, port + 1):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", neighbour))
            return port


class Questions:
    """What a broker is asked, over one connection."""

    def __init__(self, pool: ConnectionPool, address: str) -> None:
        self._pool = pool
        self._address = address

    async def records(self, topic: str, queue_id: int) -> list[bytes]:
        """All records of a queue, from its min to its max offset, as they are stored."""
        offset = await self._number(RequestCode.GET_MIN_OFFSET, topic, queue_id)
        end = await self._number(RequestCode.GET_MAX_OFFSET, topic, queue_id)
        found: list[bytes] = []
        while offset < end:
            fields = {
                "consumerGroup": "orbit-store-test", "topic": topic, "queueId": str(queue_id), "queueOffset": str(offset),
                "maxMsgNums": "32", "sysFlag": str(_TAKES_SUBSCRIPTION), "commitOffset": "0", "suspendTimeoutMillis": "0",
                "subscription": "*", "subVersion": "0", "expressionType": "TAG",
            }  # fmt: skip
            answer = await self._ask(RequestCode.PULL_MESSAGE, fields)
            assert answer.code == ResponseCode.SUCCESS, f"{topic}/{queue_id} at {offset}: {answer.code} {answer.remark}"
            found += split_records(bytes(answer.body))
            offset = int(answer.ext_fields["nextBeginOffset"])
        return found

    async def by_key(self, topic: str, key: str) -> list[bytes]:
        """Records that carry a key."""
        fields = {"topic": topic, "key": key, "maxNum": "64", "beginTimestamp": "0", "endTimestamp": str(_FOREVER_MS)}
        answer = await self._ask(RequestCode.QUERY_MESSAGE, fields)
        return split_records(bytes(answer.body)) if answer.code == ResponseCode.SUCCESS else []

    async def _number(self, code: RequestCode, topic: str, queue_id: int) -> int:
        answer = await self._ask(code, {"topic": topic, "queueId": str(queue_id)})
        assert answer.code == ResponseCode.SUCCESS, (topic, answer.code, answer.remark)
        return int(answer.ext_fields["offset"])

    async def _ask(self, code: RequestCode, fields: dict[str, str]) -> RemotingCommand:
        return await self._pool.request(self._address, RemotingCommand(code, fields), _TIMEOUT_MS)


def _runs(process: int) -> bool:
    """Whether it is there and no zombie, which may stay where nobody waits for orphans."""
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def split_records(data: bytes) -> list[bytes]:
    """Records that lie one behind the other."""
    found, position = [], 0
    while position < len(data):
        (size,) = struct.unpack_from(">i", data, position)
        found.append(data[position : position + size])
        position += size
    return found
