import pytest

from broker_core.engine.nameserver.settings import ORDER_MESSAGES, NameServerSettings
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode as R


def test_a_switch_is_set_shown_and_told():
    told = []
    settings = NameServerSettings(changed=lambda: told.append(True))
    settings.show("listenPort", "9876")
    assert not settings.is_on(ORDER_MESSAGES)
    settings.change("# comment\norderMessageEnable=true\n")
    assert settings.is_on(ORDER_MESSAGES)
    assert told == [True]
    lines = settings.to_text().splitlines()
    assert lines == sorted(lines)
    assert {"enableAllTopicList=true", "enableTopicList=true", "listenPort=9876", "orderMessageEnable=true"} <= set(lines)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("kvConfigPath=/etc/passwd", R.NO_PERMISSION),
        ("configStorePath=/etc/passwd", R.NO_PERMISSION),
        ("rocketmqHome=;id", R.NO_PERMISSION),
        ("listenPort=1", R.NO_PERMISSION),
        ("orderMessageEnable=true\nunknown=1", R.NO_PERMISSION),
        ("orderMessageEnable=perhaps", R.SYSTEM_ERROR),
        ("", R.SYSTEM_ERROR),
    ],
)
def test_anything_else_is_refused_and_changes_nothing(text, code):
    settings = NameServerSettings()
    with pytest.raises(RequestRefusedError) as refused:
        settings.change(text)
    assert refused.value.code == code
    assert not settings.is_on(ORDER_MESSAGES)


def test_too_much_text_is_refused_with_what_is_allowed():
    with pytest.raises(RequestRefusedError, match="2,000,024 characters, allowed are 1,048,576"):
        NameServerSettings().change("orderMessageEnable=true\n" + "#" * 2_000_000)


def test_switches_come_back_from_their_file():
    settings, again = NameServerSettings(), NameServerSettings()
    settings.change("orderMessageEnable=true")
    again.load(settings.to_json())
    assert again.is_on(ORDER_MESSAGES)
