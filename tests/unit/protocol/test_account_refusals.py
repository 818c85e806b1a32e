"""What 4.9.4 and 5.3.3 answered to requests with no key, another one, another secret and too few permissions."""

import pytest

from broker_core.client.instance import answer_error
from broker_core.errors import AccountRefusedError, RemoteError
from broker_core.protocol.account_refusals import account_refusal
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand

AT = "10.0.0.1:10911"
V4 = "org.apache.rocketmq.acl.common.AclException: {}, org.apache.rocketmq.acl.plain.PlainPermissionManager.validate(PlainPermissionManager.java:663)"  # noqa: E501  word for word
SAID = [
    (1, V4, "No accessKey is configured", f"{AT} asks for keys, and this connection has none"),
    (1, V4, "No acl config for nobody12", f"{AT} has no account nobody12: check the access key"),
    (1, V4, "Check signature failed for accessKey=shopuser1", "the secret key is not the one"),
    (1, V4, "Need admin permission for request code=17, but accessKey=shopuser1 is not", f"{AT} lets administrators alone"),
    (1, V4, "No default permission for topic:t1", f"this account has no permission for topic:t1 at {AT}"),
    (1, V4, "something of a later release", f"{AT} refuses this account"),
    (16, "{}", "username cannot be null.", f"{AT} asks for keys"),
    (16, "{}", "User:nobody12 is not found.", f"{AT} has no account nobody12"),
    (16, "{}", "check signature failed.", "the secret key is not the one"),
    (16, "{}", "User:shop is disabled.", "the account shop is switched off"),
    (16, "{}", "User:shop is disabled", "the account shop is switched off"),
    (16, "{}", "User:shop not found.", f"{AT} has no account shop"),
    (
        16,
        "{}",
        "User:shop has no permission to access Topic:t1 from 127.0.0.1, the decision is deny.",
        "this account has no",
    ),
    (
        16,
        "{}",
        "User:shop has no permission to access Topic:t1 from 127.0.0.1, no matched policies.",
        "this account has no per",
    ),
]


@pytest.mark.parametrize(("code", "form", "words", "meaning"), SAID)
def test_what_is_wrong_comes_first_and_the_words_of_the_broker_stand_behind_it(code, form, words, meaning):
    text = account_refusal(AT, RemotingCommand(code, remark=form.format(words)))
    assert text.startswith(meaning)
    assert text.endswith(f" ({words})"), "without the class and the place in its program"
    assert "java" not in text


@pytest.mark.parametrize(
    ("code", "remark"),
    [
        (ResponseCode.SUCCESS, None),
        (ResponseCode.TOPIC_NOT_EXIST, "topic[t1] not exist"),
        (ResponseCode.NO_PERMISSION, "the topic[t1] sending message is forbidden"),
        (ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException: null"),
    ],
)
def test_other_answers_are_left_as_they_are(code, remark):
    assert account_refusal(AT, RemotingCommand(code, remark=remark)) == ""


def test_the_error_of_a_client_says_so_and_keeps_the_number():
    refused = answer_error(AT, RequestCode.GET_BROKER_RUNTIME_INFO, RemotingCommand(1, remark=V4.format("No acl config for x")))
    assert isinstance(refused, AccountRefusedError)
    assert refused.message.startswith(f"{AT} has no account x: check the access key")
    assert refused.context == {"code": 1, "address": AT}
    other = answer_error(AT, RequestCode.PULL_MESSAGE, RemotingCommand(16, remark="pulling message is forbidden"))
    assert type(other) is RemoteError
