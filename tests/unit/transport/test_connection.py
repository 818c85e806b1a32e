"""Connections over loopback: pairing, times, order, limits, and what a broken peer costs."""

import asyncio
import logging
import os
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from broker_core.config import RemotingLimits
from broker_core.errors import ConnectionLostError, FrameError, NetworkError, RemoteError
from broker_core.protocol.codes import LanguageCode, ResponseCode, SerializeType
from broker_core.protocol.frame import FRAME_BYTES_MAX, FrameDecoder, RemotingCommand, encode_command
from broker_core.transport.client import connect
from broker_core.transport.connection import Connection, RequestTimeoutError
from broker_core.transport.event_loop import new_event_loop
from broker_core.transport.server import RemotingServer
from tests.support.remoting_peer import eventually

ECHO, FAIL, REFUSE, SILENT, HUGE, ASK_BACK = 1, 2, 3, 4, 5, 6


class Server:
    """Serves the codes above; remembers connections and what came."""

    def __init__(self, **limits: int) -> None:
        self.connections: list[Connection] = []
        self.server = RemotingServer(
            "127.0.0.1", 0, self.serve, limits=RemotingLimits(**limits), on_connected=self.connections.append
        )
        self.seen: list[int] = []
        self.silent: list[tuple[Connection, RemotingCommand]] = []

    async def __aenter__(self):
        await self.server.start()
        return self

    async def __aexit__(self, *_):
        await self.server.stop()

    def serve(self, connection, command):
        self.seen.append(command.code)
        if command.code == ECHO:
            return command.reply(ext_fields=command.ext_fields, body=command.body)
        if command.code == FAIL:
            raise ValueError("no such thing")
        if command.code == REFUSE:
            raise RemoteError("not for you", code=16)
        if command.code == HUGE:
            return command.reply(body_slices=[bytes(1024 * 1024)] * 17)
        if command.code == SILENT:
            self.silent.append((connection, command))
            return None
        return command.not_supported()

    async def raw(self):
        return await asyncio.open_connection("127.0.0.1", self.server.port)


async def read_commands(reader, count):
    decoder, commands = FrameDecoder(), []
    while len(commands) < count:
        data = await asyncio.wait_for(reader.read(65536), 60)
        assert data, "the connection ended"
        commands += decoder.feed(data)
    return commands


async def close_writer(writer):
    writer.close()
    await writer.wait_closed()


def test_a_request_gets_its_own_answer_when_answers_come_in_another_order():
    async def run():
        async with Server() as server:
            connection = await connect(server.server.address)
            slow = connection.request(RemotingCommand(SILENT))
            quick = await connection.request(RemotingCommand(ECHO, {"a": "b"}, b"body"))
            assert (quick.ext_fields, quick.body, slow.done()) == ({"a": "b"}, b"body", False)
            held_by, held = server.silent[0]
            held_by.send(held.reply(remark="late"))
            assert (await slow).remark == "late"
            connection.close()
            await connection.wait_closed()

    asyncio.run(run())


def test_many_requests_in_one_write_are_answered_in_one_turn():
    async def run():
        async with Server() as server:
            reader, writer = await server.raw()
            writer.write(b"".join(encode_command(RemotingCommand(ECHO, opaque=number)) for number in range(100)))
            answers = await read_commands(reader, 100)
            assert [answer.opaque for answer in answers] == list(range(100))
            await close_writer(writer)

    asyncio.run(run())


@pytest.mark.parametrize("kind", list(SerializeType))
def test_answers_use_the_header_encoding_of_their_request(kind):
    async def run():
        async with Server() as server:
            reader, writer = await server.raw()
            request = RemotingCommand(ECHO, opaque=1, serialize_type=kind, language=LanguageCode.GO, version=317)
            writer.write(encode_command(request))
            (answer,) = await read_commands(reader, 1)
            assert answer.serialize_type == kind
            seen = server.connections[0]
            assert (seen.language, seen.version, seen.serialize_type) == (LanguageCode.GO, 317, kind)
            await close_writer(writer)

    asyncio.run(run())


def test_faults_of_a_handler_become_answers_and_the_connection_lives_on(caplog):
    async def run():
        async with Server() as server:
            connection = await connect(server.server.address)
            failed = await connection.request(RemotingCommand(FAIL))
            refused = await connection.request(RemotingCommand(REFUSE))
            unknown = await connection.request(RemotingCommand(999))
            huge = await connection.request(RemotingCommand(HUGE))
            assert failed.code == ResponseCode.SYSTEM_ERROR
            assert failed.remark.startswith("ValueError: no such thing, test_connection.py:")
            assert (refused.code, refused.remark) == (16, "not for you")
            assert (unknown.code, unknown.remark) == (3, " request type 999 not supported")
            assert (huge.code, "16,777,216" in huge.remark) == (ResponseCode.SYSTEM_ERROR, True)
            assert (await connection.request(RemotingCommand(ECHO))).code == 0
            connection.close()
            await connection.wait_closed()

    asyncio.run(run())
    assert "request 2 from 127.0.0.1:" in caplog.text


def test_oneway_requests_are_never_answered():
    async def run():
        async with Server() as server:
            reader, writer = await server.raw()
            oneways = [RemotingCommand(code, opaque=1, flag=2) for code in (ECHO, FAIL, REFUSE, 999)]
            writer.write(b"".join(map(encode_command, [*oneways, RemotingCommand(ECHO, opaque=2)])))
            assert [answer.opaque for answer in await read_commands(reader, 1)] == [2]
            await close_writer(writer)

    asyncio.run(run())


def test_both_ends_may_ask_with_the_same_opaque():
    async def run():
        async with Server() as server:
            served = []

            def serve(_connection, command):
                served.append(command.opaque)
                return command.reply(remark="from the client")

            connection = await connect(server.server.address, handler=serve)
            waiting = connection.request(RemotingCommand(SILENT))
            await eventually(lambda: server.silent)
            back = await server.connections[0].request(RemotingCommand(ASK_BACK))
            assert (back.remark, served, waiting.done()) == ("from the client", [1], False)
            held_by, held = server.silent[0]
            assert held.opaque == 1
            held_by.send(held.reply())
            assert (await waiting).code == 0
            connection.close()
            await connection.wait_closed()

    asyncio.run(run())


def test_a_request_without_an_answer_times_out_and_its_late_answer_is_dropped():
    async def run():
        async with Server() as server:
            connection = await connect(server.server.address)
            with pytest.raises(RequestTimeoutError, match=f"did not answer request {SILENT} within 20 ms"):
                await connection.request(RemotingCommand(SILENT), 20)
            held_by, held = server.silent[0]
            held_by.send(held.reply())
            assert (await connection.request(RemotingCommand(ECHO))).code == 0
            connection.close()
            await connection.wait_closed()

    asyncio.run(run())


def test_whoever_asks_is_told_of_the_answer_or_why_there_is_none():
    async def scenario():
        told = []
        async with Server() as server:
            client = await connect(server.server.address)
            client.ask(RemotingCommand(ECHO, {"n": "1"}), 5_000, told.append)
            client.ask(RemotingCommand(SILENT), 20, told.append)
            await eventually(lambda: len(told) == 2)
            assert told[0].ext_fields == {"n": "1"}
            assert isinstance(told[1], RequestTimeoutError)
            client.ask(RemotingCommand(SILENT), 5_000, told.append)
            client.abort("enough")
            await eventually(lambda: len(told) == 3)
            assert isinstance(told[2], ConnectionLostError)

    asyncio.run(scenario())


def test_requests_fail_when_their_connection_ends():
    async def run():
        async with Server() as server:
            connection = await connect(server.server.address)
            waiting = connection.request(RemotingCommand(SILENT))
            await eventually(lambda: server.silent)
            server.connections[0].close()
            with pytest.raises(ConnectionLostError, match="closed by the peer"):
                await waiting
            with pytest.raises(ConnectionLostError):
                await connection.request(RemotingCommand(ECHO))
            assert connection.send(RemotingCommand(ECHO)) is False

    asyncio.run(run())


def test_requests_that_wait_are_bounded():
    async def run():
        async with Server() as server:
            limits = RemotingLimits(pending_requests_max=2)
            connection = await connect(server.server.address, limits=limits)
            waiting = [connection.request(RemotingCommand(SILENT)) for _ in range(2)]
            with pytest.raises(NetworkError, match="2 requests"):
                await connection.request(RemotingCommand(ECHO))
            waiting[0].cancel()
            await asyncio.wait([waiting[0]])
            for _ in range(3):  # each leaves its place to the next
                assert (await connection.request(RemotingCommand(ECHO))).code == 0
            waiting[1].cancel()
            connection.close()
            await connection.wait_closed()

    asyncio.run(run())


def test_a_request_that_is_too_large_fails_alone():
    async def run():
        async with Server() as server:
            connection = await connect(server.server.address)
            with pytest.raises(FrameError):
                await connection.request(RemotingCommand(ECHO, body=bytes(FRAME_BYTES_MAX)))
            assert (await connection.request(RemotingCommand(ECHO))).code == 0
            connection.close()
            await connection.wait_closed()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("garbage", "logged"),
    [
        (b"\xff\xff\xff\xff", "claims 4,294,967,295 bytes"),
        (b"GET / HTTP/1.1\r\n\r\n", "does not speak the RocketMQ remoting protocol"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "it starts a TLS handshake, and this port speaks plain text"),
        (b"\x00\x00\x00\x06\x09\x00\x00\x02{}", "serialize type 9"),
    ],
)
def test_a_broken_frame_ends_that_connection_only(garbage, logged, caplog):
    async def run():
        async with Server() as server:
            healthy = await connect(server.server.address)
            reader, writer = await server.raw()
            writer.write(garbage)
            assert await asyncio.wait_for(reader.read(), 60) == b""
            assert (await healthy.request(RemotingCommand(ECHO))).code == 0
            assert len(server.server.connections) == 1
            healthy.close()
            await close_writer(writer)
            await healthy.wait_closed()

    asyncio.run(run())
    assert logged in caplog.text


def test_who_waits_for_an_answer_of_something_else_than_rocketmq_is_told_once(caplog):
    async def answer(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await close_writer(writer)

    async def run():
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            connection = await connect(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
            with pytest.raises(ConnectionLostError, match="does not speak the RocketMQ remoting protocol"):
                await connection.request(RemotingCommand(ECHO))
            await connection.wait_closed()

    caplog.set_level(logging.WARNING)
    asyncio.run(run())
    assert caplog.records == []


def test_answers_to_what_came_before_a_broken_frame_are_sent():
    async def run():
        async with Server() as server:
            reader, writer = await server.raw()
            writer.write(encode_command(RemotingCommand(ECHO, opaque=9)) + b"\xff\xff\xff\xff")
            assert [answer.opaque for answer in await read_commands(reader, 1)] == [9]
            assert await asyncio.wait_for(reader.read(), 60) == b""
            await close_writer(writer)

    asyncio.run(run())


def test_a_peer_that_does_not_read_is_not_served_further_and_in_the_end_given_up(caplog):
    async def run():
        async with Server(unsent_bytes_high=64 * 1024, unsent_bytes_max=8 * 1024 * 1024) as server:
            _, writer = await server.raw()
            request = encode_command(RemotingCommand(ECHO, body=bytes(512 * 1024)))
            for _ in range(40):
                writer.write(request)
            await eventually(lambda: server.connections and server.connections[0]._reading_paused)
            served = len(server.seen)
            assert served < 40
            peer = server.connections[0]
            for _ in range(9):
                peer.send(RemotingCommand(0, body=bytes(1024 * 1024), flag=1))
            await eventually(lambda: peer.is_closed)
            assert len(server.seen) == served
            writer.transport.abort()

    asyncio.run(run())
    assert "bytes wait for it to read, more than the 8,388,608 allowed" in caplog.text


def test_one_read_cannot_ask_for_more_than_the_bound(caplog):
    big = [bytes(1024)] * 32

    async def run():
        def serve(_connection, command):
            served.append(command.opaque)
            return command.reply(body_slices=big)

        served = []
        limits = RemotingLimits(unsent_bytes_high=1024 * 1024, unsent_bytes_max=1024 * 1024)
        server = RemotingServer("127.0.0.1", 0, serve, limits=limits)
        await server.start()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(encode_command(RemotingCommand(1)) * 5_000)
        await eventually(lambda: served and not server.connections)
        assert len(served) < 600
        writer.transport.abort()
        await server.stop()

    asyncio.run(run())
    assert "more than the 1,048,576 allowed" in caplog.text


def test_nor_can_a_read_whose_requests_are_served_as_bytes():
    big = [bytes(1024)] * 32
    served = []

    async def run():
        high = 1024 * 1024
        async with Server(unsent_bytes_high=high, unsent_bytes_max=16 * high) as server:
            reader, writer = await server.raw()
            await eventually(lambda: server.connections)
            (connection,) = server.connections

            def take(source, position, total):
                opaque = next(FrameDecoder().feed(source[position : position + 4 + total])).opaque
                served.append(opaque)
                head = encode_command(RemotingCommand(0, opaque=opaque, flag=1))
                header_bytes = len(head) - 8
                parts = [struct.pack(">I", 4 + header_bytes + 32 * 1024) + head[4:], *big]
                connection.requests_in += 1
                assert connection.send_parts(parts, sum(map(len, parts)))
                return 4 + total

            connection.express = take
            writer.write(b"".join(encode_command(RemotingCommand(ECHO, opaque=opaque)) for opaque in range(800)))
            await eventually(lambda: connection._reading_paused)
            waiting = len(served)
            assert waiting < 800
            assert connection._transport.get_write_buffer_size() < 2 * high
            answers = await read_commands(reader, 800)
            assert [answer.opaque for answer in answers] == served == list(range(800))
            assert all(len(answer.body) == 32 * 1024 for answer in answers)
            assert connection.requests_in == 800
            assert server.seen == []
            await close_writer(writer)
            await eventually(lambda: connection.is_closed)
            assert not connection.send_parts([b"x"], 1)

    asyncio.run(run())


def test_callbacks_run_once_when_a_connection_ends_also_those_added_later():
    async def run():
        async with Server() as server:
            connection = await connect(server.server.address)
            ended = []
            connection.on_closed(lambda c: ended.append(("early", c)))
            connection.close("enough")
            connection.close("again")
            await connection.wait_closed()
            connection.on_closed(lambda c: ended.append(("late", c)))
            await asyncio.sleep(0)
            assert ended == [("early", connection), ("late", connection)]
            assert connection.close_reason == "enough"

    asyncio.run(run())


def test_nothing_is_logged_when_peers_come_and_go(caplog):
    caplog.set_level(logging.WARNING)

    async def run():
        async with Server() as server:
            for _ in range(3):
                connection = await connect(server.server.address)
                await connection.request(RemotingCommand(ECHO))
                connection.close()
                await connection.wait_closed()
            await eventually(lambda: not server.server.connections)

    asyncio.run(run())
    assert not caplog.records


def test_requests_are_offered_as_bytes_first_and_answered_in_order():
    async def scenario():
        async with Server() as server:
            reader, writer = await server.raw()
            await eventually(lambda: server.connections)
            (connection,) = server.connections

            def take(source, position, total):
                command = next(FrameDecoder().feed(source[position : position + 4 + total]))
                if command.opaque % 2:
                    return 0
                connection.requests_in += 1
                assert connection.send_frame(encode_command(command.reply(77)))
                return 4 + total

            connection.express = take
            for opaque in range(6):
                writer.write(encode_command(RemotingCommand(ECHO, opaque=opaque)))
            answers = await read_commands(reader, 6)
            assert [(answer.opaque, answer.code) for answer in answers] == [
                (0, 77), (1, 0), (2, 77), (3, 0), (4, 77), (5, 0),
            ]  # fmt: skip
            assert connection.requests_in == 6
            assert server.seen == [ECHO] * 3
            assert connection.send_frame(encode_command(RemotingCommand(ECHO, opaque=9)))
            assert [command.opaque for command in await read_commands(reader, 1)] == [9]
            writer.close()
            await eventually(lambda: connection.is_closed)
            assert not connection.send_frame(b"")

    asyncio.run(scenario())


@pytest.mark.parametrize("taken", [None, 1, 70_000, 131_072, BlockingIOError(), ConnectionResetError()])
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, new_event_loop])
def test_large_answers_arrive_whole_and_in_order_however_much_the_system_takes_at_once(monkeypatch, taken, new_loop):
    pieces = [bytes([number]) * 65_536 for number in range(1, 5)]
    written = []

    def writev(descriptor, parts):
        written.append(sum(map(len, parts)))
        if isinstance(taken, OSError):
            raise taken
        return real_writev(descriptor, parts) if taken is None else os.write(descriptor, b"".join(parts)[:taken])

    real_writev = os.writev
    monkeypatch.setattr(os, "writev", writev)

    async def run():
        server = RemotingServer("127.0.0.1", 0, lambda _c, command: command.reply(body_slices=pieces))
        await server.start()
        client = await connect(server.address)
        answers = await asyncio.gather(*(client.request(RemotingCommand(1), 30_000) for _ in range(20)))
        assert all(answer.body == b"".join(pieces) for answer in answers)
        client.close()
        await server.stop()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())
    assert written
    assert min(written) > 262_144


@pytest.mark.parametrize("taken", [None, 0, 1, 40, 1_000, BlockingIOError()])
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, new_event_loop])
def test_what_is_sent_out_of_memory_that_changes_arrives_as_it_was_and_in_order(monkeypatch, taken, new_loop):
    def writev(descriptor, parts):
        if isinstance(taken, OSError):
            raise taken
        return real_writev(descriptor, parts) if taken is None else os.write(descriptor, b"".join(parts)[:taken])

    real_writev = os.writev
    monkeypatch.setattr(os, "writev", writev)

    async def run():
        async with Server() as server:
            reader, writer = await server.raw()
            await eventually(lambda: server.connections)
            (connection,) = server.connections
            memory, sent = bytearray(100), 0
            for number in range(1, 30):
                if number % 7 == 0:
                    assert connection.send_frame(encode_command(RemotingCommand(1, opaque=number)))
                    continue
                frame = encode_command(RemotingCommand(0, opaque=number, body=bytes([number]) * 900))
                memory[:] = frame[:100]
                before = connection.bytes_out
                assert connection.send_out([memoryview(memory), frame[100:]], len(frame))
                sent += connection.bytes_out - before
                memory[:] = bytes(100)
            answers = await read_commands(reader, 29)
            assert [answer.opaque for answer in answers] == list(range(1, 30))
            assert all(answer.body == (b"" if answer.code else bytes([answer.opaque]) * 900) for answer in answers)
            assert bool(sent) is (taken != 0 and not isinstance(taken, OSError)), "the system takes it at once"
            await close_writer(writer)
            await eventually(lambda: connection.is_closed)
            assert not connection.send_out([b"x"], 1)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, new_event_loop])
def test_a_flood_on_one_connection_lets_others_have_their_turn_after_64_kib(new_loop):
    request = encode_command(RemotingCommand(ECHO, body=bytes(1_000)))
    in_one_turn = []

    async def run():
        loop = asyncio.get_running_loop()

        def serve(_connection, command):
            if not in_one_turn or in_one_turn[-1] == "over":
                in_one_turn.append(0)
                loop.call_soon(in_one_turn.append, "over")
            in_one_turn[-1] += 1
            return command.reply()

        server = RemotingServer("127.0.0.1", 0, serve)
        await server.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request * 3_000)
        await read_commands(reader, 3_000)
        await close_writer(writer)
        await server.stop()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())
    turns = [served for served in in_one_turn if served != "over"]
    assert sum(turns) == 3_000
    assert max(turns) <= 64 * 1024 // 1_000 + 1


def test_what_is_sent_now_leaves_before_the_turn_of_the_loop_is_over():
    async def run():
        async with Server() as server:
            client = await connect(server.server.address)
            answer = client.request(RemotingCommand(SILENT))
            await eventually(lambda: server.silent)
            connection, command = server.silent[0]
            assert connection.send_now(command.reply(remark="now"))
            assert connection._unsent == []
            assert (await answer).remark == "now"
            client.close()
            await eventually(lambda: connection.is_closed)
            assert not connection.send_now(command.reply())

    asyncio.run(run())


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, new_event_loop])
def test_a_connection_that_is_slowed_down_is_served_later_and_in_order(new_loop):
    later = []

    async def run():
        loop = asyncio.get_running_loop()
        async with Server() as server:
            reader, writer = await server.raw()
            await eventually(lambda: server.connections)
            connection = server.connections[0]
            connection._loop = FakeTimes(loop, later)
            writer.write(encode_command(RemotingCommand(SILENT)))
            await eventually(lambda: server.silent)
            connection.slow_down()
            connection.slow_down()
            assert len(later) == 1
            writer.write(b"".join(encode_command(RemotingCommand(ECHO, {"n": str(n)})) for n in range(3)))
            other = await connect(server.server.address)
            await other.request(RemotingCommand(FAIL))  # others are served meanwhile
            assert ECHO not in server.seen
            other.close()
            later.pop()()
            answers = await read_commands(reader, 3)
            assert [answer.ext_fields["n"] for answer in answers] == ["0", "1", "2"]
            connection.slow_down()
            await close_writer(writer)
            connection.close("enough")
            await eventually(lambda: connection.is_closed)
            later.pop()()  # it is gone meanwhile

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())


class FakeTimes:
    """A loop whose later calls are kept."""

    def __init__(self, loop, later):
        self._loop = loop
        self._later = later

    def __getattr__(self, name):
        return getattr(self._loop, name)

    def call_later(self, _seconds, call):
        self._later.append(call)


def test_what_goes_through_a_connection_is_counted_the_same_at_both_ends():
    async def run():
        async with Server() as server:
            connection = await connect(server.server.address)
            for size in (0, 70_000):
                await connection.request(RemotingCommand(ECHO, {"name": "x"}, bytes(size)))
            (served,) = server.connections
            assert served.bytes_in == connection.bytes_out > 70_000
            assert served.bytes_out == connection.bytes_in > 70_000
            assert served.connected_at <= served.last_active
            connection.close()

    asyncio.run(run())


def test_loops_of_several_threads_do_not_read_each_others_bytes():
    """Both ends of each are on the loop of their thread; a buffer that they shared would be overwritten within the first."""

    async def echoes(letter):
        async with Server() as running:
            connection = await connect(running.server.address)
            try:
                for number in range(300):
                    body = letter * (20_000 + number)
                    response = await connection.request(RemotingCommand(ECHO, {"of": letter.decode()}, body), 30_000)
                    assert (bytes(response.body), response.ext_fields["of"]) == (body, letter.decode())
            finally:
                connection.close()
                await connection.wait_closed()

    def run(letter):
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(echoes(letter))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(run, (b"a", b"b", b"c", b"d")))
