"""Signatures of requests, against the example of docs/spec/remoting.md §7.1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.signature import ACCESS_KEY, SIGNATURE, UNIQUE_KEY_QUERY, Credentials, sign, signature_matches

KEYS = Credentials("rocketmq2", "12345678")


def test_signs_as_the_example_of_the_specification():
    command = RemotingCommand(10, {"queueId": "0", "topic": "T"})
    sign(command, KEYS)
    assert command.ext_fields[SIGNATURE] == "BFnyzMhjz0AiEExA6jf8frVdCVU="
    assert command.ext_fields[ACCESS_KEY] == "rocketmq2"


@given(st.dictionaries(st.text(), st.text()), st.binary())
def test_accepts_what_it_signed_and_nothing_else(fields, body):
    command = RemotingCommand(10, dict(fields), body)
    sign(command, KEYS)
    assert signature_matches(command, KEYS.secret_key)
    assert not signature_matches(command, KEYS.secret_key + "9")
    command.body = body + b"x"
    assert not signature_matches(command, KEYS.secret_key)


def test_a_request_without_signature_does_not_match():
    assert not signature_matches(RemotingCommand(10, {"a": "b"}), "12345678")


@pytest.mark.parametrize("signed", [True, False])
def test_the_flag_of_a_query_by_unique_key_may_be_signed_or_not(signed):
    command = RemotingCommand(12, {"topic": "T"})
    if signed:
        command.ext_fields[UNIQUE_KEY_QUERY] = "true"
    sign(command, KEYS)
    command.ext_fields[UNIQUE_KEY_QUERY] = "true"
    assert signature_matches(command, KEYS.secret_key)


def test_the_secret_is_not_in_the_text_form():
    assert "12345678" not in repr(KEYS)
