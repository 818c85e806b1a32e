"""Where secrets of connections are kept: the key store of the system, the file, and what happens when one does not work."""

import json

import keyring
import keyring.backends.null
import pytest

from broker_core.errors import SecretError
from gui.connections.secret_file import SecretFile
from gui.connections.secret_store import SERVICE, SecretStore, system_key_store
from tests.support.key_stores import ForgetfulKeyStore, LockedKeyStore, MemoryKeyStore

PLACE = "h:9876"
ANN = {"ann": "hidden"}


@pytest.fixture
def file(tmp_path):
    return SecretFile(tmp_path / "secrets.json")


def test_secrets_go_into_the_key_store_and_not_into_the_file(file):
    keys = MemoryKeyStore()
    store = SecretStore(file, lambda: keys)
    store.keep(PLACE, ANN)
    assert (store.read(PLACE), store.key_store_name()) == (ANN, "Memory")
    assert json.loads(keys.entries[SERVICE, PLACE]) == ANN
    assert not file.path.exists()
    store.keep(PLACE, {})
    assert (store.read(PLACE), keys.entries) == ({}, {})


def test_without_a_key_store_the_file_keeps_them(file):
    store = SecretStore(file, lambda: None)
    store.keep(PLACE, ANN)
    assert (store.read(PLACE), store.key_store_name(), store.is_in_file(PLACE)) == (ANN, "", True)


def test_a_file_of_before_goes_on_working_and_moves_with_the_next_change(file):
    file.keep(PLACE, ANN)
    file.keep("g:9876", {"cat": "other"})
    keys = MemoryKeyStore()
    store = SecretStore(file, lambda: keys)
    assert store.read(PLACE) == ANN
    store.keep(PLACE, {"ann": "new"})
    assert (file.read(PLACE), file.read("g:9876")) == ({}, {"cat": "other"})
    assert store.read(PLACE) == {"ann": "new"}


def test_the_file_is_used_where_the_user_wants_it(file):
    keys = MemoryKeyStore()
    store = SecretStore(file, lambda: keys)
    store.keep(PLACE, ANN)
    store.keep(PLACE, ANN, in_file=True)
    assert (file.read(PLACE), keys.entries, store.is_in_file(PLACE)) == (ANN, {}, True)


def test_a_locked_key_store_says_what_to_do_and_nothing_is_lost(file):
    file.keep("g:9876", ANN)
    store = SecretStore(file, LockedKeyStore)
    for ask in (lambda: store.read(PLACE), lambda: store.keep(PLACE, ANN), lambda: store.keep(PLACE, {})):
        with pytest.raises(SecretError, match=r"key store of the system \(Locked\).*unlock it and try again") as refused:
            ask()
        assert "hidden" not in str(refused.value)
        assert str(file.path) in str(refused.value)
        assert refused.value.__context__ is None or refused.value.__suppress_context__
    assert store.read("g:9876") == ANN, "what the file holds needs no key store"


def test_a_locked_key_store_is_no_hindrance_to_the_file(file):
    store = SecretStore(file, LockedKeyStore)
    store.keep(PLACE, ANN, in_file=True)
    assert store.read(PLACE) == ANN


def test_a_key_store_that_keeps_nothing_is_noticed_and_the_file_stays(file):
    file.keep(PLACE, ANN)
    store = SecretStore(file, ForgetfulKeyStore)
    with pytest.raises(SecretError, match="does not give it back"):
        store.keep(PLACE, {"ann": "new"})
    assert file.read(PLACE) == ANN


@pytest.mark.parametrize("text", ["{", "[]", '{"ann": 5}'])
def test_an_entry_that_is_none_of_ours_is_told_and_not_quoted(file, text):
    keys = MemoryKeyStore()
    keys.entries[SERVICE, PLACE] = text
    with pytest.raises(SecretError, match="none of ours"):
        SecretStore(file, lambda: keys).read(PLACE)
    assert keys.entries[SERVICE, PLACE] == text


def test_a_damaged_file_is_told_and_kept(file):
    file.path.write_text("{")
    store = SecretStore(file, lambda: None)
    for ask in (lambda: store.read(PLACE), lambda: store.keep(PLACE, ANN)):
        with pytest.raises(SecretError, match="Nothing was changed"):
            ask()
    assert file.path.read_text() == "{"


def test_a_key_store_that_keeps_nothing_from_others_or_nothing_at_all_is_none(monkeypatch):
    class Weak(MemoryKeyStore):
        priority = 0.5

    class Strong(MemoryKeyStore):
        priority = 5

    def broken():
        raise RuntimeError("no session")

    strong = Strong()
    for found, expected in ((keyring.backends.null.Keyring(), None), (Weak(), None), (strong, strong)):
        monkeypatch.setattr(keyring, "get_keyring", lambda found=found: found)
        assert system_key_store() is expected
    monkeypatch.setattr(keyring, "get_keyring", broken)
    assert system_key_store() is None
