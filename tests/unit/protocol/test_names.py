import pytest

from broker_core.errors import UsageError
from broker_core.protocol.names import (
    check_group,
    check_topic,
    group_name_fault,
    is_system_group,
    retry_topic,
    topic_name_fault,
)


@pytest.mark.parametrize("name", ["T", "%RETRY%g", "%DLQ%g", "a|b", "x" * 127, "A-b_9"])
def test_good_topic_names(name):
    assert topic_name_fault(name) is None


@pytest.mark.parametrize("name", ["", " ", "../x", "a b", "a.b", "主题", "x" * 128, "a\n"])
def test_bad_topic_names(name):
    assert topic_name_fault(name)


def test_group_names_may_be_longer():
    assert group_name_fault("g" * 255) is None
    assert all(group_name_fault(name) for name in ("g" * 256, "", "a@b"))


def test_system_groups():
    assert is_system_group("CID_RMQ_SYS_TRANS")
    assert not is_system_group("orders")


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
