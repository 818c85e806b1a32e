"""The worker's end of the pipe to the window: two threads block on it, so that the loop never does.

Not the loop's own pipe support, because that differs between systems and needs a non-blocking descriptor, which the other end
would share.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from broker_core.errors import CodecError
from broker_core.platform.files import carry_bytes
from broker_core.worker.channel.codec import decode_window_message, encode_message
from broker_core.worker.channel.framing import FrameReader
from broker_core.worker.channel.schema import WindowMessage, WorkerMessage

logger = logging.getLogger(__name__)

UNSENT_BYTES_MAX = 32 * 1024 * 1024
"""Above this many unsent bytes no further request of the window is read."""
_READ_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class ChannelFiles:
    """Descriptors of the channel."""

    input_fd: int
    output_fd: int


def take_channel() -> ChannelFiles:
    """Make standard input and output a channel that no library can disturb.

    Afterwards descriptor 0 reads nothing and descriptor 1 is standard error: what Python or C prints lands in the log. Call it
    once, before heavy imports.
    """
    files = ChannelFiles(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    carry_bytes(files.input_fd, files.output_fd)
    return files


class ChannelWriter:
    """Sends messages in order from a thread of its own to ``fd``, which `close` closes. Any thread may call it.

    ``broken`` is called once, on the writer's thread, when the other end is gone.
    """

    def __init__(self, fd: int, *, broken: Callable[[], None]) -> None:
        self._fd = fd
        self._broken = broken
        self._queue: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._closing = False
        self._failed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="channel-writer", daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether the pipe has taken everything, so that another snapshot fits."""
        return self._unsent_bytes == 0

    def send(self, message: WorkerMessage) -> None:
        """Send a message; it is never dropped while the other end is there. Raises `CodecError` above the size of a frame."""
        data = encode_message(message)
        with self._changed:
            if self._failed or self._closing:
                return
            self._queue.append(data)
            self._unsent_bytes += len(data)
            self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Block while too much is unsent; for the reader's thread."""
        with self._changed:
            self._changed.wait_for(lambda: self._unsent_bytes <= UNSENT_BYTES_MAX or self._failed or self._closing)

    def close(self, timeout_s: float) -> None:
        """Send the pending messages and close; gives up after ``timeout_s``, when the other end does not read."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while (data := self._next()) is not None:
            try:
                write_all(self._fd, data)
            except OSError as error:
                logger.info("the window does not read any more: %s", error)
                self._give_up()
                break
            with self._changed:
                self._unsent_bytes -= len(data)
                self._changed.notify_all()
        os.close(self._fd)

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            return self._queue.popleft() if self._queue else None

    def _give_up(self) -> None:
        with self._changed:
            self._failed = True
            self._queue.clear()
            self._changed.notify_all()
        self._broken()


class ChannelReader:
    """Reads requests on a daemon thread until the input ends; then calls ``ended``, also when it ends within a message.

    Args:
        fd: Where to read.
        received: Called on the reader's thread with each message.
        ended: Called on the reader's thread, once, with the error or "".
        wait_for_room: Called before each read; it may block.
    """

    def __init__(
        self,
        fd: int,
        *,
        received: Callable[[WindowMessage], None],
        ended: Callable[[str], None],
        wait_for_room: Callable[[], None],
    ) -> None:
        self._fd = fd
        self._received = received
        self._ended = ended
        self._wait_for_room = wait_for_room
        self._thread = threading.Thread(target=self._run, name="channel-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        reader = FrameReader()
        try:
            while data := os.read(self._fd, _READ_BYTES):
                for payload in reader.feed(data):
                    self._received(decode_window_message(payload))
                self._wait_for_room()
        except (OSError, CodecError) as error:
            self._ended(str(error))
            return
        self._ended(f"{reader.pending_bytes} bytes of a message came, its rest did not" if reader.pending_bytes else "")


def write_all(fd: int, data: bytes) -> None:
    """Write every byte; a pipe takes what fits and blocks for the rest."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
