import pytest

from broker_core.protocol.admin.connections import (
    GroupMember,
    read_member_ids,
    read_members,
    read_producers,
    read_subscriptions,
)
from broker_core.protocol.filter.rejection import Wanted
from broker_core.protocol.json_body import JsonBodyError


def test_members_and_subscriptions_of_a_group_are_read():
    body = (
        b'{"connectionSet":[{"clientId":"c","clientAddr":"h:1","language":"JAVA","version":409}],'
        b'"subscriptionTable":{"T":{"subString":"a||b","expressionType":"TAG"},"U":{}}}'
    )
    assert read_members(body) == [GroupMember("c", "h:1", "JAVA", 409)]
    assert read_subscriptions(body) == {"T": Wanted("a||b", "TAG"), "U": Wanted("*", "")}


def test_a_member_of_which_little_is_told_is_a_member():
    assert read_members(b'{"connectionSet":[{}]}') == [GroupMember("", "", "", None)]
    assert read_members(b"{}") == []


def test_ids_of_members_are_read():
    assert read_member_ids(b'{"consumerIdList":["c2","c1"]}') == ["c2", "c1"]
    assert read_member_ids(b"") == []


def test_producers_are_read_with_their_heartbeats():
    body = b'{"data":{"g":[{"clientId":"c","remoteIP":"/h:1","language":"GO","version":1,"lastUpdateTimestamp":5}],"e":null}}'
    assert read_producers(body) == {"g": [GroupMember("c", "h:1", "GO", 1, 5)], "e": []}


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (read_members, b'{"connectionSet":[1]}'),
        (read_members, b'{"connectionSet":5}'),
        (read_member_ids, b'{"consumerIdList":5}'),
        (read_producers, b'{"data":[1]}'),
        (read_producers, b'{"data":{"g":[1]}}'),
        (read_subscriptions, b'{"subscriptionTable":[1]}'),
    ],
)
def test_an_answer_of_another_shape_is_refused(read, body):
    with pytest.raises(JsonBodyError):
        read(body)
