import pytest

from broker_core.client.names import check_group, check_topic, retry_topic
from broker_core.errors import UsageError


def test_names_that_brokers_take_pass():
    for name in ("orders", "%RETRY%g", "a|b-c_D9", "x" * 127):
        assert check_topic(name) == name
    assert check_group("g" * 255) == "g" * 255
    assert retry_topic("g") == "%RETRY%g"


@pytest.mark.parametrize("name", ["", " ", "a b", "订单", "a.b", "a\n", "x" * 128])
def test_other_topics_are_refused(name):
    with pytest.raises(UsageError, match="topic name"):
        check_topic(name)


def test_a_long_group_is_refused_with_its_length():
    with pytest.raises(UsageError, match=r"at most 255 characters.*has 256"):
        check_group("g" * 256)
