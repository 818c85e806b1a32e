"""Pipes with and without a reader."""

from __future__ import annotations

import os

from broker_core.platform import pipes


def test_a_pipe_is_unread_once_its_reader_is_gone():
    reading, writing = os.pipe()
    assert pipes.plain_is_unread(writing)
    assert not pipes.is_unread(writing) or pipes.is_unread is pipes.plain_is_unread
    os.close(reading)
    assert pipes.is_unread(writing)
    os.close(writing)
