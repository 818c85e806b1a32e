"""The file of secret keys: who may read it, what is kept, what is not understood."""

import stat

import pytest

from gui.connections.secret_file import SecretFile


@pytest.fixture
def secrets(tmp_path):
    return SecretFile(tmp_path / "made" / "secrets.json")


def test_only_the_owner_can_read_what_is_kept(secrets):
    secrets.keep("h:9876", {"ann": "hidden"})
    assert stat.S_IMODE(secrets.path.stat().st_mode) == 0o600
    assert SecretFile(secrets.path).read("h:9876") == {"ann": "hidden"}
    assert [path.name for path in secrets.path.parent.iterdir()] == [secrets.path.name]


def test_a_connection_has_its_own_secrets_and_the_others_keep_theirs(secrets):
    secrets.keep("h:9876", {"ann": "old"})
    secrets.keep("g:9876", {"ann": "other"})
    secrets.keep("h:9876", {"bob": "new", "ssh:/k": "phrase"})
    assert (secrets.read("h:9876"), secrets.read("g:9876")) == ({"bob": "new", "ssh:/k": "phrase"}, {"ann": "other"})


def test_a_file_of_before_is_read(secrets):
    secrets.path.parent.mkdir()
    secrets.path.write_text('{"ann@h:9876": "hidden"}')
    assert secrets.read("h:9876") == {"ann": "hidden"}


def test_a_forgotten_connection_leaves_no_secret(secrets):
    secrets.keep("h:9876", {"ann": "hidden"})
    secrets.keep("h:9876", {})
    assert b"hidden" not in secrets.path.read_bytes()


def test_without_secrets_there_is_no_file(secrets):
    assert secrets.read("h:9876") == {}
    secrets.keep("h:9876", {})
    assert not secrets.path.exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"ann@h:9876": 5}'])
def test_another_file_is_refused_and_not_replaced(secrets, text):
    secrets.path.parent.mkdir()
    secrets.path.write_text(text)
    with pytest.raises(ValueError, match=r"."):
        secrets.keep("h:9876", {"ann": "hidden"})
    assert secrets.path.read_text() == text
