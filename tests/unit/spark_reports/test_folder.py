import errno
from pathlib import Path

import pytest

from broker_core.errors import ReportError, UsageError
from spark_reports.output.folder import MANIFEST, check_target, result_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_result_appears_whole(tmp_path):
    out = tmp_path / "new" / "out"
    with result_folder(out) as folder:
        (folder / MANIFEST).write_text("{}")
        assert not out.exists()
    assert names(out) == [MANIFEST]
    assert names(out.parent) == ["out"]


def test_an_earlier_result_is_replaced(tmp_path):
    out = tmp_path / "out"
    for text in ("old", "new"):
        check_target(out)
        with result_folder(out) as folder:
            (folder / MANIFEST).write_text(text)
    assert (out / MANIFEST).read_text() == "new"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("x")])
def test_nothing_is_left_of_a_failed_one(tmp_path, error):
    def fail():
        with result_folder(tmp_path / "out") as folder:
            (folder / "half").write_text("x")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert names(tmp_path) == []


def test_a_full_disk_is_said(tmp_path):
    def fill():
        with result_folder(tmp_path / "out"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ReportError, match=r"out: No space left on device\. Free some room"):
        fill()


@pytest.mark.parametrize("make", [lambda out: out.write_text("x"), lambda out: (out.mkdir(), (out / "photo").write_text("x"))])
def test_other_things_are_not_replaced(tmp_path, make):
    out = tmp_path / "out"
    make(out)
    with pytest.raises(UsageError, match="Name a new or empty folder"):
        check_target(out)


def test_a_place_that_takes_no_folder_is_refused_before_the_work():
    with pytest.raises(ReportError, match="takes no new folder"):
        check_target(Path("/proc/orbit/out"))
