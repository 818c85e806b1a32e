import shutil
import sys
from types import ModuleType

import pytest
from numba import int64

from spark_reports.datasource import compiled
from spark_reports.datasource.compiled import FOLDERS_MAX, Compiler, is_whole

SOURCE = "def doubled(number):\n    return 2 * number\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A source, and a function that compiles it with a folder: its result for 21, and whether it was loaded."""
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    made_constants = ModuleType("constants")
    made_constants.__file__ = str(tmp_path / "constants.py")
    (tmp_path / "constants.py").write_text("FACTOR = 2\n")

    def made(folder):
        monkeypatch.setitem(sys.modules, "kept_in_parts", module := ModuleType("kept_in_parts"))  # what is loaded imports it
        names = vars(module)
        exec(compile(path.read_text(), str(path), "exec"), names)  # numba keeps only what has a file
        with Compiler(path, folder, constants_of=[made_constants]) as compiler:
            doubled = compiler.compiled(names["doubled"], int64)
        return doubled(21), sum(doubled.stats.cache_hits.values())

    return made


def test_what_was_compiled_is_loaded_the_next_time(module, tmp_path):
    folder = tmp_path / "kept"
    assert module(folder) == (42, 0)
    (kept,) = folder.iterdir()
    assert is_whole(kept)
    assert module(folder) == (42, 1)


@pytest.mark.parametrize("damage", ["cut", "changed", "more", "no checksums"])
def test_a_damaged_folder_is_made_again(module, tmp_path, damage):
    folder = tmp_path / "kept"
    module(folder)
    (kept,) = folder.iterdir()
    (code,) = kept.rglob("*.nbc")
    if damage == "cut":
        code.write_bytes(code.read_bytes()[:100])
    elif damage == "changed":
        code.write_bytes(bytes(len(code.read_bytes())))
    elif damage == "more":
        (kept / "more").touch()
    else:
        (kept / "checksums.json").write_text("{")
    assert module(folder) == (42, 0)
    assert module(folder) == (42, 1)
    assert [path.name for path in folder.iterdir()] == [kept.name]


def test_without_a_folder_that_can_be_written_it_is_compiled_in_each_process(module, tmp_path):
    folder = tmp_path / "kept"
    folder.write_text("a file")
    assert module(folder) == (42, 0)
    assert folder.read_text() == "a file"


def test_on_a_processor_that_is_not_known_it_is_compiled_in_each_process(module, tmp_path, monkeypatch):
    def unknown():
        raise RuntimeError("failed to get the features of the processor")

    monkeypatch.setattr(compiled.binding, "get_host_cpu_features", unknown)
    assert module(tmp_path / "kept") == (42, 0)
    assert not (tmp_path / "kept").exists()


def test_a_disk_that_is_full_stops_nothing(module, tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiled.numba.core.caching.IndexDataCacheFile, "save", refused)
    folder = tmp_path / "kept"
    assert module(folder) == (42, 0)
    assert list(folder.iterdir()) == []


def test_who_is_slower_leaves_the_folder_of_the_faster_one(module, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    module(folder)
    (kept,) = folder.iterdir()
    other = tmp_path / "faster"
    kept.rename(other)
    njit = compiled.numba.njit

    def njit_while_another_ends(*arguments, **options):
        shutil.copytree(other, kept)
        return njit(*arguments, **options)

    monkeypatch.setattr(compiled.numba, "njit", njit_while_another_ends)
    assert module(folder) == (42, 0)
    assert [path.name for path in folder.iterdir()] == [kept.name]
    assert is_whole(kept)


def test_a_changed_module_of_constants_is_compiled_in(module, tmp_path):
    folder = tmp_path / "kept"
    assert module(folder) == (42, 0)
    (tmp_path / "constants.py").write_text("FACTOR = 3\n")
    assert module(folder) == (42, 0)
    assert module(folder) == (42, 1)


def test_few_folders_are_kept(module, tmp_path):
    folder = tmp_path / "kept"
    for number in range(FOLDERS_MAX + 2):
        (folder / f"older-{number}").mkdir(parents=True)
    assert module(folder) == (42, 0)
    assert len(list(folder.iterdir())) == FOLDERS_MAX


def test_a_module_in_an_archive_is_compiled_without_being_kept(tmp_path):
    def doubled(number):
        return 2 * number

    with Compiler(tmp_path / "packages.zip" / "module.py", tmp_path / "kept") as compiler:
        made = compiler.compiled(doubled, int64)
    assert made(21) == 42
    assert not (tmp_path / "kept").exists()
