import os
import threading

import pytest

from broker_core.worker.channel import worker_end as channel
from broker_core.worker.channel.codec import decode_worker_message, encode_message
from broker_core.worker.channel.framing import FrameReader
from broker_core.worker.channel.schema import Cancel, WindowMessage
from broker_core.worker.channel.worker_end import ChannelReader, ChannelWriter
from broker_core.worker.questions.figures import Occurred
from broker_core.worker.questions.lifecycle import Stage

DEADLINE_S = 90
BIG = "x" * 200_000
"""More than a pipe takes."""


def read_all(fd: int) -> list[object]:
    reader, messages = FrameReader(), []
    while data := os.read(fd, 65_536):
        messages += [decode_worker_message(payload) for payload in reader.feed(data)]
    return messages


def test_messages_come_out_in_order_and_whole():
    read_end, write_end = os.pipe()
    writer = ChannelWriter(write_end, broken=lambda: None)
    said = [Stage(BIG, number) for number in range(5)]
    for message in said:
        writer.send(message)
    closing = threading.Thread(target=writer.close, args=(DEADLINE_S,))
    closing.start()
    assert read_all(read_end) == said
    closing.join(DEADLINE_S)
    os.close(read_end)


def test_it_is_idle_only_when_the_pipe_has_taken_everything():
    read_end, write_end = os.pipe()
    writer = ChannelWriter(write_end, broken=lambda: None)
    assert writer.is_idle
    writer.send(Stage(BIG))
    assert not writer.is_idle
    closing = threading.Thread(target=writer.close, args=(DEADLINE_S,))
    closing.start()
    read_all(read_end)
    closing.join(DEADLINE_S)
    assert writer.is_idle
    os.close(read_end)


def test_closing_does_not_wait_for_a_window_that_does_not_read():
    read_end, write_end = os.pipe()
    writer = ChannelWriter(write_end, broken=lambda: None)
    writer.send(Stage(BIG))
    writer.close(0.01)
    assert not writer.is_idle
    os.close(read_end)


def test_a_window_that_is_gone_is_told_once():
    read_end, write_end = os.pipe()
    os.close(read_end)
    broken = threading.Event()
    writer = ChannelWriter(write_end, broken=broken.set)
    writer.send(Stage("anybody?"))
    assert broken.wait(DEADLINE_S)
    writer.send(Stage("still?"))
    writer.close(DEADLINE_S)


def test_no_request_is_read_while_too_much_is_unsent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(channel, "UNSENT_BYTES_MAX", 10)
    read_end, write_end = os.pipe()
    writer = ChannelWriter(write_end, broken=lambda: None)
    writer.send(Occurred("kind", BIG, 1))
    went_on = threading.Event()
    waiting = threading.Thread(target=lambda: (writer.wait_for_room(), went_on.set()))
    waiting.start()
    assert not went_on.wait(0.05)
    closing = threading.Thread(target=read_all, args=(read_end,))
    closing.start()
    assert went_on.wait(DEADLINE_S)
    writer.close(DEADLINE_S)
    closing.join(DEADLINE_S)
    os.close(read_end)


class Reading:
    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        self.messages: list[WindowMessage] = []
        self.faults: list[str] = []
        self.over = threading.Event()
        reader = ChannelReader(self.read_end, received=self.messages.append, ended=self._ended, wait_for_room=lambda: None)
        reader.start()

    def _ended(self, fault: str) -> None:
        self.faults.append(fault)
        self.over.set()

    def end(self) -> str:
        os.close(self.write_end)
        return self.fault()

    def fault(self) -> str:
        assert self.over.wait(DEADLINE_S)
        os.close(self.read_end)
        (fault,) = self.faults
        return fault


def test_requests_are_read_until_the_input_ends():
    reading = Reading()
    for number in range(3):
        os.write(reading.write_end, encode_message(Cancel(number)))
    assert reading.end() == ""
    assert reading.messages == [Cancel(0), Cancel(1), Cancel(2)]


def test_an_end_within_a_message_is_told():
    reading = Reading()
    os.write(reading.write_end, encode_message(Cancel(1)) + encode_message(Cancel(2))[:-1])
    assert "its rest did not" in reading.end()
    assert reading.messages == [Cancel(1)]


def test_bytes_that_are_no_message_end_the_reading():
    reading = Reading()
    os.write(reading.write_end, b"\x00\x00\x00\x01\xc1")
    assert "not msgpack" in reading.fault()
    os.close(reading.write_end)
