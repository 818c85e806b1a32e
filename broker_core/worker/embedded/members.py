"""The window's list of members of a consumer group."""

from __future__ import annotations

from typing import Any

from broker_core.engine.tables.clients import Consumers
from broker_core.protocol.codes import version_name
from broker_core.worker.questions.administration import ListMembers, Members
from broker_core.worker.questions.question import Handler


def member_handlers(consumers: Consumers[Any]) -> list[Handler]:
    """Handlers on the engine's loop."""

    async def members(query: ListMembers) -> Members:
        return members_of(consumers, query.group)

    return [ListMembers.answered_by(members)]


def members_of(consumers: Consumers[Any], group: str) -> Members:
    """The clients of a group; none for an unknown one."""
    found = consumers.group(group)
    clients = list(found.members.values()) if found else []
    wanted = found.subscriptions if found else {}
    topics = {topic: subscription.expression for topic, subscription in wanted.items()}
    kinds = {topic: subscription.expression_type for topic, subscription in wanted.items()}
    return Members(
        client_id=[client.client_id for client in clients],
        address=[client.address for client in clients],
        language=[client.language for client in clients],
        version=[version_name(client.version) for client in clients],
        last_heartbeat_ms=[client.last_heartbeat_ms for client in clients],
        # The broker keeps one subscription for all members of a group.
        subscriptions=[topics for _client in clients],
        expression_types=[kinds for _client in clients],
    )
