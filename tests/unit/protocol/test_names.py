import pytest

from broker_core.protocol.names import group_name_fault, is_system_group, topic_name_fault


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
