"""Members of groups as brokers know them by their connections, and what they subscribe.

Source: docs/spec/remoting.md §2.5.4 (203, 204), §2.5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.protocol.addresses import address_text
from broker_core.protocol.admin.values import Body, reading, whole_number
from broker_core.protocol.filter.rejection import ALL_TAGS, Wanted


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A client in a group of producers or consumers.

    Attributes:
        client_id: Empty where the broker does not name it.
        address: Of its end of the connection.
        language: RocketMQ's name of it, such as ``JAVA``.
        version: Ordinal of the client's version; None where the broker does not report it.
        heartbeat_ms: When the broker last received a heartbeat; -1 where it does not report that, as of consumers.
    """

    client_id: str
    address: str
    language: str
    version: int | None
    heartbeat_ms: int = -1


def read_members(body: Body) -> list[GroupMember]:
    """Members of a group, from GET_CONSUMER_CONNECTION_LIST or GET_PRODUCER_CONNECTION_LIST; raises `JsonBodyError`."""
    with reading("the members of a group", body) as value:
        return [_member(row) for row in value.get("connectionSet") or []]


def read_member_ids(body: Body) -> list[str]:
    """Client ids of the members of a group, from GET_CONSUMER_LIST_BY_GROUP; raises `JsonBodyError`."""
    with reading("the members of a group", body) as value:
        return [str(client_id) for client_id in value.get("consumerIdList") or ()]


def read_producers(body: Body) -> dict[str, list[GroupMember]]:
    """Producer group → its members, from GET_ALL_PRODUCER_INFO; raises `JsonBodyError`."""
    with reading("the producers of a broker", body) as value:
        return {str(group): [_member(row) for row in rows or ()] for group, rows in (value.get("data") or {}).items()}


def read_subscriptions(body: Body) -> dict[str, Wanted]:
    """The subscriptions of a group, by topic, from GET_CONSUMER_CONNECTION_LIST; raises `JsonBodyError`."""
    with reading("the subscriptions of a group", body) as value:
        return {
            str(topic): Wanted(str(row.get("subString") or ALL_TAGS), str(row.get("expressionType") or ""))
            for topic, row in (value.get("subscriptionTable") or {}).items()
        }


def read_consume_type(body: Body) -> str:
    """How the members of a group consume, such as ``CONSUME_PASSIVELY``, from GET_CONSUMER_CONNECTION_LIST.

    Empty where the broker does not report it. Raises `JsonBodyError`.
    """
    with reading("the members of a group", body) as value:
        return str(value.get("consumeType") or "")


def _member(row: Mapping[str, Any]) -> GroupMember:
    return GroupMember(
        str(row.get("clientId") or ""),
        # Producers have it under the second name, with Java's slash in front.
        address_text(str(row.get("clientAddr") or row.get("remoteIP") or "").removeprefix("/")),
        str(row.get("language") or ""),
        whole_number(str(row.get("version"))),
        whole_number(str(row.get("lastUpdateTimestamp"))) or -1,
    )
