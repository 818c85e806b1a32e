from __future__ import annotations

import pytest

from broker_core.errors import CodecError
from broker_core.tools.line_file import LineFile
from tests.support.full_disk import largest_file


def lines_of(path):
    file, found = LineFile(path, "r+b"), []
    try:
        file.take_in(found.append)
    finally:
        file.close()
    return found


@pytest.mark.parametrize("mode", ["a+b", "x+b"])
def test_lines_are_written_behind_those_that_are_there(tmp_path, mode):
    path = tmp_path / "lines"
    file = LineFile(path, mode)
    file.write([{"n": 1}, {"text": "龙\n"}])
    file.close()
    again = LineFile(path, "a+b")
    again.take_in(lambda _line: None)
    again.write([{"n": 2}])
    again.close()
    assert lines_of(path) == [{"n": 1}, {"text": "龙\n"}, {"n": 2}]


def test_one_process_at_a_time(tmp_path):
    file = LineFile(tmp_path / "lines", "a+b")
    with pytest.raises(BlockingIOError):
        LineFile(tmp_path / "lines", "r+b")
    file.close()
    assert lines_of(tmp_path / "lines") == []
    with pytest.raises(FileExistsError):
        LineFile(tmp_path / "lines", "x+b")


@pytest.mark.parametrize("rest", [b"", b"{", b'{"n": 3}'])
def test_what_a_kill_cut_off_goes(tmp_path, rest):
    path = tmp_path / "lines"
    path.write_bytes(b'{"n": 1}\n{"n": 2}\n' + rest)
    file, found = LineFile(path, "r+b"), []
    assert file.first() == {"n": 1}
    file.take_in(found.append)
    file.write([{"n": 4}])
    file.close()
    assert found == [{"n": 2}]
    assert path.read_bytes() == b'{"n": 1}\n{"n": 2}\n{"n":4}\n'


def test_a_full_disk_is_told_with_the_name_and_what_was_written_counts(tmp_path):
    path = tmp_path / "lines"
    file = LineFile(path, "x+b")
    file.write([{"n": 1}])
    with largest_file(12):
        for use in (lambda: file.write([{"n": 2}]), file.sync, file.close):
            with pytest.raises(OSError, match="File too large") as caught:
                use()
            assert caught.value.filename == str(path)
    assert lines_of(path) == [{"n": 1}]


@pytest.mark.parametrize("damaged", [b"{\n", b"3\n", b"\xff\n", b"\n", b"[" * 100_000 + b"\n"])
def test_a_damaged_line_is_refused_and_nothing_of_the_file_changes(tmp_path, damaged):
    path = tmp_path / "lines"
    content = b'{"n": 1}\n' + damaged + b'{"n": 2}\n'
    path.write_bytes(content)
    with pytest.raises(CodecError, match="damaged line at byte 9"):
        lines_of(path)
    assert path.read_bytes() == content


def test_what_its_reader_cannot_use_is_damage(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b'{"n": 1}\n')
    file = LineFile(path, "r+b")
    with pytest.raises(CodecError, match="damaged line at byte 0"):
        file.take_in(lambda line: line["none"])
    file.close()
