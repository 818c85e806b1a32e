import pytest

from broker_core.engine.store import file_map
from broker_core.engine.store.file_map import map_file
from broker_core.platform import holes

pytestmark = pytest.mark.usefixtures("both_platforms")

SIZE = 1 << 20


@pytest.fixture
def sparse(tmp_path):
    path = tmp_path / "00000000000000000000"
    with path.open("wb") as file:
        file.write(b"begin")
        file.seek(SIZE // 2)
        file.write(b"middle")
        file.truncate(SIZE)
    return path


def test_a_file_is_mapped_whole(sparse):
    mapped = map_file(sparse)
    assert mapped[:] == sparse.read_bytes()


def test_with_no_room_for_its_holes_a_file_reads_the_same(sparse, monkeypatch):
    monkeypatch.setattr(holes, "holes_need_room", lambda _descriptor, _spare: True)
    monkeypatch.setattr(file_map, "_COPY_BYTES", 1000)
    assert map_file(sparse)[:] == sparse.read_bytes()


def test_a_file_of_nothing_but_a_hole_reads_as_zeros(tmp_path, monkeypatch):
    monkeypatch.setattr(holes, "holes_need_room", lambda _descriptor, _spare: True)
    path = tmp_path / "hole"
    with path.open("wb") as file:
        file.truncate(SIZE)
    assert map_file(path)[:] == bytes(SIZE)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        map_file(tmp_path / "missing")
