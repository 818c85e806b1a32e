"""An X server without a screen, and the pictures on it."""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtGui import QImage

from tests.support.waiting import wait_until

DEADLINE_S = 180.0
_SIZE = (1440, 900)
_PAGE = (240, 100)
"""Left and top edge of the pages, beside side bar and tabs."""
COLOURS_OF_A_PAGE = 60
"""An empty page has one colour; text with smoothed edges has hundreds."""


@dataclass(frozen=True, slots=True)
class VirtualScreen:
    """A screen; ``display`` is the value of DISPLAY."""

    display: str
    file: Path

    def picture(self) -> QImage:
        """What is shown (Source: X11/XWDFile.h, version 7)."""
        data = self.file.read_bytes()
        header = struct.unpack(">25I", data[:100])
        width, height, bytes_per_line, colours = header[4], header[5], header[12], header[19]
        begin = header[0] + 12 * colours
        image = QImage(data[begin : begin + height * bytes_per_line], width, height, bytes_per_line, QImage.Format.Format_RGB32)
        return image.copy()

    def shows_a_page(self) -> bool:
        """Whether there is more than a frame around nothing."""
        return colours(self.picture()) > COLOURS_OF_A_PAGE


def colours(image: QImage) -> int:
    """Number of colours in the part of a picture where pages are."""
    left, top = _PAGE
    points = ((x, y) for x in range(left, image.width(), 2) for y in range(top, image.height() - top, 2))
    return len({image.pixel(x, y) for x, y in points})


@contextlib.contextmanager
def virtual_screen(folder: Path) -> Iterator[VirtualScreen]:
    """Start an X server on a free display; its picture is kept in a file of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    reads, writes = os.pipe()
    width, height = _SIZE
    size = f"{width}x{height}x24"
    command = ["Xvfb", "-displayfd", str(writes), "-screen", "0", size, "-fbdir", str(folder), "-nolisten", "tcp", "-ac"]
    server = subprocess.Popen(command, pass_fds=(writes,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writes)
    try:
        with os.fdopen(reads, encoding="ascii") as pipe:
            number = pipe.readline().strip()
        assert number, "Xvfb did not start"
        yield VirtualScreen(f":{number}", folder / "Xvfb_screen0")
    finally:
        server.terminate()
        server.wait(30)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until the condition holds, longer than elsewhere, because a window starts."""
    wait_until(condition, what, deadline_s=DEADLINE_S)
