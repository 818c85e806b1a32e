"""`KeptFile`: no kill and no damage of the file takes both it and its backup."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from broker_core.kept_file import DAMAGED_MAX, KeptFile, backup_path, replace_file
from broker_core.platform import files, replacing

STEPS = ("open", "pwrite", "fchmod", "link", "rename", "replace", "unlink", "close", "fsync")
STEPS_MAX = 40
DAMAGE = (b"", b" \n", bytes(4096), b"<1", b"<1\0>", b"1>", b"\xff\xfe<\0")


class KilledError(BaseException):
    """The process ended between two steps; no handler of errors runs."""


class Death:
    """Ends a block before the file operation with that number, from 0.

    Attributes:
        came: Whether the block had so many operations.
    """

    def __init__(self, step: int) -> None:
        self.left = step
        self.came = False

    def counted(self, function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            if not self.left:
                self.came = True
                raise KilledError
            self.left -= 1
            return function(*arguments, **named)

        return call


@contextmanager
def killed_before(step: int) -> Iterator[Death]:
    death = Death(step)
    with pytest.MonkeyPatch.context() as patch, suppress(KilledError):
        for name in STEPS:
            patch.setattr(os, name, death.counted(getattr(os, name)))
        yield death


def each_death(folder: Path, work: Callable[[Path, int], Death]) -> None:
    """Do work in a folder of its own for each of its steps, until it comes to its end."""
    for step in range(STEPS_MAX):
        place = folder / str(step)
        place.mkdir()
        if not work(place / "file", step).came:
            assert step > 5
            return
    pytest.fail(f"the work has more than {STEPS_MAX} steps")


def number_of(data: bytes) -> int:
    """Value of ``<7>``."""
    text = data.decode()
    if not (text.startswith("<") and text.endswith(">")):
        raise ValueError("no number")
    return int(text[1:-1])


def file_of(path: Path) -> KeptFile[int]:
    return KeptFile(path, number_of)


def started(path: Path) -> tuple[KeptFile[int], int | None]:
    """The file as a new process reads and mends it."""
    file = file_of(path)
    found = file.read()
    file.sweep()
    if found.is_backup:
        file.mend(found)
    return file, found.value


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_kill_before_any_step_of_a_write_leaves_a_good_file(tmp_path, is_damaged):
    def write_and_die(path: Path, step: int) -> Death:
        file = file_of(path)
        file.write(b"<1>")
        file.write(b"<2>")
        if is_damaged:
            path.write_bytes(b"<")
        with killed_before(step) as death:
            file.write(b"<3>")
        _file, value = started(path)
        assert value in ((1, 3) if is_damaged else (2, 3))
        assert not list(path.parent.glob(".*"))
        return death

    each_death(tmp_path, write_and_die)


def test_a_kill_before_any_step_of_mending_leaves_a_good_file(tmp_path):
    def mend_and_die(path: Path, step: int) -> Death:
        file = file_of(path)
        file.write(b"<1>")
        file.write(b"<2>")
        path.write_bytes(b"<")
        with killed_before(step) as death:
            started(path)
        assert started(path)[1] == 1
        assert (path.read_bytes(), backup_path(path).read_bytes()) == (b"<1>", b"<1>")
        return death

    each_death(tmp_path, mend_and_die)


def test_bytes_are_on_the_disk_before_they_have_the_name_and_the_name_before_the_backup_changes(path, monkeypatch):
    def sync(descriptor: int) -> None:
        os.fdatasync(descriptor)

    file = KeptFile(path, number_of, replace=lambda *a, **b: replace_file(*a, **b, sync=sync))
    file.write(b"<1>")
    steps = []

    def noted(name, function):
        return lambda *arguments, **named: (steps.append(name), function(*arguments, **named))[1]

    calls = ((files, "write_at"), (os, "fdatasync"), (replacing, "replace"), (files, "sync_directory"))
    for owner, name in calls:
        monkeypatch.setattr(owner, name, noted(name, getattr(owner, name)))
    file.write(b"<2>")
    assert steps == ["write_at", "fdatasync", "replace", "sync_directory", "replace"]
    assert backup_path(path).read_bytes() == b"<1>"


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_was_damaged_while_it_is_kept_never_becomes_the_backup(path, damage):
    file = file_of(path)
    file.write(b"<1>")
    file.write(b"<2>")
    path.write_bytes(damage)
    file.write(b"<3>")
    assert (path.read_bytes(), backup_path(path).read_bytes()) == (b"<3>", b"<1>")
    (kept,) = path.parent.glob("file.damaged-*")
    assert kept.read_bytes() == damage


def test_directories_in_place_of_both_are_set_aside(path):
    path.mkdir()
    (path / "inside").touch()
    backup_path(path).mkdir()
    file_of(path).write(b"<1>")
    file_of(path).write(b"<2>")
    assert (path.read_bytes(), backup_path(path).read_bytes()) == (b"<2>", b"<1>")
    assert [kept.is_dir() for kept in path.parent.glob("*.damaged-*")] == [True, True]


def test_a_link_is_read_and_its_target_stays(path):
    target = path.with_name("target")
    target.write_bytes(b"<1>")
    path.symlink_to(target)
    file, value = started(path)
    file.write(b"<2>")
    assert (value, path.read_bytes(), target.read_bytes(), path.is_symlink()) == (1, b"<2>", b"<1>", False)


def test_a_link_to_nothing_or_to_itself_is_damage(path):
    backup_path(path).write_bytes(b"<1>")
    for target in ("none", "file"):
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        assert started(path)[1] == 1
        assert path.read_bytes() == b"<1>"


def test_damaged_files_are_kept_by_name_the_newest_few(path):
    for number in range(DAMAGED_MAX + 3):
        file = file_of(path)
        file.write(b"<1>")
        file.write(b"<2>")
        path.write_bytes(b"bad %d" % number)
        os.utime(path, (number * 86_400, number * 86_400))
        started(path)
    kept = sorted(path.parent.glob("file.damaged-*"))
    assert [one.read_bytes() for one in kept] == [b"bad %d" % number for number in range(3, DAMAGED_MAX + 3)]
    assert kept[0].name == "file.damaged-19700104T000000Z"


class Kept(RuleBasedStateMachine):
    """Writes, kills, damage and starts in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "file"
        self.file = file_of(self.path)
        self.last = 2
        self.file.write(b"<1>")
        self.file.write(b"<2>")
        self.sure = 2
        """The value that is in the file."""
        self.sure_backup = 1
        """No older value can be in the backup."""
        self.is_damaged = False

    @rule()
    def write(self) -> None:
        self.last += 1
        self.file.write(b"<%d>" % self.last)
        if not self.is_damaged:
            self.sure_backup = self.sure
        self.sure, self.is_damaged = self.last, False

    @rule(step=st.integers(0, 15))
    def write_and_die(self, step: int) -> None:
        self.last += 1
        with killed_before(step):
            self.file.write(b"<%d>" % self.last)
        self.start()

    @rule(damage=st.sampled_from(DAMAGE))
    @precondition(lambda self: not self.is_damaged)
    def damage(self, damage: bytes) -> None:
        self.path.write_bytes(damage)
        self.is_damaged = True

    @rule()
    @precondition(lambda self: not self.is_damaged)
    def lose(self) -> None:
        self.path.unlink()
        self.is_damaged = True

    @rule(step=st.integers(0, 15))
    def die_while_starting(self, step: int) -> None:
        with killed_before(step):
            started(self.path)
        self.start()

    @rule()
    def start(self) -> None:
        self.file, value = started(self.path)
        assert value is not None
        assert value >= (self.sure_backup if self.is_damaged else self.sure)
        assert number_of(self.path.read_bytes()) == value
        if self.is_damaged:
            self.sure_backup = number_of(backup_path(self.path).read_bytes())
        self.sure, self.is_damaged = value, False
        assert len(list(self.folder.glob("file.damaged-*"))) <= DAMAGED_MAX
        assert not list(self.folder.glob(".*"))

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


TestKept = Kept.TestCase
TestKept.settings = settings(max_examples=60, stateful_step_count=30)
