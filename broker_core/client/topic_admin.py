"""Settings of topics and offsets of groups as whole tables of one broker, for copies to another.

Source: docs/spec/remoting.md §2.5.1 (topics), §2.5.5 (offsets).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.client.admin_requests import AdminRequests
from broker_core.errors import RemoteError
from broker_core.protocol.admin.groups import read_group_configs
from broker_core.protocol.admin.offsets import NO_OFFSETS, read_consumer_offsets
from broker_core.protocol.admin.topics import read_topic_configs, settings_of_config, topic_fields
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.names import check_topic


class TopicAdmin(AdminRequests):
    """Requests of the admin client for tables of one broker."""

    async def topic_configs(self, address: str) -> dict[str, dict[str, Any]]:
        """Settings of all topics of one broker, with RocketMQ's keys."""
        return read_topic_configs(await self._body(address, RequestCode.GET_ALL_TOPIC_CONFIG))

    async def put_topic_config(self, address: str, topic: str, config: Mapping[str, Any]) -> None:
        """Create or change a topic on one broker.

        ``config`` is as `topic_configs` returns it; a missing member takes its default. Attributes are added, 5.x brokers only.
        """
        settings = settings_of_config({**config, "topicName": check_topic(topic)})
        attributes = ",".join(f"+{name}={value}" for name, value in sorted(settings.attributes.items()))
        fields = topic_fields(settings, attributes)
        await self._instance.call(address, RemotingCommand(RequestCode.UPDATE_AND_CREATE_TOPIC, fields))

    async def group_configs(self, address: str) -> dict[str, dict[str, Any]]:
        """Settings of all consumer groups of one broker, with RocketMQ's keys."""
        return read_group_configs(await self._body(address, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG))

    async def offsets_of_groups(self, address: str) -> dict[tuple[str, str], dict[int, int]]:
        """(group, topic) → queue → committed offset, of one broker."""
        try:
            return read_consumer_offsets(await self._body(address, RequestCode.GET_ALL_CONSUMER_OFFSET))
        except RemoteError as error:
            # Brokers refuse, instead of sending an empty table.
            if NO_OFFSETS not in error.message:
                raise
            return {}
