"""Large frames in files."""

import errno
import io
import os
import tempfile

import pytest

from broker_core.errors import FrameError
from broker_core.transport.frame_file import FrameFile


def test_bytes_come_back_and_no_name_is_left(tmp_path):
    kept = FrameFile(tmp_path)
    pieces = [os.urandom(70_000) for _ in range(5)]
    for piece in pieces:
        kept.append(piece)
    if os.name == "posix":
        assert list(tmp_path.iterdir()) == []
    assert kept.take() == b"".join(pieces)
    kept.close()
    assert list(tmp_path.iterdir()) == []


def test_without_a_directory_it_lies_with_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for directory in (None, tmp_path / "not made yet"):
        kept = FrameFile(directory)
        kept.append(bytearray(b"bytes"))
        assert kept.take() == b"bytes"


class Disk(io.RawIOBase):
    """A file that takes three bytes at a time, and ten in all."""

    def __init__(self):
        self.data = b""

    def write(self, data):
        if len(self.data) >= 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.data += bytes(data[:3])
        return len(data[:3])

    def seek(self, _position):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_full_disk_is_told_with_what_to_do(tmp_path, monkeypatch):
    disk = Disk()
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: disk)
    kept = FrameFile(tmp_path)
    kept.append(b"0123456")
    assert disk.data == b"0123456"
    with pytest.raises(FrameError, match=f"{tmp_path} while it comes: {os.strerror(errno.ENOSPC)}; make room"):
        kept.append(b"0123456")
    assert disk.closed
    kept.close()


def test_a_file_that_cannot_be_read_or_made_is_told(tmp_path, monkeypatch):
    disk = Disk()
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: disk)
    with pytest.raises(FrameError, match=os.strerror(errno.EIO)):
        FrameFile(tmp_path).take()
    assert disk.closed

    def refuse(**_options):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(FrameError, match=os.strerror(errno.EMFILE)):
        FrameFile(tmp_path)
