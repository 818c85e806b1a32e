import json

import pytest

from broker_core.cluster.key_place import security_at
from broker_core.errors import UsageError

DETAILS = json.dumps({"accessKey": "reader", "secretKey": "hush-hush", "addresses": {"10.0.0.1:10911": "127.0.0.1:9"}})


def written(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_no_place_is_a_plain_cluster():
    assert security_at("") is None


def test_keys_and_map_come_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("READER_DETAILS", DETAILS)
    for place in (written(tmp_path / "details.json", DETAILS), "env:READER_DETAILS"):
        security = security_at(place)
        assert (security.credentials.access_key, security.credentials.secret_key) == ("reader", "hush-hush")
        assert security.addresses == {"10.0.0.1:10911": "127.0.0.1:9"}


def test_a_file_that_others_may_read_is_refused_without_a_word_of_it(tmp_path):
    place = written(tmp_path / "details.json", DETAILS, 0o640)
    with pytest.raises(UsageError, match="chmod 600") as refusal:
        security_at(place)
    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize("text", ["no json hush", '["hush"]', '{"secret": "hush"}', '{"accessKey": "hush"}'])
def test_what_are_no_details_is_refused_without_a_word_of_it(tmp_path, text):
    with pytest.raises(UsageError) as refusal:
        security_at(written(tmp_path / "details.json", text))
    assert "hush" not in str(refusal.value)


def test_a_place_with_nothing_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("NOBODY_SET_THIS", raising=False)
    for place, words in ((str(tmp_path / "none.json"), "none.json"), ("env:NOBODY_SET_THIS", "NOBODY_SET_THIS")):
        with pytest.raises(UsageError, match=words):
            security_at(place)
